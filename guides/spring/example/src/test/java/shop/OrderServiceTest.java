package shop;

import static org.assertj.core.api.Assertions.assertThat;

import java.math.BigDecimal;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.data.jpa.test.autoconfigure.DataJpaTest;
import org.springframework.context.annotation.Import;
import outbox.spring.Outbox.Message;
import outbox.spring.test.AutoConfigureOutbox;
import outbox.spring.test.RecordingOutbox;

@DataJpaTest(properties = "shop.hook=https://hooks.example/orders")
@AutoConfigureOutbox
@Import(OrderService.class)
class OrderServiceTest {
    @Autowired OrderService service;
    @Autowired RecordingOutbox outbox;

    OrderPlaced event = new OrderPlaced(1, "Jürgen", 2, new BigDecimal("9.90"));

    @Test
    void tellsOfAnOrderOnce() {
        assertThat(service.place(new Order(1, "Jürgen"), event)).isTrue();
        assertThat(service.place(new Order(3, "Jürgen"), event)).isFalse();
        assertThat(outbox.sent()).containsExactly(
            new Message("hooks", "https://hooks.example/orders", event).key("order-1-placed"));
    }

    @Test
    void reminds() {
        service.placeAndRemind(new Order(4, "Jürgen"), 4);
        assertThat(outbox.sent()).containsExactly(
            new Message("hooks", "https://hooks.example/orders", Map.of("order", 4L))
                .key("order-4-reminder").delay(Duration.ofSeconds(5)));
    }
}
