package shop.mybatis;

import org.apache.ibatis.annotations.Insert;
import org.apache.ibatis.annotations.Mapper;
import org.apache.ibatis.annotations.Options;
import org.apache.ibatis.annotations.Select;

@Mapper
public interface OutboxMapper {
    // docs: begin mybatis-postgres
    /** Null where the key is known. Without flushCache, MyBatis would answer the same call in a transaction from its cache. */
    @Select(value = "SELECT outbox_enqueue(#{channel}, #{target}, #{payload}, #{key})", affectData = true)
    @Options(flushCache = Options.FlushCachePolicy.TRUE)
    Long enqueueOnPostgres(String channel, String target, String payload, String key);
    // docs: end mybatis-postgres

    // docs: begin mybatis-mysql
    @Insert("CALL outbox_enqueue(#{channel}, #{target}, #{payload}, #{key}, NULL, @id)")
    void enqueueOnMySql(String channel, String target, String payload, String key);

    /** Null where the key of the last call is known. */
    @Select("SELECT @id")
    Long enqueuedOnMySql();
    // docs: end mybatis-mysql

    @Insert("INSERT INTO orders (id, customer) VALUES (#{id}, #{customer})")
    void insertOrder(long id, String customer);
}
