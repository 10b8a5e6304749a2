package outbox.spring;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.sql.Connection;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.transaction.support.TransactionSynchronizationManager;

/** Calls outbox_enqueue in the caller's transaction, and then has {@code wakes} hear of its commit. */
public record JdbcOutbox(JdbcTemplate jdbc, Json json, Wake... wakes) implements Outbox {
    private static final String POSTGRESQL = """
        SELECT outbox_enqueue(?, ?, ?, ?, headers, ordering_key, priority, delay_seconds, expires_seconds, max_attempts,
                              p_tenant => tenant, p_tags => tags)
        FROM jsonb_to_record(?::jsonb) AS options (headers jsonb, ordering_key varchar, priority integer, max_attempts integer,
                                                   delay_seconds double precision, expires_seconds double precision,
                                                   tenant varchar, tags jsonb)""";

    @Override public boolean send(Message message) {
        // In a transaction of another DataSource, this connection would commit by itself.
        if (!TransactionSynchronizationManager.isActualTransactionActive() || jdbc.execute(Connection::getAutoCommit)) {
            throw new IllegalStateException("Outbox.send needs a transaction of its DataSource");
        }

        Object payload = message.payload();
        if (payload != null && !(payload instanceof String)) payload = write(payload);
        String options = write(message.options());
        Object[] arguments = {message.channel(), message.target(), payload, message.key(), options};
        boolean postgres = "PostgreSQL".equals(jdbc.execute((Connection c) -> c.getMetaData().getDatabaseProductName()));
        // Not a CallableStatement: before each call, MySQL's driver would look its parameters up.
        if (!postgres) jdbc.update("CALL outbox_enqueue(?, ?, ?, ?, ?, @outbox_id)", arguments);
        Long id = postgres ? jdbc.queryForObject(POSTGRESQL, Long.class, arguments)
            : jdbc.queryForObject("SELECT @outbox_id", Long.class);
        if (id != null) for (Wake wake : wakes) TransactionSynchronizationManager.registerSynchronization(wake);
        return id != null;
    }

    private String write(Object value) {
        try {
            return json.write(value);
        } catch (IOException why) {
            throw new UncheckedIOException(why);
        }
    }

    /** Writes a value as JSON: {@code writeValueAsString} of Jackson 3, or of Jackson 2, whose exceptions are checked. */
    @FunctionalInterface public interface Json {
        String write(Object value) throws IOException;
    }
}
