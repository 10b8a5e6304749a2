package shop;

import java.time.Duration;
import java.util.Map;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.dao.ConcurrencyFailureException;
import org.springframework.resilience.annotation.Retryable;
import org.springframework.stereotype.Service;
import org.springframework.transaction.annotation.Transactional;
import outbox.spring.Outbox;
import outbox.spring.Outbox.Message;

@Service
public class OrderService {
    private final Orders orders;
    private final Outbox outbox;
    private final String hook;

    OrderService(Orders orders, Outbox outbox, @Value("${shop.hook}") String hook) {
        this.orders = orders;
        this.outbox = outbox;
        this.hook = hook;
    }

    // docs: begin spring
    /**
     * Returns whether the event is new. Where its key is known, the transaction goes on without the message. It is tried again where
     * the server rolled it back, as MySQL and MariaDB do to end a deadlock over a key that others insert too.
     */
    @Retryable(includes = ConcurrencyFailureException.class, delay = 10)
    @Transactional
    public boolean place(Order order, OrderPlaced event) {
        orders.save(order);
        return outbox.send(new Message("hooks", hook, event).key("order-" + event.order() + "-placed"));
    }

    @Transactional
    public void placeAndRemind(Order order, long id) {
        orders.save(order);
        outbox.send(new Message("hooks", hook, Map.of("order", id))
            .key("order-" + id + "-reminder")
            .delay(Duration.ofSeconds(5)));
    }
    // docs: end spring

    @Transactional
    public void placeUnpaid(Order order, OrderPlaced event) {
        place(order, event);
        throw new PaymentDeclined();
    }

    @Transactional
    public void placeInTurn(Order order, long id) {
        orders.save(order);
        outbox.send(new Message("hooks", hook, Map.of("order", id))
            .orderingKey("customer-7")
            .headers(Map.of("X-Tenant", "7")));
    }

    @Retryable(includes = ConcurrencyFailureException.class, delay = 10)
    @Transactional
    public void placeBesideOthers(Order order, long id) {
        orders.save(order);
        outbox.send(new Message("hooks", hook, Map.of("order", id)).key("order-" + id + "-placed"));
    }

    public static class PaymentDeclined extends RuntimeException {}
}
