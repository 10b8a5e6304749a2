import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import net.javacrumbs.shedlock.core.DefaultLockingTaskExecutor;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.LockProvider;
import net.javacrumbs.shedlock.core.LockingTaskExecutor.Task;
import net.javacrumbs.shedlock.provider.jdbctemplate.JdbcTemplateLockProvider;
import net.javacrumbs.shedlock.provider.redis.spring.RedisLockProvider;
import org.mariadb.jdbc.MariaDbDataSource;
import org.redisson.Redisson;
import org.redisson.api.RLock;
import org.redisson.config.Config;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.jdbc.core.JdbcTemplate;

/** One instance of a scheduled job: under its lock it runs a command, or sends the rows that wait one by one and marks each. */
public class Job {
    private static final String NAME = "job";
    private static final int DELAY_MS = 500;

    private interface Batch {
        void send() throws Exception;
    }

    /** Runs the batch if no other instance has the lock. */
    private interface Lock {
        void run(Batch batch) throws Throwable;
    }

    private static String database;
    private static int redis;
    private static String receiver;
    private static int lockMs;

    public static void main(String[] arguments) throws Throwable {
        database = arguments[1];
        redis = Integer.parseInt(arguments[2]);
        receiver = arguments[3];
        lockMs = Integer.parseInt(arguments[4]);
        Lock lock = lock(arguments[0]);
        Batch batch = arguments.length > 5 ? () -> command(arguments[5]) : Job::batch;
        while (true) {
            lock.run(batch);
            System.out.println("a run has ended");
            Thread.sleep(DELAY_MS);
        }
    }

    private static Lock lock(String kind) throws Exception {
        switch (kind) {
            case "Redisson":
                Config config = new Config();
                config.setLockWatchdogTimeout(lockMs);
                config.useSingleServer().setAddress("redis://127.0.0.1:" + redis);
                RLock lock = Redisson.create(config).getLock(NAME);
                return batch -> {
                    if (lock.tryLock(100, TimeUnit.MILLISECONDS)) {
                        try {
                            batch.send();
                        } finally {
                            if (lock.isHeldByCurrentThread()) {
                                lock.unlock();
                            }
                        }
                    }
                };
            case "ShedLock, a table":
                return shedLock(new JdbcTemplateLockProvider(JdbcTemplateLockProvider.Configuration.builder()
                    .withJdbcTemplate(new JdbcTemplate(new MariaDbDataSource(database))).usingDbTime()
                    // Else the name of the host: processes of one host would give back each other's lock.
                    .withLockedByValue("job-" + ProcessHandle.current().pid()).build()));
            case "ShedLock, Redis":
                LettuceConnectionFactory connections = new LettuceConnectionFactory("127.0.0.1", redis);
                connections.afterPropertiesSet();
                connections.start();
                return shedLock(new RedisLockProvider(connections));
            case "`GET_LOCK`":
                Connection session = DriverManager.getConnection(database);
                return batch -> {
                    if (first(session, "SELECT GET_LOCK('" + NAME + "', 0)").equals("1")) {
                        try {
                            batch.send();
                        } finally {
                            first(session, "SELECT RELEASE_LOCK('" + NAME + "')");
                        }
                    }
                };
            case "a locked row":
                Connection locking = DriverManager.getConnection(database);
                locking.setAutoCommit(false);
                return batch -> {
                    if (first(locking, "SELECT name FROM schedule WHERE name = '" + NAME + "' FOR UPDATE SKIP LOCKED") != null) {
                        batch.send();
                    }
                    locking.commit();
                };
            case "a status row":
                return batch -> {
                    if (update("UPDATE job_status SET status = 'RUNNING', started_at = NOW(3) WHERE name = '" + NAME
                            + "' AND (status <> 'RUNNING' OR started_at < NOW(3) - INTERVAL 10 MINUTE)") == 1) {
                        batch.send();
                        update("UPDATE job_status SET status = 'COMPLETED' WHERE name = '" + NAME + "'");
                    }
                };
            default:
                throw new IllegalArgumentException(kind);
        }
    }

    private static Lock shedLock(LockProvider provider) {
        DefaultLockingTaskExecutor executor = new DefaultLockingTaskExecutor(provider);
        return batch -> executor.executeWithLock((Task) batch::send,
            new LockConfiguration(Instant.now(), NAME, Duration.ofMillis(lockMs), Duration.ZERO));
    }

    private static void command(String command) throws Exception {
        System.out.println("a run begins");
        new ProcessBuilder("bash", "-c", command).inheritIO().start().waitFor();
    }

    private static void batch() throws Exception {
        HttpClient http = HttpClient.newHttpClient();
        List<Long> waiting = new ArrayList<>();
        try (Connection connection = DriverManager.getConnection(database);
                Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery("SELECT id FROM outbox_events WHERE status = 'PENDING' ORDER BY id")) {
            while (rows.next()) {
                waiting.add(rows.getLong(1));
            }
        }
        System.out.println("a run begins");
        for (long id : waiting) {
            HttpRequest request = HttpRequest.newBuilder(URI.create(receiver)).header("Idempotency-Key", "event-" + id)
                .POST(HttpRequest.BodyPublishers.ofString("{}")).build();
            if (http.send(request, BodyHandlers.discarding()).statusCode() == 200) {
                update("UPDATE outbox_events SET status = 'SUCCESS', sent_at = NOW(3) WHERE id = " + id);
            }
        }
    }

    private static String first(Connection connection, String query) throws SQLException {
        try (Statement statement = connection.createStatement(); ResultSet rows = statement.executeQuery(query)) {
            return rows.next() ? rows.getString(1) : null;
        }
    }

    private static int update(String statement) throws SQLException {
        try (Connection connection = DriverManager.getConnection(database); Statement session = connection.createStatement()) {
            return session.executeUpdate(statement);
        }
    }
}
