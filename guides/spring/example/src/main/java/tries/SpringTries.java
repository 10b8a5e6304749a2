package tries;

import java.time.Duration;
import java.util.Map;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.core.annotation.Order;
import org.springframework.stereotype.Component;
import outbox.spring.Outbox;

@Component
@Order(1)
class SpringTries implements Tries.Variants {
    private final Outbox outbox;
    private final String hook;

    SpringTries(Outbox outbox, @Value("${shop.hook}") String hook) {
        this.outbox = outbox;
        this.hook = hook;
    }

    @Override
    public void attempt(Tries tries) {
        String stack = "Spring starter";
        tries.attempt(stack, "outbox.send of a map", message ->
            outbox.send(new Outbox.Message("hooks", hook, message.map()).key(message.key())));
        tries.attempt(stack, "outbox.send of JSON in a String", message ->
            outbox.send(new Outbox.Message("hooks", hook, message.json()).key(message.key())));
        tries.attempt(stack, "outbox.send with a delay of 10 min", 600, message ->
            outbox.send(new Outbox.Message("hooks", hook, message.map()).key(message.key()).delay(Duration.ofMinutes(10))));
        tries.attempt(stack, "outbox.send with all options", message ->
            outbox.send(new Outbox.Message("hooks", hook, message.map()).key(message.key()).expiry(Duration.ofHours(1))
                .orderingKey("customer-9").priority(2).headers(Map.of("X-Tenant", "9")).maxAttempts(5)
                .tenant("shop-9").tags(Map.of("order", "4711", "customer", "Jürgen"))));
    }
}
