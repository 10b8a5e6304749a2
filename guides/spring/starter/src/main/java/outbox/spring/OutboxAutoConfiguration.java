package outbox.spring;

import java.net.URI;
import java.util.stream.Stream;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnSingleCandidate;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.boot.jdbc.autoconfigure.JdbcTemplateAutoConfiguration;
import org.springframework.context.annotation.Bean;
import org.springframework.jdbc.core.JdbcTemplate;
import tools.jackson.databind.json.JsonMapper;

@AutoConfiguration(after = JdbcTemplateAutoConfiguration.class)
@EnableConfigurationProperties(OutboxAutoConfiguration.Properties.class)
public class OutboxAutoConfiguration {
    @Bean @ConditionalOnSingleCandidate(JdbcTemplate.class) @ConditionalOnMissingBean(Outbox.class)
    Outbox outbox(JdbcTemplate jdbc, JsonMapper json, Properties config) {
        return new JdbcOutbox(jdbc, json,
            Stream.of(config.wakeUrl).map(url -> new Wake(url, config.token)).toArray(Wake[]::new));
    }

    /**
     * @param wakeUrl POST /api/v1/wake of the dispatcher, or of each of its replicas: they hear of each commit
     * @param token   admin.token of the dispatcher's settings
     */
    @ConfigurationProperties("outbox") record Properties(@DefaultValue URI[] wakeUrl, String token) {}
}
