//! How much one call may ask of the database: what took too long is tried smaller.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A call that failed sooner than this did not fail for its size.
const SLOW: Duration = Duration::from_secs(1);

/// The most that one call asks for, as the calls before it show. Without a slow one there is no bound.
#[derive(Debug)]
pub(crate) struct Measure {
    /// How long a call may take: `lease.ttl`. After that its term may be over.
    patience: Duration,
    /// [`u64::MAX`]: no bound.
    most: AtomicU64,
}

impl Measure {
    /// No bound yet.
    pub(crate) fn new(patience: Duration) -> Self {
        Self { patience, most: AtomicU64::new(u64::MAX) }
    }

    /// What a call may ask for that would ask for so much.
    pub(crate) fn of(&self, wanted: u64) -> u64 {
        wanted.min(self.most.load(Ordering::Relaxed))
    }

    /// A call that asked for so much has failed after this time. Says whether it took too long.
    pub(crate) fn failed(&self, asked: u64, took: Duration) -> bool {
        if took >= SLOW {
            self.halve(asked);
        }
        took >= SLOW
    }

    /// A call was answered that brought so much. After one that made use of the bound, and was quick, the next asks for some more.
    pub(crate) fn worked(&self, brought: u64, took: Duration) {
        let most = self.most.load(Ordering::Relaxed);
        if took >= self.patience && brought > 0 {
            self.halve(brought);
        } else if took < self.patience / 4 && brought >= most / 2 {
            self.most.store(most.saturating_add((most / 8).max(1)), Ordering::Relaxed);
        }
    }

    fn halve(&self, size: u64) {
        self.most.store((size / 2).max(1), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TTL: Duration = Duration::from_secs(10);
    const QUICK: Duration = Duration::from_millis(50);

    #[test]
    fn what_takes_too_long_is_tried_smaller_until_it_is_one() {
        let measure = Measure::new(TTL);
        let mut tried = Vec::new();
        while measure.of(20) > 1 {
            tried.push(measure.of(20));
            assert!(measure.failed(measure.of(20), TTL));
        }
        assert_eq!((tried, measure.of(20)), (vec![20, 10, 5, 2], 1));
        assert!(measure.failed(1, TTL));
        assert_eq!(measure.of(20), 1);
    }

    #[test]
    fn a_call_that_fails_at_once_does_not_fail_for_its_size() {
        let measure = Measure::new(TTL);
        assert!(!measure.failed(100, QUICK));
        assert_eq!(measure.of(100), 100);
    }

    #[test]
    fn an_answer_that_came_late_makes_the_next_call_smaller() {
        let measure = Measure::new(TTL);
        measure.worked(0, TTL);
        assert_eq!(measure.of(100), 100, "it did not take long for its size");
        measure.worked(100, TTL);
        assert_eq!(measure.of(100), 50);
        measure.worked(50, TTL / 3);
        assert_eq!(measure.of(100), 50, "neither quick nor late");
    }

    #[test]
    fn the_bound_rises_slowly_where_it_is_used_and_calls_are_quick() {
        let measure = Measure::new(TTL);
        measure.failed(200, TTL);
        for (brought, most) in [(10, 100), (50, 112), (112, 126), (0, 126)] {
            measure.worked(brought, QUICK);
            assert_eq!(measure.of(1_000), most);
        }
    }
}
