package shop.jpa;

import java.util.Map;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.stereotype.Service;
import org.springframework.transaction.annotation.Transactional;
import shop.Order;
import shop.Orders;

@Service
public class JpaOrders {
    private final Orders orders;
    private final OutboxMessages messages;
    private final String hook;

    JpaOrders(Orders orders, OutboxMessages messages, @Value("${shop.hook}") String hook) {
        this.orders = orders;
        this.messages = messages;
        this.hook = hook;
    }

    /** A known key is a DataIntegrityViolationException, and ends the transaction: JPA has no other way. */
    @Transactional
    public void place(Order order, String key, Map<String, Object> event) {
        orders.save(order);
        messages.save(new OutboxMessage("hooks", hook, event, key));
    }
}
