package outbox.spring;

import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.commons.logging.LogFactory;
import org.springframework.transaction.support.TransactionSynchronization;

/** Tells a replica of the dispatcher of commits, in the background. Commits that come while one hint is under way share the next. */
public class Wake implements TransactionSynchronization {
    private final HttpClient client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
    private final AtomicInteger commits = new AtomicInteger();
    private final HttpRequest.Builder hint;

    public Wake(URI url, String token) {
        hint = HttpRequest.newBuilder(url).timeout(Duration.ofSeconds(1)).POST(HttpRequest.BodyPublishers.noBody());
        if (token != null) hint.header("Authorization", "Bearer " + token);
    }

    @Override public void afterCommit() {
        if (commits.getAndIncrement() > 0) return;
        client.sendAsync(hint.build(), BodyHandlers.discarding()).whenComplete((response, failure) -> {
            LogFactory.getLog(Wake.class).debug(failure == null ? response : failure);
            if (commits.getAndSet(0) > 1) afterCommit();
        });
    }
}
