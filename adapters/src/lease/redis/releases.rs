//! Hears of released leases: one subscription per shard, on a connection of its own.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use backon::{ExponentialBuilder, Retryable};
use futures_util::StreamExt;
use parking_lot::Mutex;
use redis::RedisResult;
use redis::aio::PubSubStream;
use tokio::sync::{Notify, watch};
use tokio::task::AbortHandle;
use tracing::debug;

use super::primary::{Primary, TIMEOUT, timed_out};

/// The first and the longest wait between attempts to subscribe. Candidates campaign by themselves every second, so a
/// long wait loses nothing.
const RETRY: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(5));

/// The subscriptions of one lease, which end with it.
pub(super) struct Releases {
    primary: Arc<Primary>,
    subscriptions: Mutex<HashMap<String, Subscription>>,
}

struct Subscription {
    /// Keeps one permit, so that a release between two waits wakes the second.
    released: Arc<Notify>,
    task: AbortHandle,
}

impl Releases {
    pub(super) fn new(primary: Arc<Primary>) -> Self {
        Self { primary, subscriptions: Mutex::default() }
    }

    /// Waits for the next message on `channel`, subscribing at the first call. One caller per channel is served.
    pub(super) async fn next(&self, channel: String) {
        let released = self.subscription(channel);
        released.notified().await;
    }

    fn subscription(&self, channel: String) -> Arc<Notify> {
        let mut subscriptions = self.subscriptions.lock();
        let subscription = subscriptions.entry(channel).or_insert_with_key(|channel| {
            let released = Arc::new(Notify::new());
            let listening = listen(Arc::clone(&self.primary), channel.clone(), Arc::clone(&released));
            Subscription { released, task: tokio::spawn(listening).abort_handle() }
        });
        Arc::clone(&subscription.released)
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Listens for ever. Subscribes anew when the connection is lost.
async fn listen(primary: Arc<Primary>, channel: String, released: Arc<Notify>) {
    loop {
        let mut silences = primary.silences();
        let (first, most) = RETRY;
        let backoff =
            ExponentialBuilder::default().with_min_delay(first).with_max_delay(most).with_jitter().without_max_times();
        let subscribe = || async { subscribe(&primary, &channel).await };
        let subscribed = subscribe.retry(backoff).notify(|error, pause| {
            debug!(%channel, %error, ?pause, "cannot listen for released leases");
        });
        // The retries end only with success.
        if let Ok(mut messages) = subscribed.await {
            released.notify_one();
            while let Some(()) = next(&mut messages, &mut silences).await {
                released.notify_one();
            }
        }
        // Waits, so that a server that accepts and hangs up is not dialled in a circle.
        tokio::time::sleep(first).await;
    }
}

/// The next message. None where the connection is lost, or may be: a call got no answer.
async fn next(messages: &mut PubSubStream, silences: &mut watch::Receiver<()>) -> Option<()> {
    tokio::select! {
        message = messages.next() => message.map(drop),
        _ = silences.changed() => None,
    }
}

/// A subscription on a connection of its own, made in time or not at all.
pub(super) async fn subscribe(primary: &Primary, channel: &str) -> RedisResult<PubSubStream> {
    let subscribing = async {
        let mut connection = primary.listen().await?;
        connection.subscribe(channel).await?;
        Ok(connection.into_on_message())
    };
    let subscribed = tokio::time::timeout(TIMEOUT, subscribing).await;
    subscribed.unwrap_or_else(|_| Err(timed_out()))
}
