package tries;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.springframework.boot.ApplicationArguments;
import org.springframework.boot.ApplicationRunner;
import org.springframework.core.NestedExceptionUtils;
import org.springframework.stereotype.Component;
import org.springframework.transaction.support.TransactionTemplate;
import tools.jackson.databind.json.JsonMapper;

/** Each variant of natural code in a transaction of its own, and a line of JSON about each. */
@Component
class Tries implements ApplicationRunner {
    private final List<Variants> all;
    private final TransactionTemplate transaction;
    private final JsonMapper json;
    private int count;

    Tries(List<Variants> all, TransactionTemplate transaction, JsonMapper json) {
        this.all = all;
        this.transaction = transaction;
        this.json = json;
    }

    /** The variants of one stack. */
    interface Variants {
        void attempt(Tries tries);
    }

    interface Code {
        void run(Message message) throws Exception;
    }

    /** What a variant is to send. */
    record Message(String key, int number) {
        Map<String, Object> map() {
            return Map.of("n", number);
        }

        String json() {
            return "{\"n\": " + number + "}";
        }
    }

    @Override
    public void run(ApplicationArguments arguments) {
        all.forEach(variants -> variants.attempt(this));
    }

    void attempt(String stack, String name, Code code) {
        attempt(stack, name, 0, code);
    }

    void attempt(String stack, String name, int delay, Code code) {
        var message = new Message("try-" + ++count, count);
        var line = new LinkedHashMap<String, Object>(Map.of("stack", stack, "try", name, "key", message.key()));
        try {
            transaction.executeWithoutResult(status -> {
                try {
                    code.run(message);
                } catch (RuntimeException why) {
                    throw why;
                } catch (Exception why) {
                    throw new IllegalStateException(why);
                }
            });
            line.put("body", message.map());
            if (delay > 0) {
                line.put("delay", delay);
            }
        } catch (RuntimeException why) {
            var words = String.valueOf(NestedExceptionUtils.getMostSpecificCause(why).getMessage()).replaceAll("\\s+", " ");
            line.put("refused", words.substring(0, Math.min(words.length(), 200)));
        }
        System.out.println(json.writeValueAsString(line));
    }
}
