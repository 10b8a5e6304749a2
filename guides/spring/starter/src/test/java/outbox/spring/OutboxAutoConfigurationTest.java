package outbox.spring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.ApplicationContext;
import org.springframework.jdbc.datasource.DataSourceTransactionManager;
import org.springframework.jdbc.datasource.DriverManagerDataSource;
import org.springframework.transaction.support.TransactionTemplate;

/**
 * On H2, with a procedure that stands for outbox_enqueue: public, so that H2 may call it. guides/run calls the real ones.
 * It runs with Spring Boot 4 and, in the module starter-boot3, with Spring Boot 3.
 */
public class OutboxAutoConfigurationTest {
    private static final List<List<String>> calls = Collections.synchronizedList(new ArrayList<>());

    private final ApplicationContextRunner application = new ApplicationContextRunner()
        .withUserConfiguration(Application.class)
        .withPropertyValues("spring.datasource.url=jdbc:h2:mem:shop;INIT=CREATE ALIAS IF NOT EXISTS outbox_enqueue FOR '"
            + OutboxAutoConfigurationTest.class.getName() + ".enqueue'");

    @EnableAutoConfiguration
    static class Application {}

    /** Knows the key {@code known}, as the procedure would. */
    public static void enqueue(Connection connection, String channel, String target, String payload, String key,
                               String options, Long id) throws SQLException {
        calls.add(List.of(channel, target, payload, String.valueOf(key), options));
        try (var statement = connection.createStatement()) {
            statement.execute("SET @outbox_id " + ("known".equals(key) ? "NULL" : "7"));
        }
    }

    @BeforeEach
    void forgetCalls() {
        calls.clear();
    }

    @Test
    void sendsInTheTransactionOfTheCaller() {
        application.run(context -> {
            var outbox = context.getBean(Outbox.class);
            var isNew = inTransaction(context, () -> outbox.send("push", "token", Map.of("title", "Jürgen 李 🎉")));
            assertThat(isNew).isTrue();
            assertThat(calls).containsExactly(List.of("push", "token", "{\"title\":\"Jürgen 李 🎉\"}", "null", "{}"));
        });
    }

    @Test
    void passesOptionsAndTellsWhetherTheMessageIsNew() {
        application.run(context -> {
            var outbox = context.getBean(Outbox.class);
            var message = new Outbox.Message("hooks", "/orders", "{\"order\": 1}").key("known")
                .delay(Duration.ofMillis(1500)).expiry(Duration.ofMinutes(10)).orderingKey("customer-7")
                .headers(Map.of("X-Tenant", "7")).priority(3).maxAttempts(4).tenant("shop-7").tags(Map.of("order", "1"));
            assertThat(inTransaction(context, () -> outbox.send(message))).isFalse();
            assertThat(calls).containsExactly(List.of("hooks", "/orders", "{\"order\": 1}", "known",
                "{\"delay_seconds\":1.5,\"expires_seconds\":600.0,\"headers\":{\"X-Tenant\":\"7\"},"
                    + "\"max_attempts\":4,\"ordering_key\":\"customer-7\",\"priority\":3,\"tags\":{\"order\":\"1\"},"
                    + "\"tenant\":\"shop-7\"}"));
        });
    }

    @Test
    void refusesToSendOutsideOfATransaction() {
        application.run(context -> assertThatExceptionOfType(IllegalStateException.class)
            .isThrownBy(() -> context.getBean(Outbox.class).send("push", "token", Map.of())));
        assertThat(calls).isEmpty();
    }

    @Test
    void refusesToSendInATransactionOfAnotherDataSource() {
        var other = new DataSourceTransactionManager(new DriverManagerDataSource("jdbc:h2:mem:other"));
        application.run(context -> assertThatExceptionOfType(IllegalStateException.class)
            .isThrownBy(() -> new TransactionTemplate(other).executeWithoutResult(
                status -> context.getBean(Outbox.class).send("push", "token", Map.of()))));
        assertThat(calls).isEmpty();
    }

    @Test
    void leavesAnOutboxOfTheApplicationAlone() {
        Outbox own = message -> true;
        application.withBean(Outbox.class, () -> own)
            .run(context -> assertThat(context.getBean(Outbox.class)).isSameAs(own));
    }

    @Test
    void needsADataSource() {
        new ApplicationContextRunner()
            .withConfiguration(AutoConfigurations.of(OutboxAutoConfiguration.class))
            .run(context -> assertThat(context).hasNotFailed().doesNotHaveBean(Outbox.class));
    }

    @Test
    void wakesEachReplicaOnceForACommitThatBringsMessages() throws Exception {
        var hints = new LinkedBlockingQueue<String>();
        var dispatcher = HttpServer.create(new InetSocketAddress("127.0.0.1", 0), 0);
        dispatcher.createContext("/", exchange -> {
            hints.add(exchange.getRequestMethod() + " " + exchange.getRequestURI()
                + " " + exchange.getRequestHeaders().getFirst("Authorization"));
            exchange.sendResponseHeaders(200, -1);
            exchange.close();
        });
        dispatcher.start();
        String replicas = "http://127.0.0.1:" + dispatcher.getAddress().getPort();
        try {
            application.withPropertyValues("outbox.token=secret", "outbox.wake-url=" + replicas + "/a," + replicas + "/b")
                .run(context -> {
                    var outbox = context.getBean(Outbox.class);
                    inTransaction(context, () -> outbox.send(new Outbox.Message("push", "token", 1).key("known")));
                    assertThat(hints.poll(200, TimeUnit.MILLISECONDS)).isNull();
                    inTransaction(context, () -> outbox.send("push", "token", 1) && outbox.send("push", "token", 2));
                    assertThat(List.of(hints.poll(10, TimeUnit.SECONDS), hints.poll(10, TimeUnit.SECONDS)))
                        .containsExactlyInAnyOrder("POST /a Bearer secret", "POST /b Bearer secret");
                    assertThat(hints.poll(200, TimeUnit.MILLISECONDS)).isNull();
                });
        } finally {
            dispatcher.stop(0);
        }
    }

    @Test
    void goesOnWithoutADispatcher() {
        application.withPropertyValues("outbox.wake-url=http://127.0.0.1:1/api/v1/wake").run(context -> {
            var outbox = context.getBean(Outbox.class);
            assertThat(inTransaction(context, () -> outbox.send("push", "token", 1))).isTrue();
            assertThat(inTransaction(context, () -> outbox.send("push", "token", 2))).isTrue();
        });
    }

    private static boolean inTransaction(ApplicationContext context, BooleanSupplier work) {
        return context.getBean(TransactionTemplate.class).execute(status -> work.getAsBoolean());
    }
}
