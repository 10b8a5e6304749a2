package outbox.spring;

import java.sql.Connection;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.transaction.IllegalTransactionStateException;
import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;
import tools.jackson.databind.json.JsonMapper;

/** Calls outbox_enqueue on the connection of the caller's transaction. Null is no {@code wake}, which hears of commits. */
public record JdbcOutbox(JdbcTemplate jdbc, JsonMapper json, TransactionSynchronization wake) implements Outbox {
    private static final String POSTGRESQL = """
        SELECT outbox_enqueue(?, ?, ?, ?, headers, ordering_key, priority, delay_seconds, expires_seconds)
        FROM jsonb_to_record(?::jsonb) AS options (headers jsonb, ordering_key varchar, priority integer,
                                                   delay_seconds double precision, expires_seconds double precision)""";

    @Override public boolean send(Message message) {
        // In a transaction of another DataSource, this connection would commit by itself.
        String server = !TransactionSynchronizationManager.isActualTransactionActive() ? null : jdbc.execute(
            (Connection connection) -> connection.getAutoCommit() ? null : connection.getMetaData().getDatabaseProductName());
        if (server == null) throw new IllegalTransactionStateException("Outbox.send needs a transaction of its DataSource");

        var payload = message.payload() instanceof String text ? text : json.writeValueAsString(message.payload());
        var options = json.writeValueAsString(message.options());
        Object[] arguments = {message.channel(), message.target(), payload, message.key(), options};
        Long id;
        if (server.equals("PostgreSQL")) {
            id = jdbc.queryForObject(POSTGRESQL, Long.class, arguments);
        } else { // Not a CallableStatement: before each call, MySQL's driver would look its parameters up.
            jdbc.update("CALL outbox_enqueue(?, ?, ?, ?, ?, @outbox_id)", arguments);
            id = jdbc.queryForObject("SELECT @outbox_id", Long.class);
        }
        if (id != null && wake != null) TransactionSynchronizationManager.registerSynchronization(wake);
        return id != null;
    }
}
