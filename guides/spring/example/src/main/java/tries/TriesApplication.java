package tries;

import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.AutoConfigurationPackage;
import org.springframework.boot.autoconfigure.SpringBootApplication;

/** The shop's services, and beside them what other applications would write. */
@SpringBootApplication(scanBasePackages = {"shop", "tries"})
@AutoConfigurationPackage(basePackages = {"shop", "tries"})
public class TriesApplication {
    public static void main(String[] arguments) {
        var application = new SpringApplication(TriesApplication.class);
        application.setAdditionalProfiles("tries");
        application.run(arguments);
    }
}
