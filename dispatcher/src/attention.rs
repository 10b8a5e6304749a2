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

/// The wait after the first poll that finds nothing, and by what it grows with each that follows.
const SOON: Duration = Duration::from_millis(1);
const GROWTH: u32 = 4;

/// Polls in a row that found nothing, after which the poller falls asleep.
const DROWSY: u32 = 2;

/// What the poller and its ear for the database's hints know of each other.
#[derive(Debug, Default)]
pub struct Attention {
    /// Polls in a row that found nothing.
    in_vain: AtomicU32,
    asleep: watch::Sender<bool>,
}

impl Attention {
    /// A poll found something, or this replica polls no more.
    pub fn rouse(&self) {
        self.in_vain.store(0, Ordering::Relaxed);
        self.sleep(false);
    }

    /// A poll left nothing. Returns how long to wait for a hint until the next.
    pub fn found_nothing(&self) -> Duration {
        let before = self.in_vain.fetch_add(1, Ordering::Relaxed);
        self.sleep(before >= DROWSY);
        SOON.saturating_mul(GROWTH.saturating_pow(before))
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
        let attention = Attention::default();
        let asleep = attention.asleep.subscribe();
        assert_eq!(attention.found_nothing(), SOON);
        assert_eq!(attention.found_nothing(), SOON * 4);
        assert!(!*asleep.borrow());
        assert_eq!(attention.found_nothing(), SOON * 16);
        assert!(*asleep.borrow());
        (0..100).for_each(|_| assert!(attention.found_nothing() > SOON * 16));

        attention.rouse();
        assert!(!*asleep.borrow());
        assert_eq!(attention.found_nothing(), SOON);
    }
}
