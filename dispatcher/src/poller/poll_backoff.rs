//! How soon the poller looks again when no wake-up comes, and whether it wants wake-ups.
//!
//! On PostgreSQL, a commit that gives a wake-up waits for every other commit that gives one. So wake-ups are for a poller
//! that is idle. A poller that has just found rows looks again by itself, soon at first and then ever later. It asks
//! for wake-ups once it has found nothing for a moment. It goes on looking by itself, since a transaction that saw it
//! active may commit after it became idle. The message of that transaction waits about three times as long as the
//! transaction took.

use std::sync::Arc;
use std::time::Duration;

use crate::poller::wake_ups::WakeUpListener;

/// The wait after the first poll that finds nothing, with wake-ups and without, and the factor by which it grows with each
/// further poll.
const SOON_IF_WOKEN: Duration = Duration::from_micros(250);
const SOON: Duration = Duration::from_millis(1);
const GROWTH: u32 = 4;

/// A poller that waits this long for its next poll is idle.
const IDLE_FROM: Duration = Duration::from_millis(16);

/// How soon the poller looks again. The loop alone has it, and shows by its listener whether it is idle.
#[derive(Debug)]
pub(crate) struct PollBackoff {
    /// Whether the poller counts on wake-ups. If so, it polls sooner again. Not on SQLite, where a poll locks the file.
    expects_wake_ups: bool,
    /// Polls in a row that found nothing.
    in_vain: u32,
    listener: Arc<WakeUpListener>,
}

impl PollBackoff {
    /// That of a poller who counts on wake-ups, or does not. `listener` takes them.
    pub(crate) fn new(expects_wake_ups: bool, listener: Arc<WakeUpListener>) -> Self {
        Self { expects_wake_ups, in_vain: 0, listener }
    }

    /// Notes that this replica polls from now on.
    pub(crate) fn begin(&self) {
        self.listener.set_polling(true);
    }

    /// Takes note that the replica polls no more.
    pub(crate) fn leave(&mut self) {
        self.listener.set_polling(false);
        self.reset();
    }

    /// A poll found something.
    pub(crate) fn reset(&mut self) {
        self.in_vain = 0;
        self.listener.set_idle(false);
    }

    /// A poll left nothing. Returns how long to wait for a wake-up until the next.
    pub(crate) fn found_nothing(&mut self) -> Duration {
        let soon = if self.expects_wake_ups { SOON_IF_WOKEN } else { SOON };
        let wait = soon.saturating_mul(GROWTH.saturating_pow(self.in_vain));
        self.in_vain = self.in_vain.saturating_add(1);
        self.listener.set_idle(wait >= IDLE_FROM);
        wait
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::Notify;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_wake_up_wakes_a_poller_that_is_idle_and_none_that_is_active() {
        let wakeup = Arc::<Notify>::default();
        let listener = Arc::new(WakeUpListener::new(wakeup.clone()));
        let mut backoff = PollBackoff::new(true, listener.clone());
        assert!(!listener.wake(), "this replica does not poll");
        backoff.begin();
        let woken = async || tokio::time::timeout(IDLE_FROM, wakeup.notified()).await.is_ok();
        assert!(listener.wake() && !woken().await, "it is active");
        while backoff.found_nothing() < IDLE_FROM {}
        assert!(listener.wake() && woken().await, "it is idle");
        backoff.reset();
        assert!(listener.wake() && !woken().await, "it has found something");
        backoff.leave();
        assert!(!listener.wake(), "its term is over");
    }

    #[test]
    fn a_poller_that_finds_nothing_looks_ever_later_and_then_wants_wake_ups() {
        for (expects_wake_ups, soon) in [(true, SOON_IF_WOKEN), (false, SOON)] {
            let listener = Arc::new(WakeUpListener::new(Arc::default()));
            let mut backoff = PollBackoff::new(expects_wake_ups, listener.clone());
            let mut expected = soon;
            while expected < IDLE_FROM {
                assert_eq!(backoff.found_nothing(), expected);
                assert!(!listener.is_idle(), "{expected:?}");
                expected *= GROWTH;
            }
            assert_eq!(backoff.found_nothing(), expected);
            assert!(listener.is_idle());
            (0..100).for_each(|_| assert!(backoff.found_nothing() > expected));

            backoff.reset();
            assert!(!listener.is_idle());
            assert_eq!(backoff.found_nothing(), soon);
        }
    }
}
