package shop.jpa;

import jakarta.persistence.Column;
import jakarta.persistence.Entity;
import jakarta.persistence.GeneratedValue;
import jakarta.persistence.GenerationType;
import jakarta.persistence.Id;
import jakarta.persistence.Table;
import java.util.Map;
import org.hibernate.annotations.DynamicInsert;
import org.hibernate.annotations.JdbcTypeCode;
import org.hibernate.type.SqlTypes;

// docs: begin jpa-entity
@Entity
@Table(name = "outbox_new")
@DynamicInsert // leaves out what is null, so that the database's defaults apply
public class OutboxMessage {
    @Id
    @GeneratedValue(strategy = GenerationType.IDENTITY)
    private Long id;
    @Column(name = "idempotency_key")
    private String key;
    private String channel;
    private String target;
    @JdbcTypeCode(SqlTypes.JSON)
    private Map<String, Object> payload;

    protected OutboxMessage() {}

    public OutboxMessage(String channel, String target, Map<String, Object> payload, String key) {
        this.channel = channel;
        this.target = target;
        this.payload = payload;
        this.key = key;
    }
}
// docs: end jpa-entity
