package shop.mybatis;

import org.springframework.beans.factory.annotation.Value;
import org.springframework.stereotype.Service;
import org.springframework.transaction.annotation.Transactional;
import tools.jackson.databind.json.JsonMapper;

@Service
public class MyBatisOrders {
    private final OutboxMapper mapper;
    private final JsonMapper json;
    private final String hook;

    MyBatisOrders(OutboxMapper mapper, JsonMapper json, @Value("${shop.hook}") String hook) {
        this.mapper = mapper;
        this.json = json;
        this.hook = hook;
    }

    @Transactional
    public boolean placeOnPostgres(long id, String customer, String key, Object event) {
        mapper.insertOrder(id, customer);
        return mapper.enqueueOnPostgres("hooks", hook, json.writeValueAsString(event), key) != null;
    }

    @Transactional
    public boolean placeOnMySql(long id, String customer, String key, Object event) {
        mapper.insertOrder(id, customer);
        mapper.enqueueOnMySql("hooks", hook, json.writeValueAsString(event), key);
        return mapper.enqueuedOnMySql() != null;
    }
}
