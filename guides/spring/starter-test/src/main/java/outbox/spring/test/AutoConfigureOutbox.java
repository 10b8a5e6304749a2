package outbox.spring.test;

import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import org.springframework.context.annotation.Import;

/** Gives a test, whole or a slice as {@code @DataJpaTest}, a {@link RecordingOutbox} as its Outbox. */
@Retention(RetentionPolicy.RUNTIME)
@Import(RecordingOutbox.class)
public @interface AutoConfigureOutbox {}
