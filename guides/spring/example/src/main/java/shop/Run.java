package shop;

import java.math.BigDecimal;
import org.springframework.boot.ApplicationArguments;
import org.springframework.boot.ApplicationRunner;
import org.springframework.context.annotation.Profile;
import org.springframework.stereotype.Component;

@Component
@Profile("!tries")
class Run implements ApplicationRunner {
    private final OrderService service;

    Run(OrderService service) {
        this.service = service;
    }

    @Override
    public void run(ApplicationArguments arguments) {
        var first = event(1);
        check(service.place(order(1), first), "the first message is new");
        try {
            service.placeUnpaid(order(2), event(2));
            check(false, "the payment is declined");
        } catch (OrderService.PaymentDeclined declined) {
            // Neither the order nor its message is there.
        }
        check(!service.place(order(3), first), "the key of the first message is known");
        service.placeAndRemind(order(4), 4);
        service.placeInTurn(order(5), 5);
        service.placeBesideOthers(order(6), 6);
    }

    private static Order order(long id) {
        return new Order(id, "Jürgen 李 🎉");
    }

    private static OrderPlaced event(long order) {
        return new OrderPlaced(order, "Jürgen 李 🎉", 9007199254740991L, new BigDecimal("12345678901234567890.12"));
    }

    private static void check(boolean holds, String what) {
        if (!holds) {
            throw new IllegalStateException("expected: " + what);
        }
    }
}
