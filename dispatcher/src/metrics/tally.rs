//! How many attempts ended, and how.

use std::sync::atomic::{AtomicU64, Ordering};

use outbox_store::Outcome;

/// Counts attempts that ended. Reading takes nothing away.
#[derive(Debug, Default)]
pub struct Tally {
    delivered: AtomicU64,
    failed: AtomicU64,
    in_doubt: AtomicU64,
}

/// The counts of a [`Tally`] at one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Messages that receivers accepted.
    pub delivered: u64,
    /// Attempts that failed.
    pub failed: u64,
    /// Attempts among these of which nobody knows how they ended.
    pub in_doubt: u64,
}

impl Tally {
    /// Counts an attempt by its outcome.
    pub fn count(&self, outcome: &Outcome) {
        if *outcome == Outcome::InDoubt {
            self.in_doubt.fetch_add(1, Ordering::Relaxed);
        }
        match outcome {
            Outcome::Delivered { .. } => self.delivered.fetch_add(1, Ordering::Relaxed),
            Outcome::Retry { .. }
            | Outcome::Refused { .. }
            | Outcome::Dead { .. }
            | Outcome::DeadTarget
            | Outcome::InDoubt => self.failed.fetch_add(1, Ordering::Relaxed),
            Outcome::Defer { .. } | Outcome::Unsent => 0,
        };
    }

    /// The counts so far.
    pub fn counts(&self) -> Counts {
        let [delivered, failed, in_doubt] =
            [&self.delivered, &self.failed, &self.in_doubt].map(|count| count.load(Ordering::Relaxed));
        Counts { delivered, failed, in_doubt }
    }
}
