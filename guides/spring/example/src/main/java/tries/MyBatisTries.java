package tries;

import java.time.Duration;
import java.time.Instant;
import java.time.LocalDateTime;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.util.Date;
import org.apache.ibatis.annotations.Insert;
import org.apache.ibatis.annotations.Mapper;
import org.apache.ibatis.annotations.Options;
import org.apache.ibatis.annotations.Param;
import org.apache.ibatis.annotations.Select;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.core.annotation.Order;
import org.springframework.dao.DuplicateKeyException;
import org.springframework.stereotype.Component;
import shop.mybatis.MyBatisOrders;

@Component
@Order(4)
class MyBatisTries implements Tries.Variants {
    private static final String STACK = "MyBatis";

    private final MyBatisOrders orders;
    private final Variants mapper;
    private final String hook;
    private final boolean postgres;

    MyBatisTries(MyBatisOrders orders, Variants mapper, @Value("${shop.hook}") String hook,
                 @Value("${GUIDE_SERVER}") String server) {
        this.orders = orders;
        this.mapper = mapper;
        this.hook = hook;
        this.postgres = server.equals("postgres");
    }

    /** What an application's own mapper would take. */
    static class Row {
        public Long id;
        public String key;
        public String target;
        public String payload;
        public Object availableAt;
    }

    @Mapper
    interface Variants {
        String COLUMNS = " (channel, target, payload, idempotency_key) ";
        String TEXT = "VALUES ('hooks', #{target}, #{payload}, #{key})";
        String JSONB = "VALUES ('hooks', #{target}, #{payload}::jsonb, #{key})";
        String TIME = "INSERT INTO outbox_new (channel, target, payload, idempotency_key, available_at) "
            + "VALUES ('hooks', #{row.target}, ${payload}, #{row.key}, #{time})";

        @Insert("INSERT INTO outbox" + COLUMNS + TEXT)
        void insertText(Row row);

        @Insert("INSERT INTO outbox" + COLUMNS + JSONB)
        void insertJsonb(Row row);

        @Insert("INSERT INTO outbox_new" + COLUMNS + "VALUES ('hooks', #{target}, #{payload,jdbcType=OTHER}, #{key})")
        void insertOther(Row row);

        @Insert("INSERT INTO ${table}" + COLUMNS + "VALUES ('hooks', #{row.target}, ${payload}, #{row.key})")
        @Options(useGeneratedKeys = true, keyProperty = "row.id")
        void insertGenerated(String table, String payload, @Param("row") Row row);

        @Insert("INSERT INTO ${table}" + COLUMNS + "VALUES ('hooks', #{row.target}, ${payload}, #{row.key})")
        @Options(useGeneratedKeys = true, keyProperty = "row.id", keyColumn = "id")
        void insertGeneratedId(String table, String payload, @Param("row") Row row);

        @Insert(TIME)
        void insertInstant(@Param("row") Row row, String payload, Instant time);

        @Insert(TIME)
        void insertLocal(@Param("row") Row row, String payload, LocalDateTime time);

        @Insert(TIME)
        void insertOffset(@Param("row") Row row, String payload, OffsetDateTime time);

        @Insert(TIME)
        void insertDate(@Param("row") Row row, String payload, Date time);

        @Select("SELECT outbox_enqueue('hooks', #{target}, #{payload}, #{key})")
        Long enqueuePlainSelect(String target, String payload, String key);
    }

    @Override
    public void attempt(Tries tries) {
        tries.attempt(STACK, "mapper method of outbox_enqueue", message -> {
            if (postgres) {
                orders.placeOnPostgres(301, "Jürgen", message.key(), message.map());
            } else {
                orders.placeOnMySql(301, "Jürgen", message.key(), message.map());
            }
        });
        if (postgres) {
            tries.attempt(STACK, "outbox_enqueue by a plain @Select", message ->
                mapper.enqueuePlainSelect(hook, message.json(), message.key()));
        }
        tries.attempt(STACK, "@Insert into outbox, #{payload} without a cast", message -> mapper.insertText(row(message)));
        if (postgres) {
            tries.attempt(STACK, "@Insert into outbox, #{payload}::jsonb", message -> mapper.insertJsonb(row(message)));
        }
        tries.attempt(STACK, "@Insert, #{payload,jdbcType=OTHER}", message -> mapper.insertOther(row(message)));
        String payload = postgres ? "#{row.payload}::jsonb" : "#{row.payload}";
        for (String table : new String[] {"outbox", "outbox_new"}) {
            tries.attempt(STACK, "useGeneratedKeys, " + table, message ->
                mapper.insertGenerated(table, payload, row(message)));
            tries.attempt(STACK, "useGeneratedKeys with keyColumn, " + table, message ->
                mapper.insertGeneratedId(table, payload, row(message)));
        }
        tries.attempt(STACK, "a known key by @Insert, DuplicateKeyException caught", message -> {
            var known = row(message);
            known.key = "try-1";
            try {
                mapper.insertGeneratedId("outbox_new", payload, known);
            } catch (DuplicateKeyException there) {
                // The transaction goes on, where the database lets it.
            }
            mapper.insertGeneratedId("outbox_new", payload, row(message));
        });
        var delay = Duration.ofMinutes(10);
        tries.attempt(STACK, "#{availableAt} of Instant", 600, message ->
            mapper.insertInstant(row(message), payload, Instant.now().plus(delay)));
        tries.attempt(STACK, "#{availableAt} of LocalDateTime", 600, message ->
            mapper.insertLocal(row(message), payload, LocalDateTime.now().plus(delay)));
        tries.attempt(STACK, "#{availableAt} of OffsetDateTime of UTC", 600, message ->
            mapper.insertOffset(row(message), payload, OffsetDateTime.now(ZoneOffset.UTC).plus(delay)));
        tries.attempt(STACK, "#{availableAt} of Date", 600, message ->
            mapper.insertDate(row(message), payload, Date.from(Instant.now().plus(delay))));
    }

    private Row row(Tries.Message message) {
        var row = new Row();
        row.key = message.key();
        row.target = hook;
        row.payload = message.json();
        return row;
    }
}
