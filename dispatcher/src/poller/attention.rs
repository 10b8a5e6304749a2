//! How soon the poller looks again when no hint comes, and whether it wants hints.
//!
//! On PostgreSQL, a commit that gives a hint waits for every other commit that gives one. So hints are for a poller
//! that is asleep. A poller that has just found rows looks again by itself, soon at first and then ever later. It asks
//! for hints once it has found nothing for a moment. It goes on looking by itself, since a transaction that saw it
//! awake may commit after it fell asleep. The message of that transaction waits about three times as long as the
//! transaction took.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use outbox_adapters::Hints;
use outbox_schema::Store;
use outbox_schema::store::{HintsLost, Wakeups};
use tokio::sync::{Notify, watch};

use crate::backoff::Backoff;

/// The wait after the first poll that finds nothing, with hints and without, and the factor by which it grows with each
/// further poll.
const SOON_IF_HINTED: Duration = Duration::from_micros(250);
const SOON: Duration = Duration::from_millis(1);
const GROWTH: u32 = 4;

/// A poller that waits this long for its next poll is asleep.
const A_NAP: Duration = Duration::from_millis(16);

/// The source of hints.
#[derive(Debug, Clone)]
pub enum HintSource {
    /// The database gives hints.
    Database(Arc<dyn Store>),
    /// Applications give hints, on the server of the lease.
    Applications(Arc<dyn Hints>),
}

impl HintSource {
    async fn open(&self) -> Result<Option<Box<dyn Wakeups>>, HintsLost> {
        match self {
            Self::Database(store) => Ok(store.wakeups().await?),
            Self::Applications(hints) => Ok(Some(hints.listen().await?)),
        }
    }
}

/// The state that the poller and the listener for hints share.
#[derive(Debug)]
pub struct Attention {
    /// Whether the poller counts on hints. If so, it polls sooner again. Not on SQLite, where a poll locks the file.
    hinted: bool,
    /// Whether this replica polls.
    polls: AtomicBool,
    /// Polls in a row that found no row.
    in_vain: AtomicU32,
    asleep: watch::Sender<bool>,
    wakeup: Arc<Notify>,
}

impl Attention {
    /// The attention of a poller that counts on hints, or does not. `wakeup` wakes it.
    pub fn new(hinted: bool, wakeup: Arc<Notify>) -> Self {
        let (polls, in_vain, asleep) = (AtomicBool::default(), AtomicU32::default(), watch::Sender::default());
        Self { hinted, polls, in_vain, asleep, wakeup }
    }

    /// Notes that this replica polls from now on.
    pub fn begin(&self) {
        self.polls.store(true, Ordering::Relaxed);
    }

    /// Notes that this replica no longer polls.
    pub fn leave(&self) {
        self.polls.store(false, Ordering::Relaxed);
        self.rouse();
    }

    /// Takes a hint, and returns whether this replica polls. A poller that is awake looks again by itself.
    pub fn hint(&self) -> bool {
        if *self.asleep.borrow() {
            self.wakeup.notify_one();
        }
        self.polls.load(Ordering::Relaxed)
    }

    /// Whether the poller looks again at once after a poll that took all due rows. While it is awake, a poller that
    /// counts on hints gets none: it must look for the next rows.
    pub fn is_undivided(&self) -> bool {
        self.hinted
    }

    /// Notes that a poll found rows.
    pub fn rouse(&self) {
        self.in_vain.store(0, Ordering::Relaxed);
        self.sleep(false);
    }

    /// Notes that a poll left no due row. Returns how long to wait for a hint before the next poll.
    pub fn found_nothing(&self) -> Duration {
        let before = self.in_vain.fetch_add(1, Ordering::Relaxed);
        let soon = if self.hinted { SOON_IF_HINTED } else { SOON };
        let wait = soon.saturating_mul(GROWTH.saturating_pow(before));
        self.sleep(wait >= A_NAP);
        wait
    }

    fn sleep(&self, asleep: bool) {
        self.asleep.send_if_modified(|present| std::mem::replace(present, asleep) != asleep);
    }

    /// Turns hints into wake-ups, for ever. The next poll makes up for a missed hint, so trouble is only logged.
    pub async fn listen(self: Arc<Self>, source: HintSource) {
        let mut backoff = Backoff::new();
        loop {
            let error = match source.open().await {
                Ok(None) => return,
                Ok(Some(mut wakeups)) => {
                    backoff = Backoff::new();
                    self.hear(&mut *wakeups).await
                }
                Err(error) => error,
            };
            tracing::warn!(%error, "wakeup.lost");
            tokio::time::sleep(backoff.next()).await;
        }
    }

    /// Listens until an error. A poller that falls asleep is woken once as soon as hints are sent: commits just before
    /// that gave none.
    async fn hear(&self, wakeups: &mut dyn Wakeups) -> HintsLost {
        let mut asleep = self.asleep.subscribe();
        if *asleep.borrow() {
            asleep.mark_changed();
        }
        loop {
            let heard = tokio::select! {
                heard = wakeups.wait() => heard,
                _ = asleep.changed() => {
                    let wanted = *asleep.borrow_and_update();
                    wakeups.want(wanted).await
                }
            };
            match heard {
                Ok(()) => {
                    self.hint();
                }
                Err(error) => return error,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_hint_wakes_a_poller_that_is_asleep_and_none_that_is_awake() {
        let attention = Attention::new(true, Arc::default());
        assert!(!attention.hint(), "this replica does not poll");
        attention.begin();
        let woken = async || tokio::time::timeout(A_NAP, attention.wakeup.notified()).await.is_ok();
        assert!(attention.hint() && !woken().await, "it is awake");
        while attention.found_nothing() < A_NAP {}
        assert!(attention.hint() && woken().await, "it is asleep");
        attention.rouse();
        assert!(attention.hint() && !woken().await, "it has found something");
        attention.leave();
        assert!(!attention.hint(), "its term is over");
    }

    #[test]
    fn a_poller_that_finds_nothing_looks_ever_later_and_then_wants_hints() {
        for (hinted, soon) in [(true, SOON_IF_HINTED), (false, SOON)] {
            let attention = Attention::new(hinted, Arc::default());
            let asleep = attention.asleep.subscribe();
            let mut expected = soon;
            while expected < A_NAP {
                assert_eq!(attention.found_nothing(), expected);
                assert!(!*asleep.borrow(), "{expected:?}");
                expected *= GROWTH;
            }
            assert_eq!(attention.found_nothing(), expected);
            assert!(*asleep.borrow());
            (0..100).for_each(|_| assert!(attention.found_nothing() > expected));

            attention.rouse();
            assert!(!*asleep.borrow());
            assert_eq!(attention.found_nothing(), soon);
        }
    }
}
