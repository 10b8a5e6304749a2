package shop;

import jakarta.persistence.Entity;
import jakarta.persistence.Id;
import jakarta.persistence.Table;

@Entity
@Table(name = "orders")
public class Order {
    @Id
    private long id;
    private String customer;
    private String state = "placed";

    protected Order() {}

    public Order(long id, String customer) {
        this.id = id;
        this.customer = customer;
    }
}
