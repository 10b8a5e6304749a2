//! Whether marks can be written. Without them each delivery is one that may be made again, so after a while nothing more is claimed.

use std::time::Duration;

use outbox_schema::MessageId;
use parking_lot::{Mutex, MutexGuard};
use tokio::time::Instant;

/// The most messages of which the holder of a lock is asked for.
const MOST_HELD: usize = 100;

/// Since when no mark could be written.
#[derive(Debug)]
pub struct MarkerHealth {
    /// How long marks may fail before claims stop: `lease.ttl`.
    patience: Duration,
    trouble: Mutex<Option<Trouble>>,
    held: Mutex<Vec<MessageId>>,
}

#[derive(Debug)]
struct Trouble {
    since: Instant,
    why: String,
    /// Nothing marks any more.
    for_good: bool,
}

/// Marks have failed for longer than `lease.ttl`, or for good.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stuck {
    /// How long they have failed.
    pub lasts: Duration,
    /// The words of the last failure.
    pub why: String,
}

impl MarkerHealth {
    /// No mark has failed so far.
    pub fn new(patience: Duration) -> Self {
        Self { patience, trouble: Mutex::default(), held: Mutex::default() }
    }

    /// A group of marks could not be written.
    pub(crate) fn failed(&self, why: String) {
        let mut trouble = self.trouble();
        let since = trouble.as_ref().map_or_else(Instant::now, |known| known.since);
        *trouble = Some(Trouble { since, why, for_good: false });
    }

    /// The marker is gone, and with it every mark of this process.
    pub(crate) fn died(&self, why: String) {
        *self.trouble() = Some(Trouble { since: Instant::now(), why, for_good: true });
    }

    /// These are the messages whose marks wait for the locks of other transactions.
    pub(crate) fn holds(&self, messages: impl Iterator<Item = MessageId>) {
        *self.held.lock() = messages.take(MOST_HELD).collect();
    }

    /// Messages whose marks wait for the locks of other transactions: the first hundred.
    pub fn held(&self) -> Vec<MessageId> {
        self.held.lock().clone()
    }

    /// Why nothing is marked any more until this process is started again.
    pub(crate) fn death(&self) -> Option<String> {
        self.trouble().as_ref().filter(|trouble| trouble.for_good).map(|trouble| trouble.why.clone())
    }

    /// The database answered: a group of marks was written, or it refuses one mark by itself.
    pub(crate) fn worked(&self) {
        *self.trouble() = None;
    }

    /// Whether the last group of marks could not be written.
    pub(crate) fn fails(&self) -> bool {
        self.trouble().is_some()
    }

    /// The trouble, where it has lasted for longer than `lease.ttl`, or lasts for good: nothing is claimed meanwhile.
    pub fn stuck(&self) -> Option<Stuck> {
        let trouble = self.trouble();
        let trouble = trouble.as_ref().filter(|trouble| trouble.for_good || trouble.since.elapsed() > self.patience)?;
        Some(Stuck { lasts: trouble.since.elapsed(), why: trouble.why.clone() })
    }

    fn trouble(&self) -> MutexGuard<'_, Option<Trouble>> {
        self.trouble.lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TTL: Duration = Duration::from_secs(10);

    #[tokio::test(start_paused = true)]
    async fn marks_are_stuck_once_they_have_failed_for_longer_than_the_lease_lasts() {
        let marker_health = MarkerHealth::new(TTL);
        assert!(!marker_health.fails());
        marker_health.failed("denied".to_owned());
        assert!(marker_health.fails() && marker_health.stuck().is_none());
        tokio::time::advance(TTL).await;
        marker_health.failed("still denied".to_owned());
        assert!(marker_health.stuck().is_none());
        tokio::time::advance(Duration::from_millis(1)).await;
        assert!(marker_health.stuck().is_some_and(|stuck| stuck.why == "still denied" && stuck.lasts > TTL));
        marker_health.worked();
        assert!(!marker_health.fails() && marker_health.stuck().is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn marks_are_stuck_at_once_where_their_marker_is_gone() {
        let marker_health = MarkerHealth::new(TTL);
        marker_health.failed("denied".to_owned());
        assert_eq!(marker_health.death(), None);
        marker_health.died("gone".to_owned());
        assert_eq!(marker_health.death().as_deref(), Some("gone"));
        assert!(marker_health.stuck().is_some_and(|stuck| stuck.why == "gone"));
    }
}
