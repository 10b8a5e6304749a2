import jakarta.persistence.Entity;
import jakarta.persistence.GeneratedValue;
import jakarta.persistence.GenerationType;
import jakarta.persistence.Id;
import jakarta.persistence.Table;
import java.util.function.Consumer;
import org.hibernate.SessionFactory;
import org.hibernate.cfg.Configuration;

/** Writes three events as a service does whose events name their own id, which is known behind the insert. */
public class Write {
    @Entity(name = "Event")
    @Table(name = "outbox_events")
    public static class Event {
        @Id
        @GeneratedValue(strategy = GenerationType.IDENTITY)
        public Long id;
        public String aggregate_id = "order-1";
        public String event_type = "order.placed";
        public String payload = "{}";
        public String status = "PENDING";
        public int retry_count;
        public java.time.LocalDateTime sent_at;
    }

    public static void main(String[] arguments) {
        Configuration configuration = new Configuration().addAnnotatedClass(Event.class);
        configuration.setProperty("hibernate.connection.url", arguments[0]);
        configuration.setProperty("hibernate.connection.username", arguments[1]);
        configuration.setProperty("hibernate.connection.password", "");
        try (SessionFactory sessions = configuration.buildSessionFactory()) {
            save(sessions, event -> {});
            save(sessions, event -> event.payload = "{\"id\": " + event.id + "}");
            try {
                save(sessions, event -> {
                    event.payload = "{\"id\": " + event.id + "}";
                    throw new IllegalStateException("the card was declined");
                });
            } catch (IllegalStateException declined) {
                // Neither the event nor a message is there.
            }
        }
    }

    private static void save(SessionFactory sessions, Consumer<Event> touch) {
        sessions.inTransaction(session -> {
            Event event = new Event();
            session.persist(event);
            touch.accept(event);
        });
    }
}
