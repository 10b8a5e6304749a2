package tries;

import jakarta.persistence.EntityManager;
import jakarta.persistence.ParameterMode;
import java.sql.Timestamp;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDateTime;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.core.annotation.Order;
import org.springframework.dao.DataIntegrityViolationException;
import org.springframework.data.jpa.repository.support.SimpleJpaRepository;
import org.springframework.stereotype.Component;
import shop.jpa.JpaOrders;
import tries.JpaRows.AtInstant;
import tries.JpaRows.AtLocalDateTime;
import tries.JpaRows.AtOffsetDateTime;
import tries.JpaRows.AtTimestamp;
import tries.JpaRows.Created;
import tries.JpaRows.IdBySequence;
import tries.JpaRows.IdOfTable;
import tries.JpaRows.IdOfView;
import tries.JpaRows.JsonObject;
import tries.JpaRows.JsonText;
import tries.JpaRows.KeyOfTable;
import tries.JpaRows.KeyOfView;
import tries.JpaRows.Keyed;
import tries.JpaRows.NullPriority;
import tries.JpaRows.NullPriorityLeftOut;
import tries.JpaRows.PlainText;
import tries.JpaRows.PrimitiveAttempts;
import tries.JpaRows.ReadBackOfTable;
import tries.JpaRows.ReadBackOfView;

@Component
@Order(3)
class JpaTries implements Tries.Variants {
    private static final String STACK = "JPA";
    private static final Duration DELAY = Duration.ofMinutes(10);

    private final JpaOrders orders;
    private final EntityManager entities;
    private final String hook;
    private final boolean postgres;

    JpaTries(JpaOrders orders, EntityManager entities, @Value("${shop.hook}") String hook,
             @Value("${GUIDE_SERVER}") String server) {
        this.orders = orders;
        this.entities = entities;
        this.hook = hook;
        this.postgres = server.equals("postgres");
    }

    @Override
    public void attempt(Tries tries) {
        tries.attempt(STACK, "repository.save of an entity over outbox_new", message ->
            orders.place(new shop.Order(201, "Jürgen"), message.key(), message.map()));
        ids(tries);
        defaults(tries);
        payloads(tries);
        procedure(tries);
        duplicates(tries);
        times(tries);
    }

    private void ids(Tries tries) {
        tries.attempt(STACK, "persist, key as id, outbox", message -> entities.persist(keyed(new KeyOfTable(), message)));
        tries.attempt(STACK, "repository.save, key as id, outbox", message ->
            repository(KeyOfTable.class).save(keyed(new KeyOfTable(), message)));
        tries.attempt(STACK, "persist, key as id, outbox_new", message -> entities.persist(keyed(new KeyOfView(), message)));
        tries.attempt(STACK, "repository.save, key as id, outbox_new", message ->
            repository(KeyOfView.class).save(keyed(new KeyOfView(), message)));
        tries.attempt(STACK, "persist, GenerationType.IDENTITY, outbox", message -> {
            var row = new IdOfTable();
            row.key = message.key();
            row.target = hook;
            row.payload = message.map();
            entities.persist(row);
        });
        tries.attempt(STACK, "persist, GenerationType.IDENTITY, outbox_new", message -> {
            var row = new IdOfView();
            row.key = message.key();
            row.target = hook;
            row.payload = message.map();
            entities.persist(row);
        });
        tries.attempt(STACK, "persist, @GeneratedValue without a strategy, outbox_new", message -> {
            var row = new IdBySequence();
            row.key = message.key();
            row.target = hook;
            row.payload = message.map();
            entities.persist(row);
        });
    }

    private void defaults(Tries tries) {
        tries.attempt(STACK, "an Integer priority that is not set", message ->
            entities.persist(keyed(new NullPriority(), message)));
        tries.attempt(STACK, "an Integer priority that is not set, @DynamicInsert", message ->
            entities.persist(keyed(new NullPriorityLeftOut(), message)));
        tries.attempt(STACK, "an int maxAttempts that is not set", message ->
            entities.persist(keyed(new PrimitiveAttempts(), message)));
        tries.attempt(STACK, "@Generated availableAt, outbox", message ->
            entities.persist(keyed(new ReadBackOfTable(), message)));
        tries.attempt(STACK, "@Generated availableAt, outbox_new", message ->
            entities.persist(keyed(new ReadBackOfView(), message)));
        tries.attempt(STACK, "@CreationTimestamp createdAt, outbox_new", message ->
            entities.persist(keyed(new Created(), message)));
    }

    private void payloads(Tries tries) {
        tries.attempt(STACK, "String payload", message -> {
            var row = new PlainText();
            row.key = message.key();
            row.target = hook;
            row.payload = message.json();
            entities.persist(row);
        });
        tries.attempt(STACK, "String payload, @JdbcTypeCode(JSON)", message -> {
            var row = new JsonText();
            row.key = message.key();
            row.target = hook;
            row.payload = message.json();
            entities.persist(row);
        });
        tries.attempt(STACK, "Object payload, @JdbcTypeCode(JSON), a map", message -> {
            var row = new JsonObject();
            row.key = message.key();
            row.target = hook;
            row.payload = message.map();
            entities.persist(row);
        });
        tries.attempt(STACK, "Object payload, @JdbcTypeCode(JSON), JSON in a String", message -> {
            var row = new JsonObject();
            row.key = message.key();
            row.target = hook;
            row.payload = message.json();
            entities.persist(row);
        });
    }

    private void procedure(Tries tries) {
        if (postgres) {
            tries.attempt(STACK, "native query, outbox_enqueue", message -> entities
                .createNativeQuery("SELECT outbox_enqueue('hooks', :target, :payload, :key)", Long.class)
                .setParameter("target", hook).setParameter("payload", message.json()).setParameter("key", message.key())
                .getSingleResult());
            return;
        }
        tries.attempt(STACK, "native query, CALL outbox_enqueue", message -> entities
            .createNativeQuery("CALL outbox_enqueue('hooks', :target, :payload, :key, NULL, @id)")
            .setParameter("target", hook).setParameter("payload", message.json()).setParameter("key", message.key())
            .executeUpdate());
        tries.attempt(STACK, "StoredProcedureQuery of outbox_enqueue", message -> entities
            .createStoredProcedureQuery("outbox_enqueue")
            .registerStoredProcedureParameter(1, String.class, ParameterMode.IN)
            .registerStoredProcedureParameter(2, String.class, ParameterMode.IN)
            .registerStoredProcedureParameter(3, String.class, ParameterMode.IN)
            .registerStoredProcedureParameter(4, String.class, ParameterMode.IN)
            .registerStoredProcedureParameter(5, String.class, ParameterMode.IN)
            .registerStoredProcedureParameter(6, Long.class, ParameterMode.OUT)
            .setParameter(1, "hooks").setParameter(2, hook).setParameter(3, message.json()).setParameter(4, message.key())
            .setParameter(5, "{}").execute());
    }

    /** The key try-1 is there already. */
    private void duplicates(Tries tries) {
        tries.attempt(STACK, "a known key, the exception of saveAndFlush caught", message -> {
            var known = keyed(new KeyOfView(), message);
            known.key = "try-1";
            try {
                repository(KeyOfView.class).saveAndFlush(known);
            } catch (DataIntegrityViolationException there) {
                // The repository has marked the transaction: it can only roll back.
            }
            entities.persist(keyed(new KeyOfView(), message));
        });
    }

    /** MySQL and MariaDB take no times: outbox_enqueue has seconds. */
    private void times(Tries tries) {
        tries.attempt(STACK, "entity with availableAt of Instant", 600, message -> {
            var row = keyed(new AtInstant(), message);
            row.availableAt = Instant.now().plus(DELAY);
            entities.persist(row);
        });
        tries.attempt(STACK, "entity with availableAt of LocalDateTime", 600, message -> {
            var row = keyed(new AtLocalDateTime(), message);
            row.availableAt = LocalDateTime.now().plus(DELAY);
            entities.persist(row);
        });
        tries.attempt(STACK, "entity with availableAt of OffsetDateTime", 600, message -> {
            var row = keyed(new AtOffsetDateTime(), message);
            row.availableAt = OffsetDateTime.now(ZoneOffset.UTC).plus(DELAY);
            entities.persist(row);
        });
        tries.attempt(STACK, "entity with availableAt of Timestamp", 600, message -> {
            var row = keyed(new AtTimestamp(), message);
            row.availableAt = Timestamp.from(Instant.now().plus(DELAY));
            entities.persist(row);
        });
    }

    private <T extends Keyed> T keyed(T row, Tries.Message message) {
        row.key = message.key();
        row.target = hook;
        row.payload = message.map();
        return row;
    }

    private <T> SimpleJpaRepository<T, String> repository(Class<T> type) {
        return new SimpleJpaRepository<>(type, entities);
    }
}
