package outbox.spring;

import java.time.Duration;
import java.util.Map;
import java.util.TreeMap;

/** Writes messages in the caller's transaction. The dispatcher sends them if that transaction commits. */
public interface Outbox {
    /** {@return whether the message is new; false where its key is known, and then nothing is written} */
    boolean send(Message message);

    default boolean send(String channel, String target, Object payload) {
        return send(new Message(channel, target, payload));
    }

    /** The payload is any object that Jackson can write. A String is taken for JSON that is written already. */
    record Message(String channel, String target, Object payload, String key, Map<String, Object> options) {
        public Message(String channel, String target, Object payload) {
            this(channel, target, payload, null, Map.of());
        }

        public Message key(String key) { return new Message(channel, target, payload, key, options); }
        public Message delay(Duration delay) { return with("delay_seconds", delay.toMillis() / 1000.0); }
        public Message expiry(Duration expiry) { return with("expires_seconds", expiry.toMillis() / 1000.0); }
        public Message orderingKey(String orderingKey) { return with("ordering_key", orderingKey); }
        public Message headers(Map<String, String> headers) { return with("headers", headers); }
        public Message priority(int priority) { return with("priority", priority); }
        public Message maxAttempts(int maxAttempts) { return with("max_attempts", maxAttempts); }
        public Message tenant(String tenant) { return with("tenant", tenant); }
        public Message tags(Map<String, String> tags) { return with("tags", tags); }

        private Message with(String option, Object value) {
            Map<String, Object> all = new TreeMap<>(options);
            all.put(option, value);
            return new Message(channel, target, payload, key, all);
        }
    }
}
