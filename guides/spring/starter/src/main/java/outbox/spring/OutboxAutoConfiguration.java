package outbox.spring;

import java.net.URI;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnSingleCandidate;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.jdbc.autoconfigure.JdbcTemplateAutoConfiguration;
import org.springframework.context.annotation.Bean;
import org.springframework.jdbc.core.JdbcTemplate;
import tools.jackson.databind.json.JsonMapper;

@AutoConfiguration(after = JdbcTemplateAutoConfiguration.class)
@EnableConfigurationProperties(OutboxAutoConfiguration.Properties.class)
public class OutboxAutoConfiguration {
    @Bean @ConditionalOnSingleCandidate(JdbcTemplate.class) @ConditionalOnMissingBean(Outbox.class)
    Outbox outbox(JdbcTemplate jdbc, JsonMapper json, Properties properties) {
        return new JdbcOutbox(jdbc, json, properties.wakeUrl == null ? null : new Wake(properties.wakeUrl, properties.token));
    }

    /**
     * @param wakeUrl the dispatcher's POST /api/v1/wake, which is told of each commit. Without it, the dispatcher polls
     * @param token   admin.token of the dispatcher's settings
     */
    @ConfigurationProperties("outbox")
    record Properties(URI wakeUrl, String token) {}
}
