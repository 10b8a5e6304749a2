package outbox.spring.test;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;
import outbox.spring.Outbox;

/** Keeps the messages that are sent, for a test to look at. Where the transaction rolls back, it forgets them. */
public class RecordingOutbox implements Outbox {
    private final List<Message> sent = new CopyOnWriteArrayList<>();

    @Override public boolean send(Message message) {
        if (!TransactionSynchronizationManager.isActualTransactionActive()) {
            throw new IllegalStateException("Outbox.send needs a transaction");
        }
        if (message.key() != null && sent.stream().anyMatch(other -> message.key().equals(other.key()))) return false;
        TransactionSynchronizationManager.registerSynchronization(new TransactionSynchronization() {
            @Override public void afterCompletion(int status) {
                if (status != STATUS_COMMITTED) sent.remove(message);
            }
        });
        return sent.add(message);
    }

    public List<Message> sent() {
        return List.copyOf(sent);
    }

    public void clear() {
        sent.clear();
    }
}
