package tries;

import jakarta.persistence.Column;
import jakarta.persistence.Entity;
import jakarta.persistence.GeneratedValue;
import jakarta.persistence.GenerationType;
import jakarta.persistence.Id;
import jakarta.persistence.MappedSuperclass;
import jakarta.persistence.Table;
import java.sql.Timestamp;
import java.time.Instant;
import java.time.LocalDateTime;
import java.time.OffsetDateTime;
import java.util.Map;
import org.hibernate.annotations.CreationTimestamp;
import org.hibernate.annotations.DynamicInsert;
import org.hibernate.annotations.Generated;
import org.hibernate.annotations.JdbcTypeCode;
import org.hibernate.type.SqlTypes;

/** Entities as applications write them: each maps the table, or the view outbox_new, in another way. */
class JpaRows {
    @MappedSuperclass
    abstract static class Base {
        String channel = "hooks";
        String target;
    }

    @MappedSuperclass
    abstract static class WithPayload extends Base {
        @JdbcTypeCode(SqlTypes.JSON)
        Map<String, Object> payload;
    }

    /** The key as the id: no id of the database is read back. */
    @MappedSuperclass
    abstract static class Keyed extends WithPayload {
        @Id
        @Column(name = "idempotency_key")
        String key;
    }

    @MappedSuperclass
    abstract static class Identified extends WithPayload {
        @Id
        @GeneratedValue(strategy = GenerationType.IDENTITY)
        Long id;
        @Column(name = "idempotency_key")
        String key;
    }

    @Entity
    @Table(name = "outbox")
    static class KeyOfTable extends Keyed {}

    @Entity
    @Table(name = "outbox_new")
    static class KeyOfView extends Keyed {}

    @Entity
    @Table(name = "outbox")
    static class IdOfTable extends Identified {}

    @Entity
    @Table(name = "outbox_new")
    static class IdOfView extends Identified {}

    /** What Hibernate does where the strategy is left out: a sequence of its own. */
    @Entity
    @Table(name = "outbox_new")
    static class IdBySequence extends WithPayload {
        @Id
        @GeneratedValue
        Long id;
        @Column(name = "idempotency_key")
        String key;
    }

    @Entity
    @Table(name = "outbox_new")
    static class NullPriority extends Keyed {
        Integer priority;
    }

    @Entity
    @Table(name = "outbox_new")
    @DynamicInsert
    static class NullPriorityLeftOut extends Keyed {
        Integer priority;
    }

    @Entity
    @Table(name = "outbox_new")
    static class PrimitiveAttempts extends Keyed {
        @Column(name = "max_attempts")
        int maxAttempts;
    }

    @Entity
    @Table(name = "outbox")
    static class ReadBackOfTable extends Keyed {
        @Generated
        @Column(name = "available_at")
        Instant availableAt;
    }

    @Entity
    @Table(name = "outbox_new")
    static class ReadBackOfView extends Keyed {
        @Generated
        @Column(name = "available_at")
        Instant availableAt;
    }

    @Entity
    @Table(name = "outbox_new")
    static class Created extends Keyed {
        @CreationTimestamp
        @Column(name = "created_at")
        Instant createdAt;
    }

    @Entity
    @Table(name = "outbox_new")
    static class PlainText extends Base {
        @Id
        @Column(name = "idempotency_key")
        String key;
        String payload;
    }

    @Entity
    @Table(name = "outbox_new")
    static class JsonText extends Base {
        @Id
        @Column(name = "idempotency_key")
        String key;
        @JdbcTypeCode(SqlTypes.JSON)
        String payload;
    }

    @Entity
    @Table(name = "outbox_new")
    static class JsonObject extends Base {
        @Id
        @Column(name = "idempotency_key")
        String key;
        @JdbcTypeCode(SqlTypes.JSON)
        Object payload;
    }

    @Entity
    @Table(name = "outbox_new")
    static class AtInstant extends Keyed {
        @Column(name = "available_at")
        Instant availableAt;
    }

    @Entity
    @Table(name = "outbox_new")
    static class AtLocalDateTime extends Keyed {
        @Column(name = "available_at")
        LocalDateTime availableAt;
    }

    @Entity
    @Table(name = "outbox_new")
    static class AtOffsetDateTime extends Keyed {
        @Column(name = "available_at")
        OffsetDateTime availableAt;
    }

    @Entity
    @Table(name = "outbox_new")
    static class AtTimestamp extends Keyed {
        @Column(name = "available_at")
        Timestamp availableAt;
    }
}
