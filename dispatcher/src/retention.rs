//! Removes messages that are past their retention: beside the loop, while a term lasts, in small batches with pauses
//! between.
//!
//! A pass walks the primary key from the oldest row to the first that is too young, and then rests. Only this process
//! remembers its place from term to term. Another poller walks by itself, and does not meet the rows that were removed.

use std::sync::Arc;
use std::time::Duration;

use outbox_schema::MessageId;
use outbox_store::QueryError;
use outbox_store::retention::{BEGINNING, Overdue, Pruned, Pruning, Retention, Stretch};
use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::in_flight::InFlight;
use crate::metrics::Metrics;
use crate::reloadable::Reloadable;
use crate::term::Term;

/// A pause is this many times as long as the batch before it.
const PAUSES: u32 = 3;

/// The same while more than half of the slots are taken: deliveries go first.
const PAUSES_WHEN_BUSY: u32 = 9;

/// The longest time for one batch. What is removed is small, so a longer wait means that the database is gone.
const LIMIT: Duration = Duration::from_mins(1);

/// How long to wait after a failure.
const TROUBLE: Duration = Duration::from_mins(1);

/// A rest is this fraction of the shorter retention, within [`SHORTEST_REST`] and [`LONGEST_REST`].
const REST_SHARE: u32 = 100;
const SHORTEST_REST: Duration = Duration::from_secs(1);
const LONGEST_REST: Duration = Duration::from_hours(1);

/// A rest is at least this many times as long as the statements of the pass took, up to [`LONGEST_AFTER_WORK`]: rows
/// that are kept for long are read rarely.
const REST_PER_WORK: u32 = 20;
const LONGEST_AFTER_WORK: Duration = Duration::from_hours(3);

/// Removes old messages while this process leads.
#[derive(Debug)]
pub(crate) struct Pruner {
    pruning: Arc<dyn Pruning>,
    retention: Reloadable<Retention>,
    in_flight: Arc<InFlight>,
    metrics: Arc<Metrics>,
    /// Locked by the term that prunes. The batch of an earlier term comes to its end first.
    walk: Mutex<Walk>,
}

/// A pass over the messages, then over the log of terms, and then over what is kept of destinations; and the rest after it.
#[derive(Debug)]
struct Walk {
    next: Next,
    removed: Pruned,
    work: Duration,
    /// The retention with which the pass began.
    by: Arc<Retention>,
    rests_until: Option<Instant>,
}

/// Where the next step of a pass begins.
#[derive(Debug)]
enum Next {
    /// Behind the message with this id.
    Messages(MessageId),
    /// At the oldest term.
    Terms,
    /// Behind the destination with this name.
    Destinations(String),
}

impl Walk {
    fn after(rests_until: Option<Instant>, by: Arc<Retention>) -> Self {
        Self { next: Next::Messages(BEGINNING), removed: Pruned::default(), work: Duration::ZERO, by, rests_until }
    }
}

impl Pruner {
    /// A pruner that keeps to `retention`.
    pub(crate) fn new(
        pruning: Arc<dyn Pruning>,
        retention: Reloadable<Retention>,
        in_flight: Arc<InFlight>,
        metrics: Arc<Metrics>,
    ) -> Arc<Self> {
        let walk = Mutex::new(Walk::after(None, retention.current()));
        Arc::new(Self { pruning, retention, in_flight, metrics, walk })
    }

    /// Goes on with the walk, in a task of its own, until `term` ends. A batch that is under way is finished.
    pub(crate) fn begin(self: &Arc<Self>, term: &Arc<Term>) {
        let (pruner, term) = (self.clone(), term.clone());
        tokio::spawn(async move {
            term.first_claim().await;
            let mut walk = tokio::select! {
                walk = pruner.walk.lock() => walk,
                () = term.ended() => return,
            };
            while term.is_on() {
                let pause = pruner.step(&mut walk).await;
                tokio::select! {
                    () = tokio::time::sleep(pause) => {}
                    () = term.ended() => return,
                }
            }
        });
    }

    /// Takes one step, where the rest is over. Returns how long to wait before the next step.
    async fn step(&self, walk: &mut Walk) -> Duration {
        let began = Instant::now();
        let rest = walk.rests_until.map(|until| until.duration_since(began)).filter(|rest| !rest.is_zero());
        if let Some(rest) = rest.filter(|_| walk.by == self.retention.current()) {
            return rest;
        }
        walk.rests_until = None;
        let failed = match tokio::time::timeout(LIMIT, self.batch(walk)).await {
            Ok(Ok(through)) => Ok(through),
            Ok(Err(error)) => Err(error.to_string()),
            Err(_) => Err(format!("nothing came within {LIMIT:?}")),
        };
        let through = match failed {
            Ok(through) => through,
            Err(error) => {
                tracing::warn!(%error, "retention.failed: what is past its retention stays for now");
                return TROUBLE;
            }
        };
        let took = began.elapsed();
        walk.work += took;
        if through { self.rest(walk) } else { took * self.pauses() }
    }

    /// Removes old rows of the next stretch. Returns whether the pass is over.
    async fn batch(&self, walk: &mut Walk) -> Result<bool, QueryError> {
        walk.next = match &walk.next {
            Next::Messages(after) => {
                let retention = self.retention.current();
                if *after == BEGINNING {
                    walk.by = retention.clone();
                }
                let stretch = self.pruning.overdue(&retention, *after).await?;
                let removed = self.remove(&retention, &stretch).await?;
                walk.removed.add(&removed);
                if stretch.last { Next::Terms } else { Next::Messages(stretch.through) }
            }
            Next::Terms if self.pruning.prune_terms().await? => Next::Terms,
            Next::Terms => Next::Destinations(String::new()),
            Next::Destinations(after) => match self.pruning.prune_destinations(after).await {
                Ok(Some(last)) => Next::Destinations(last),
                Ok(None) => return Ok(true),
                Err(error) => {
                    // A role may have its grants of before. The next pass over the messages is not to wait for that.
                    tracing::warn!(%error, "retention.failed: what is known of destinations stays for now");
                    return Ok(true);
                }
            },
        };
        Ok(false)
    }

    async fn remove(&self, retention: &Retention, stretch: &Stretch) -> Result<Vec<Overdue>, QueryError> {
        let removed = self.pruning.remove(retention, stretch).await;
        // Rows that must stay do not count as late: a dead letter that halts its key, a row that is being changed.
        let behind = removed.as_ref().map_or(&stretch.overdue, |removed| removed);
        if let Some(longest) = behind.iter().map(|one| one.by).max() {
            self.metrics.retention_behind(longest);
        }
        if let Ok(removed) = &removed {
            let mut pruned = Pruned::default();
            pruned.add(removed);
            self.metrics.pruned(pruned);
        }
        removed
    }

    /// Ends a pass.
    fn rest(&self, walk: &mut Walk) -> Duration {
        let Pruned { success, dead } = walk.removed;
        if walk.removed.total() > 0 {
            tracing::info!(success, dead, "retention.pruned");
        }
        self.metrics.retention_behind(Duration::ZERO);
        let share = walk.by.shortest().map_or(LONGEST_REST, |shortest| shortest / REST_SHARE);
        let rest = share.clamp(SHORTEST_REST, LONGEST_REST).max((walk.work * REST_PER_WORK).min(LONGEST_AFTER_WORK));
        *walk = Walk::after(Some(Instant::now() + rest), walk.by.clone());
        rest
    }

    fn pauses(&self) -> u32 {
        if self.in_flight.is_busy() { PAUSES_WHEN_BUSY } else { PAUSES }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use async_trait::async_trait;
    use opentelemetry_sdk::Resource;
    use outbox_store::{Shard, Status, TermEnd};

    use super::*;
    use crate::fixtures::{SteppedClock, term_of};
    use crate::term::clock::Clock;

    /// An outbox of several stretches, each with one old message. It counts the passes that begin.
    #[derive(Debug, Default)]
    struct Stretches {
        left: AtomicU64,
        passes: AtomicU64,
        refuses: bool,
    }

    #[async_trait]
    impl Pruning for Stretches {
        async fn overdue(&self, _: &Retention, after: MessageId) -> Result<Stretch, QueryError> {
            self.passes.fetch_add(u64::from(after == BEGINNING), Ordering::SeqCst);
            let left = self.left.load(Ordering::SeqCst);
            let through = MessageId(i64::try_from(left).unwrap_or(i64::MAX));
            let one = Overdue { id: through, status: Status::Success, by: Duration::from_hours(5) };
            tokio::time::sleep(Duration::from_millis(10)).await;
            Ok(Stretch { after, through, last: left <= 1, overdue: vec![one; usize::from(left > 0)] })
        }

        async fn remove(&self, _: &Retention, stretch: &Stretch) -> Result<Vec<Overdue>, QueryError> {
            if self.refuses {
                return Err(QueryError { doing: "testing", source: sqlx::Error::PoolTimedOut });
            }
            self.left.fetch_sub(stretch.overdue.len() as u64, Ordering::SeqCst);
            Ok(stretch.overdue.clone())
        }

        async fn prune_terms(&self) -> Result<bool, QueryError> {
            Ok(false)
        }

        async fn prune_destinations(&self, after: &str) -> Result<Option<String>, QueryError> {
            assert_eq!(after, "");
            Err(QueryError { doing: "testing", source: sqlx::Error::PoolTimedOut })
        }
    }

    struct Pruned {
        stretches: Arc<Stretches>,
        pruner: Arc<Pruner>,
        metrics: Arc<Metrics>,
    }

    fn pruner(stretches: Stretches) -> Pruned {
        let stretches = Arc::new(stretches);
        let metrics = Metrics::new(["http"], &[Shard(0)], Resource::builder_empty().build(), None);
        let metrics = Arc::new(metrics.unwrap_or_else(|error| panic!("{error}")));
        let retention = Retention { success: Some(Duration::from_hours(24)), ..Retention::default() };
        let retention = Reloadable::new(retention);
        let in_flight = Arc::new(InFlight::new(8));
        let pruner = Pruner::new(stretches.clone(), retention, in_flight, metrics.clone());
        Pruned { stretches, pruner, metrics }
    }

    fn term() -> Arc<Term> {
        let clock = SteppedClock::new();
        term_of(&clock, clock.now().after(Duration::from_hours(1)))
    }

    impl Pruned {
        fn left(&self) -> u64 {
            self.stretches.left.load(Ordering::SeqCst)
        }

        fn passes(&self) -> u64 {
            self.stretches.passes.load(Ordering::SeqCst)
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_pass_rests_when_it_is_through() {
        let outbox = pruner(Stretches { left: AtomicU64::new(3), ..Stretches::default() });
        outbox.pruner.begin(&term());
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!((outbox.left(), outbox.passes()), (0, 1));
        // A hundredth of a day.
        tokio::time::sleep(Duration::from_mins(14)).await;
        assert_eq!(outbox.passes(), 1);
        tokio::time::sleep(Duration::from_mins(1)).await;
        assert_eq!(outbox.passes(), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn a_rest_ends_with_the_retention_it_was_for() {
        let outbox = pruner(Stretches { left: AtomicU64::new(1), ..Stretches::default() });
        let first = term();
        outbox.pruner.begin(&first);
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(outbox.passes(), 1);
        let shorter = Retention { success: Some(Duration::from_secs(1)), ..Retention::default() };
        outbox.pruner.retention.replace(shorter);
        first.end(TermEnd::Interval);
        outbox.pruner.begin(&term());
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert_eq!(outbox.passes(), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn a_walk_stops_with_its_term_and_goes_on_with_the_next() {
        let outbox = pruner(Stretches { left: AtomicU64::new(1_000_000), ..Stretches::default() });
        let first = term();
        outbox.pruner.begin(&first);
        tokio::time::sleep(Duration::from_secs(1)).await;
        first.end(TermEnd::Interval);
        tokio::time::sleep(Duration::from_secs(1)).await;
        let (left, removed) = (outbox.left(), 1_000_000 - outbox.left());
        // Each takes ten milliseconds, and the pauses are three times that.
        assert!((20..=27).contains(&removed), "{removed}");
        tokio::time::sleep(Duration::from_mins(1)).await;
        assert_eq!(outbox.left(), left);
        outbox.pruner.begin(&term());
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert!(outbox.left() < left);
        assert_eq!(outbox.passes(), 1, "it began anew");
    }

    #[tokio::test(start_paused = true)]
    async fn what_cannot_be_removed_is_shown_to_be_behind() {
        let outbox = pruner(Stretches { left: AtomicU64::new(1), refuses: true, ..Stretches::default() });
        let term = term();
        outbox.metrics.term_began(term.clone());
        outbox.pruner.begin(&term);
        tokio::time::sleep(Duration::from_mins(3)).await;
        let text = outbox.metrics.render().unwrap_or_default();
        let shown = text.lines().find_map(|line| line.strip_prefix("outbox_retention_lag_seconds "));
        let behind = shown.and_then(|seconds| seconds.parse::<f64>().ok());
        assert!(behind.is_some_and(|seconds| seconds >= 5.0 * 3600.0), "{text}");
        assert!((3..=4).contains(&outbox.passes()), "it tries again each minute");
    }
}
