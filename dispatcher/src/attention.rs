//! How soon the poller looks again when no hint comes, and whether it wants any.
//!
//! A commit that gives a hint waits, on PostgreSQL, for every other commit that gives one. So hints are for a poller that
//! is asleep: one that has just found something looks again by itself, soon and then ever later, and asks for hints once it
//! has found nothing for a moment. Those ticks go on meanwhile, because a transaction that saw the poller awake may commit
//! after it fell asleep: its message then waits about three times as long as the transaction took.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use outbox_schema::store::Wakeups;
use outbox_schema::{Store, StoreError};
use tokio::sync::{Notify, watch};

use crate::pauses::Pauses;

/// The wait after the first poll that finds nothing, where the database gives hints and where it does not, and by what it grows
/// with each that follows.
const SOON_IF_HINTED: Duration = Duration::from_micros(250);
const SOON: Duration = Duration::from_millis(1);
const GROWTH: u32 = 4;

/// Who waits so long for the next poll is asleep.
const A_NAP: Duration = Duration::from_millis(16);

/// What the poller and its ear for the database's hints know of each other.
#[derive(Debug)]
pub struct Attention {
    /// Whether there are any.
    hinted: bool,
    /// Polls in a row that found nothing.
    in_vain: AtomicU32,
    asleep: watch::Sender<bool>,
}

impl Attention {
    /// That of a poller whose database gives hints, or does not.
    pub fn new(hinted: bool) -> Self {
        Self { hinted, in_vain: AtomicU32::default(), asleep: watch::Sender::default() }
    }

    /// Whether it looks again at once after a poll that took all that was due: hints are for who is asleep, so one that counts
    /// on them learns of what comes next by looking only. Where there are none, polls are dear: on SQLite the file is locked
    /// meanwhile.
    pub fn is_undivided(&self) -> bool {
        self.hinted
    }

    /// A poll found something, or this replica polls no more.
    pub fn rouse(&self) {
        self.in_vain.store(0, Ordering::Relaxed);
        self.sleep(false);
    }

    /// A poll left nothing. Returns how long to wait for a hint until the next.
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

    /// Turns the database's hints into wake-ups, for ever. A hint that is missed is made good by the next poll, so trouble
    /// is only logged.
    pub async fn listen(self: Arc<Self>, store: Arc<dyn Store>, wakeup: Arc<Notify>) {
        let mut pauses = Pauses::new();
        loop {
            let error = match store.wakeups().await {
                Ok(None) => return,
                Ok(Some(mut wakeups)) => {
                    pauses = Pauses::new();
                    self.hear(&mut *wakeups, &wakeup).await
                }
                Err(error) => error,
            };
            tracing::warn!(%error, "wakeup.lost");
            tokio::time::sleep(pauses.next()).await;
        }
    }

    /// Until an error. Whoever falls asleep is woken once as soon as hints are sent: what was committed just before gave none.
    async fn hear(&self, wakeups: &mut dyn Wakeups, wakeup: &Notify) -> StoreError {
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
                Ok(()) if *asleep.borrow() => wakeup.notify_one(),
                Ok(()) => {}
                Err(error) => return error,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_poller_that_finds_nothing_looks_ever_later_and_then_wants_hints() {
        for (hinted, soon) in [(true, SOON_IF_HINTED), (false, SOON)] {
            let attention = Attention::new(hinted);
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
