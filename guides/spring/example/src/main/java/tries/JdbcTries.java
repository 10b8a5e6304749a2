package tries;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Timestamp;
import java.sql.Types;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDateTime;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import javax.sql.DataSource;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.jdbc.autoconfigure.DataSourceProperties;
import org.springframework.core.annotation.Order;
import org.springframework.dao.DuplicateKeyException;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.jdbc.core.simple.SimpleJdbcCall;
import org.springframework.jdbc.core.simple.SimpleJdbcInsert;
import org.springframework.jdbc.datasource.DriverManagerDataSource;
import org.springframework.jdbc.support.GeneratedKeyHolder;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.stereotype.Component;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.support.TransactionTemplate;
import shop.jdbc.JdbcOrders;
import tools.jackson.databind.json.JsonMapper;

@Component
@Order(2)
class JdbcTries implements Tries.Variants {
    private static final String STACK = "JdbcTemplate";
    private static final Duration DELAY = Duration.ofMinutes(10);

    private final JdbcTemplate jdbc;
    private final JdbcClient client;
    private final JdbcOrders orders;
    private final JsonMapper json;
    private final DataSourceProperties settings;
    private final String hook;
    private final boolean postgres;
    private final String columns = " (channel, target, payload, idempotency_key)";
    private final String values;

    JdbcTries(JdbcTemplate jdbc, JdbcClient client, JdbcOrders orders, JsonMapper json, DataSourceProperties settings,
              @Value("${shop.hook}") String hook, @Value("${GUIDE_SERVER}") String server) {
        this.jdbc = jdbc;
        this.client = client;
        this.orders = orders;
        this.json = json;
        this.settings = settings;
        this.hook = hook;
        this.postgres = server.equals("postgres");
        this.values = postgres ? " VALUES ('hooks', ?, ?::jsonb, ?)" : " VALUES ('hooks', ?, ?, ?)";
    }

    @Override
    public void attempt(Tries tries) {
        procedure(tries);
        payloads(tries);
        generatedKeys(tries);
        duplicates(tries);
        times(tries);
    }

    private void procedure(Tries tries) {
        tries.attempt(STACK, "outbox_enqueue", message -> {
            if (postgres) {
                orders.placeOnPostgres(101, "Jürgen", message.key(), message.map());
            } else {
                orders.placeOnMySql(101, "Jürgen", message.key(), message.map());
            }
        });
        if (postgres) {
            tries.attempt(STACK, "outbox_enqueue by name, with a delay", 600, message -> client
                .sql("SELECT outbox_enqueue('hooks', :target, :payload, p_idempotency_key => :key, p_delay_seconds => 600)")
                .param("target", hook).param("payload", message.json()).param("key", message.key())
                .query(Long.class).single());
            tries.attempt(STACK, "batch of outbox_new, ON CONFLICT (idempotency_key) DO NOTHING", message ->
                orders.tellAllOnPostgres(List.of("try-1", message.key()), message.map()));
            return;
        }
        tries.attempt(STACK, "outbox_enqueue with a delay", 600, message -> jdbc.update(
            "CALL outbox_enqueue('hooks', ?, ?, ?, ?, @id)", hook, message.json(), message.key(), "{\"delay_seconds\": 600}"));
        tries.attempt(STACK, "outbox_enqueue by a CallableStatement", message -> jdbc.execute((Connection connection) -> {
            try (var call = connection.prepareCall("{CALL outbox_enqueue(?, ?, ?, ?, ?, ?)}")) {
                call.setString(1, "hooks");
                call.setString(2, hook);
                call.setString(3, message.json());
                call.setString(4, message.key());
                call.setNull(5, Types.VARCHAR);
                call.registerOutParameter(6, Types.BIGINT);
                return call.execute();
            }
        }));
        tries.attempt(STACK, "outbox_enqueue by a SimpleJdbcCall", message -> new SimpleJdbcCall(jdbc)
            .withProcedureName("outbox_enqueue").execute(Map.of("p_channel", "hooks", "p_target", hook,
                "p_payload", message.json(), "p_idempotency_key", message.key(), "p_options", "{}")));
    }

    private void payloads(Tries tries) {
        tries.attempt(STACK, "INSERT INTO outbox, payload a String without a cast", message -> jdbc.update(
            "INSERT INTO outbox" + columns + " VALUES ('hooks', ?, ?, ?)", hook, message.json(), message.key()));
        tries.attempt(STACK, "JdbcClient, INSERT INTO outbox_new" + (postgres ? ", ?::jsonb" : ""), message -> client
            .sql("INSERT INTO outbox_new" + columns + values).params(hook, message.json(), message.key()).update());
        tries.attempt(STACK, "payload as Types.OTHER", message -> jdbc.update(
            "INSERT INTO outbox_new" + columns + " VALUES ('hooks', ?, ?, ?)",
            new Object[] {hook, message.json(), message.key()}, new int[] {Types.VARCHAR, Types.OTHER, Types.VARCHAR}));
        if (postgres) {
            tries.attempt(STACK, "stringtype=unspecified", message -> new JdbcTemplate(database("?stringtype=unspecified")).update(
                "INSERT INTO outbox_new" + columns + " VALUES ('hooks', ?, ?, ?)", hook, message.json(), message.key()));
        }
        tries.attempt(STACK, "payload encoded twice", message -> jdbc.update(
            "INSERT INTO outbox_new" + columns + values, hook, json.writeValueAsString(message.json()), message.key()));
        tries.attempt(STACK, "SimpleJdbcInsert into outbox_new with usingColumns", message -> new SimpleJdbcInsert(jdbc)
            .withTableName("outbox_new").usingColumns("channel", "target", "payload", "idempotency_key")
            .execute(row(message)));
        tries.attempt(STACK, "SimpleJdbcInsert into outbox_new without usingColumns", message -> new SimpleJdbcInsert(jdbc)
            .withTableName("outbox_new").execute(row(message)));
        tries.attempt(STACK, "SimpleJdbcInsert into outbox with usingColumns", message -> new SimpleJdbcInsert(jdbc)
            .withTableName("outbox").usingColumns("channel", "target", "payload", "idempotency_key").execute(row(message)));
        tries.attempt(STACK, "max_attempts 0, as of an int that is not set", message -> jdbc.update(
            "INSERT INTO outbox_new (max_attempts, channel, target, payload, idempotency_key)"
                + values.replace("VALUES (", "VALUES (?, "), 0, hook, message.json(), message.key()));
    }

    private Map<String, Object> row(Tries.Message message) {
        return Map.of("channel", "hooks", "target", hook, "payload", message.json(), "idempotency_key", message.key());
    }

    private void generatedKeys(Tries tries) {
        for (String table : List.of("outbox", "outbox_new")) {
            tries.attempt(STACK, "RETURN_GENERATED_KEYS, " + table, message ->
                insertForId(message, connection -> connection.prepareStatement(
                    "INSERT INTO " + table + columns + values, Statement.RETURN_GENERATED_KEYS)));
            tries.attempt(STACK, "generated key {\"id\"}, " + table, message ->
                insertForId(message, connection -> connection.prepareStatement(
                    "INSERT INTO " + table + columns + values, new String[] {"id"})));
        }
        tries.attempt(STACK, "INSERT ... RETURNING id, outbox", message -> jdbc.queryForObject(
            "INSERT INTO outbox" + columns + values + " RETURNING id", Long.class, hook, message.json(), message.key()));
        tries.attempt(STACK, "INSERT ... RETURNING *, outbox_new", message -> jdbc.queryForMap(
            "INSERT INTO outbox_new" + columns + values + " RETURNING *", hook, message.json(), message.key()));
        tries.attempt(STACK, "SimpleJdbcInsert with usingGeneratedKeyColumns, outbox_new", message ->
            new SimpleJdbcInsert(jdbc).withTableName("outbox_new").usingGeneratedKeyColumns("id")
                .usingColumns("channel", "target", "payload", "idempotency_key").executeAndReturnKey(row(message)));
    }

    private interface Preparation {
        PreparedStatement of(Connection connection) throws SQLException;
    }

    private void insertForId(Tries.Message message, Preparation preparation) {
        var keys = new GeneratedKeyHolder();
        jdbc.update(connection -> {
            var statement = preparation.of(connection);
            statement.setString(1, hook);
            statement.setString(2, message.json());
            statement.setString(3, message.key());
            return statement;
        }, keys);
    }

    /** The key try-1 is there already. */
    private void duplicates(Tries tries) {
        String insert = "INSERT INTO outbox_new" + columns + values;
        // As of an application without JPA, whose transaction manager knows no nested transactions by default.
        var database = database("");
        var own = new JdbcTemplate(database);
        var transactions = new JdbcTransactionManager(database);
        var savepoint = new TransactionTemplate(transactions);
        savepoint.setPropagationBehavior(TransactionDefinition.PROPAGATION_NESTED);
        tries.attempt(STACK, "a known key, DuplicateKeyException caught", message -> {
            try {
                jdbc.update(insert, hook, message.json(), "try-1");
            } catch (DuplicateKeyException known) {
                // The transaction goes on, where the database lets it.
            }
            jdbc.update(insert, hook, message.json(), message.key());
        });
        tries.attempt(STACK, "a known key, DuplicateKeyException caught around PROPAGATION_NESTED", message ->
            new TransactionTemplate(transactions).executeWithoutResult(status -> {
                try {
                    savepoint.executeWithoutResult(nested -> own.update(insert, hook, message.json(), "try-1"));
                } catch (DuplicateKeyException known) {
                    // Only what was done since the savepoint is undone.
                }
                own.update(insert, hook, message.json(), message.key());
            }));
        if (!postgres) {
            tries.attempt(STACK, "INSERT IGNORE of a known key", message -> {
                jdbc.update(insert.replace("INSERT", "INSERT IGNORE"), hook, message.json(), "try-1");
                jdbc.update(insert.replace("INSERT", "INSERT IGNORE"), hook, message.json(), message.key());
            });
        }
    }

    /** MySQL and MariaDB take no times: outbox_enqueue has seconds. */
    private void times(Tries tries) {
        String insert = "INSERT INTO outbox_new (available_at, channel, target, payload, idempotency_key)"
            + values.replace("VALUES (", "VALUES (?, ");
        Map<String, Supplier<Object>> times = new LinkedHashMap<>();
        times.put("Timestamp", () -> Timestamp.from(Instant.now().plus(DELAY)));
        times.put("Instant", () -> Instant.now().plus(DELAY));
        times.put("LocalDateTime", () -> LocalDateTime.now().plus(DELAY));
        times.put("LocalDateTime of UTC", () -> LocalDateTime.now(ZoneOffset.UTC).plus(DELAY));
        times.put("OffsetDateTime of UTC", () -> OffsetDateTime.now(ZoneOffset.UTC).plus(DELAY));
        times.forEach((type, time) -> tries.attempt(STACK, "available_at by " + type, 600, message ->
            jdbc.update(insert, time.get(), hook, message.json(), message.key())));
        tries.attempt(STACK, "available_at by NOW() + INTERVAL of the database", 600, message -> jdbc.update(
            insert.replace("VALUES (?", "VALUES (NOW() + INTERVAL " + (postgres ? "'10 minutes'" : "10 MINUTE")),
            hook, message.json(), message.key()));
    }

    private DataSource database(String options) {
        return new DriverManagerDataSource(settings.getUrl() + options, settings.getUsername(), settings.getPassword());
    }
}
