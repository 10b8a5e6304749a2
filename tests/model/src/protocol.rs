//! The protocol, and what is changed in it to see that a promise breaks.

use crate::guards::Guard;

/// The protocol under such circumstances, with all of its guards or without some.
#[derive(Debug, Clone, Copy)]
pub struct Protocol {
    /// The guards that are missing.
    pub without: &'static [Guard],
    /// Terms that are begun at most.
    pub terms: usize,
    /// `dispatch.max_in_flight`.
    pub max_in_flight: usize,
    /// What becomes of a row in doubt.
    pub in_doubt: Policy,
    /// Messages that are due.
    pub messages: usize,
    /// Whether the two messages have the same ordering key.
    pub ordered: bool,
    /// What may go wrong.
    pub faults: Faults,
    /// Whether the database fails over, once, to a standby that lags. Then no process dies: only it knows what it sent in the lag.
    pub fails_over: bool,
}

/// `in_doubt` of the channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Policy {
    /// Sent again.
    Resend,
    /// Kept as a dead letter.
    DeadLetter,
}

/// What may go wrong besides the loss of the lease, which always may.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Faults {
    /// Nothing: every request is answered, and marked within the settling time.
    None,
    /// Processes die, answers are lost; only a process that stands still between gate and write does not outlast
    /// the settling time.
    Crashes,
    /// That as well.
    Freezes,
}

impl Protocol {
    /// Whether the protocol has this guard.
    pub fn has(&self, guard: Guard) -> bool {
        !self.without.contains(&guard)
    }

    /// The same, without these guards.
    #[must_use]
    pub fn without(self, guards: &'static [Guard]) -> Self {
        Self { without: guards, ..self }
    }
}
