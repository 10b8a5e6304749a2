//! How many messages destinations in slow start may have in flight, all together.
//!
//! It is an eighth of the slots at first. While more wait than that, each destination in slow start that answers promptly lets in
//! one more, up to a half of the slots, and one that fails takes an eighth of that back. The schedule keeps to it, and says how
//! silent ones give up their places (`schedule/slow_start.rs`).

use std::time::Duration;

/// A destination in slow start that answers within this time of the claim is prompt.
const PROMPT: Duration = Duration::from_millis(50);

/// What destinations in slow start may have in flight.
#[derive(Debug)]
pub(super) struct Budget {
    first: usize,
    most: usize,
    allowed: usize,
    /// Whether more destinations in slow start wait than are allowed.
    wanted: bool,
}

impl Budget {
    /// The budget at first, of so many slots.
    pub(super) fn of(slots: usize) -> Self {
        let first = (slots / 8).max(1);
        Self { first, most: first.max(slots / 2), allowed: first, wanted: false }
    }

    /// How many they may have in flight.
    pub(super) fn allowed(&self) -> usize {
        self.allowed
    }

    /// Notes whether more destinations in slow start wait than are allowed.
    pub(super) fn is_wanted(&mut self, wanted: bool) {
        self.wanted = wanted;
    }

    /// Learns from a destination in slow start that answered, so long after the claim.
    pub(super) fn answered(&mut self, after: Duration) {
        if self.wanted && after <= PROMPT {
            self.allowed = (self.allowed + 1).min(self.most);
        }
    }

    /// Learns from a destination in slow start that failed.
    pub(super) fn failed(&mut self) {
        self.allowed = self.first.max(self.allowed - self.allowed / 8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn destinations_in_slow_start_that_answer_promptly_let_in_more_and_those_that_fail_fewer() {
        let mut budget = Budget::of(512);
        budget.answered(Duration::ZERO);
        assert_eq!(budget.allowed(), 64, "nobody wants more");
        budget.is_wanted(true);
        budget.answered(PROMPT * 2);
        assert_eq!(budget.allowed(), 64, "that was not prompt");
        for _ in 0..1_000 {
            budget.answered(PROMPT);
        }
        assert_eq!(budget.allowed(), 256);
        budget.failed();
        assert_eq!(budget.allowed(), 224);
        (0..100).for_each(|_| budget.failed());
        assert_eq!(budget.allowed(), 64);
    }
}
