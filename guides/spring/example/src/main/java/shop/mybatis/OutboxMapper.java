package shop.mybatis;

import org.apache.ibatis.annotations.Insert;
import org.apache.ibatis.annotations.Mapper;
import org.apache.ibatis.annotations.Select;

@Mapper
public interface OutboxMapper {
    // docs: begin mybatis-postgres
    /** Returns null where the key is known. It writes, so MyBatis must neither cache it nor roll it back. */
    @Select(value = "SELECT outbox_enqueue(#{channel}, #{target}, #{payload}, #{key})", affectData = true)
    Long enqueueOnPostgres(String channel, String target, String payload, String key);
    // docs: end mybatis-postgres

    // docs: begin mybatis-mysql
    @Insert("CALL outbox_enqueue(#{channel}, #{target}, #{payload}, #{key}, NULL, @id)")
    void enqueueOnMySql(String channel, String target, String payload, String key);

    /** Null where the key of the last call is known. */
    @Select(value = "SELECT @id", affectData = true)
    Long enqueuedOnMySql();
    // docs: end mybatis-mysql

    @Insert("INSERT INTO orders (id, customer) VALUES (#{id}, #{customer})")
    void insertOrder(long id, String customer);
}
