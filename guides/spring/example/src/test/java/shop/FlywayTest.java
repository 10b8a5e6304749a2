package shop;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.flyway.autoconfigure.FlywayAutoConfiguration;
import org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration;
import org.springframework.boot.jdbc.autoconfigure.JdbcTemplateAutoConfiguration;
import org.springframework.boot.test.context.ConfigDataApplicationContextInitializer;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.jdbc.core.JdbcTemplate;

/** The settings of application.yaml, in a schema that has tables of the dispatcher already. */
class FlywayTest {
    @Test
    void makesTheApplicationsTablesBesideTheOutbox() {
        new ApplicationContextRunner()
            .withInitializer(new ConfigDataApplicationContextInitializer())
            .withConfiguration(AutoConfigurations.of(DataSourceAutoConfiguration.class, JdbcTemplateAutoConfiguration.class,
                FlywayAutoConfiguration.class))
            .withPropertyValues("spring.datasource.username=sa",
                "spring.datasource.url=jdbc:h2:mem:flyway;INIT=CREATE TABLE IF NOT EXISTS outbox AS SELECT 1 AS id")
            .run(context -> {
                var jdbc = context.getBean(JdbcTemplate.class);
                assertThat(jdbc.queryForList("SELECT id FROM outbox", Long.class)).containsExactly(1L);
                assertThat(jdbc.queryForList("SELECT id FROM orders", Long.class)).isEmpty();
                assertThat(jdbc.queryForList("SELECT \"script\" FROM \"flyway_schema_history\"", String.class))
                    .contains("V1__orders.sql");
            });
    }
}
