package outbox.spring;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.net.URI;
import java.util.stream.Stream;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnSingleCandidate;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.annotation.Order;
import org.springframework.jdbc.core.JdbcTemplate;
import tools.jackson.databind.json.JsonMapper;

// The names of Spring Boot 4, then of 3.
@AutoConfiguration(afterName = {
    "org.springframework.boot.jdbc.autoconfigure.JdbcTemplateAutoConfiguration",
    "org.springframework.boot.jackson.autoconfigure.JacksonAutoConfiguration",
    "org.springframework.boot.autoconfigure.jdbc.JdbcTemplateAutoConfiguration",
    "org.springframework.boot.autoconfigure.jackson.JacksonAutoConfiguration"})
@EnableConfigurationProperties(OutboxAutoConfiguration.Properties.class)
public class OutboxAutoConfiguration {
    @Bean @ConditionalOnSingleCandidate(JdbcTemplate.class) @ConditionalOnMissingBean(Outbox.class)
    Outbox outbox(JdbcTemplate jdbc, JdbcOutbox.Json json, Properties config) {
        return new JdbcOutbox(jdbc, json,
            Stream.of(config.wakeUrl).map(url -> new Wake(url, config.token)).toArray(Wake[]::new));
    }

    @Configuration(proxyBeanMethods = false) @ConditionalOnClass(JsonMapper.class) @Order(1)
    static class Jackson3 {
        @Bean @ConditionalOnBean(JsonMapper.class)
        JdbcOutbox.Json outboxJson(JsonMapper json) { return json::writeValueAsString; }
    }

    @Configuration(proxyBeanMethods = false) @ConditionalOnClass(ObjectMapper.class) @Order(2)
    static class Jackson2 {
        @Bean @ConditionalOnBean(ObjectMapper.class) @ConditionalOnMissingBean(JdbcOutbox.Json.class)
        JdbcOutbox.Json outboxJson(ObjectMapper json) { return json::writeValueAsString; }
    }

    /**
     * @param wakeUrl POST /api/v1/wake of the dispatcher, or of each of its replicas: they hear of each commit
     * @param token   admin.token of the dispatcher's settings
     */
    @ConfigurationProperties("outbox") record Properties(@DefaultValue URI[] wakeUrl, String token) {}
}
