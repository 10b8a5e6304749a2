//! Whether the loop of this process is alive, for `/healthz`. The end of a term sets the loop free. A loop that does
//! not come back from it is stuck for good, and only a restart helps.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use outbox_store::TermEnd;
use parking_lot::Mutex;

use crate::term::Term;
use crate::term::watchdog::wedged_after;

/// How often a missing loop is checked for. The checks are added up, and no clock is read: a frozen process had no
/// chance to come back.
const LOOK: Duration = Duration::from_millis(500);

/// Detects that the loop is stuck.
#[derive(Debug, Default)]
pub struct Liveness(Mutex<Option<String>>);

/// A guard: the loop is in a term while this lives.
#[derive(Debug)]
pub(crate) struct InTerm {
    liveness: Arc<Liveness>,
    back: Arc<AtomicBool>,
}

impl Liveness {
    /// Why this process should be restarted. None while its loop is alive.
    pub fn stuck(&self) -> Option<String> {
        self.0.lock().clone()
    }

    /// Notes that this process is of no use until it is started again.
    pub(crate) fn stop(&self, why: String) {
        *self.0.lock() = Some(why);
    }

    /// Notes that the loop enters `term`. Dropping the returned guard notes that it has left. Once the term has ended,
    /// the loop has as long as the longest statement may take, and `ttl`.
    pub(crate) fn enter(self: &Arc<Self>, term: &Arc<Term>, ttl: Duration) -> InTerm {
        let in_term = InTerm { liveness: self.clone(), back: Arc::default() };
        let (liveness, back, term) = (self.clone(), in_term.back.clone(), term.clone());
        tokio::spawn(async move {
            term.ended().await;
            let mut missed = Duration::ZERO;
            // A watchdog that has found the loop wedged has waited already.
            while term.end_reason() != Some(TermEnd::Wedged) && missed < wedged_after(ttl) {
                if back.load(Ordering::SeqCst) {
                    return;
                }
                tokio::time::sleep(LOOK).await;
                missed += LOOK;
            }
            let why = format!(
                "the loop of this replica hangs: it has not come back from its term of epoch {}, which has ended. \
                 It polls no more; restart this process",
                term.id.epoch
            );
            let mut stuck = liveness.0.lock();
            if !back.load(Ordering::SeqCst) {
                tracing::error!(epoch = %term.id.epoch, "loop.stuck: restart this process");
                *stuck = Some(why);
            }
        });
        in_term
    }
}

impl Drop for InTerm {
    fn drop(&mut self) {
        let mut stuck = self.liveness.0.lock();
        self.back.store(true, Ordering::SeqCst);
        *stuck = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{SteppedClock, term_of};
    use crate::term::clock::Clock;

    const TTL: Duration = Duration::from_secs(9);

    fn term() -> Arc<Term> {
        let clock = SteppedClock::new();
        term_of(&clock, clock.now().after(TTL))
    }

    #[tokio::test(start_paused = true)]
    async fn a_loop_that_does_not_come_back_from_a_term_is_stuck_until_it_does() {
        let (liveness, term) = (Arc::new(Liveness::default()), term());
        let in_term = liveness.enter(&term, TTL);
        tokio::time::sleep(10 * wedged_after(TTL)).await;
        assert_eq!(liveness.stuck(), None, "its term goes on");
        term.end(TermEnd::Interval);
        tokio::time::sleep(wedged_after(TTL).saturating_sub(Duration::from_secs(1))).await;
        assert_eq!(liveness.stuck(), None, "it has time to come back");
        tokio::time::sleep(Duration::from_secs(2)).await;
        assert!(liveness.stuck().is_some_and(|why| why.contains("restart this process")));
        drop(in_term);
        assert_eq!(liveness.stuck(), None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_loop_that_its_watchdog_gave_up_is_stuck_at_once() {
        let (liveness, term) = (Arc::new(Liveness::default()), term());
        let _in_term = liveness.enter(&term, TTL);
        term.end(TermEnd::Wedged);
        tokio::time::sleep(LOOK).await;
        assert!(liveness.stuck().is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn a_loop_that_comes_back_from_its_terms_is_alive() {
        let liveness = Arc::new(Liveness::default());
        for _ in 0..3 {
            let term = term();
            let in_term = liveness.enter(&term, TTL);
            term.end(TermEnd::Interval);
            tokio::time::sleep(Duration::from_secs(1)).await;
            drop(in_term);
        }
        tokio::time::sleep(10 * wedged_after(TTL)).await;
        assert_eq!(liveness.stuck(), None);
    }
}
