package shop.jdbc;

import java.util.List;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.stereotype.Service;
import org.springframework.transaction.annotation.Transactional;
import tools.jackson.databind.json.JsonMapper;

@Service
public class JdbcOrders {
    private final JdbcTemplate jdbc;
    private final JsonMapper json;
    private final String hook;

    JdbcOrders(JdbcTemplate jdbc, JsonMapper json, @Value("${shop.hook}") String hook) {
        this.jdbc = jdbc;
        this.json = json;
        this.hook = hook;
    }

    // docs: begin jdbctemplate-postgres
    /** Returns whether the event is new: a known key gives no id, and the transaction goes on. */
    @Transactional
    public boolean placeOnPostgres(long id, String customer, String key, Object event) {
        jdbc.update("INSERT INTO orders (id, customer) VALUES (?, ?)", id, customer);
        return jdbc.queryForObject("SELECT outbox_enqueue(?, ?, ?, ?)", Long.class,
            "hooks", hook, json.writeValueAsString(event), key) != null;
    }
    // docs: end jdbctemplate-postgres

    /** Returns whether the event is new: a known key gives no id, and the transaction goes on. */
    @Transactional
    public boolean placeOnMySql(long id, String customer, String key, Object event) {
        jdbc.update("INSERT INTO orders (id, customer) VALUES (?, ?)", id, customer);
        jdbc.update("CALL outbox_enqueue(?, ?, ?, ?, NULL, @id)", "hooks", hook, json.writeValueAsString(event), key);
        return jdbc.queryForObject("SELECT @id", Long.class) != null;
    }

    /** Many messages at once: the view takes them in one batch, and leaves out those with a known key. */
    @Transactional
    public void tellAllOnPostgres(List<String> keys, Object event) {
        String body = json.writeValueAsString(event);
        jdbc.batchUpdate("INSERT INTO outbox_new (channel, target, payload, idempotency_key) VALUES (?, ?, ?::jsonb, ?)"
            + " ON CONFLICT (idempotency_key) DO NOTHING", keys.stream().map(key -> new Object[] {"hooks", hook, body, key}).toList());
    }
}
