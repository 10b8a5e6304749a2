//! How many messages strangers have in flight, all together. A stranger is a destination that has never answered.
//!
//! While others want slots, strangers have a budget, and else all but an eighth of the slots. While more wait than have a place in the
//! budget, a message that got no answer for [`PATIENCE`] gives its place up. It stays in flight: it is on the wire, holds its slot,
//! and counts among the half of all slots that strangers never exceed while others want slots. So N silent strangers keep a new one
//! waiting for N / budget seconds at most until they hold that half, and then for as long as a request may take. The newest of them
//! is tried with every other pick, whatever waits.

use std::collections::BTreeSet;
use std::time::Duration;

use outbox_schema::{Header, MessageId};
use tokio::time::Instant;

use super::Capacity;

/// How long a silent stranger keeps its place in the budget while others wait for it.
pub(super) const PATIENCE: Duration = Duration::from_secs(1);

/// How long after the last message to a destination that answers slots count as wanted by others.
const WANTED: Duration = Duration::from_secs(1);

/// What strangers have in flight.
#[derive(Debug, Default)]
pub(super) struct Strangers {
    /// Messages with a place in the budget, and since when they are in flight.
    placed: BTreeSet<(Instant, MessageId)>,
    pub(super) in_flight: usize,
    bytes: u64,
    /// When others last got slots.
    others: Option<Instant>,
}

impl Strangers {
    /// Notes that others want slots.
    pub(super) fn others_want(&mut self, now: Instant) {
        self.others = Some(now);
    }

    /// How many more may go.
    pub(super) fn room(&self, capacity: &Capacity, budget: usize, now: Instant) -> usize {
        let slots = capacity.slots;
        let wanted = self.others.is_some_and(|at| now.saturating_duration_since(at) < WANTED);
        let all = if wanted { (slots / 2).max(budget) } else { slots - slots / 8 };
        let budget = if wanted { budget } else { all };
        budget.saturating_sub(self.placed.len()).min(all.saturating_sub(self.in_flight))
    }

    /// Whether a message of theirs has a place beside the bytes of others: they have an eighth, or one message.
    pub(super) fn fits(&self, capacity: &Capacity, bytes: u64) -> bool {
        self.bytes == 0 || self.bytes + bytes <= capacity.bytes / 8
    }

    /// A message for a stranger goes.
    pub(super) fn begin(&mut self, header: &Header, now: Instant) {
        self.placed.insert((now, header.id));
        self.in_flight += 1;
        self.bytes += header.bytes;
    }

    /// A message for a stranger that went then has left flight.
    pub(super) fn end(&mut self, header: &Header, since: Instant) {
        self.placed.remove(&(since, header.id));
        self.in_flight -= 1;
        self.bytes -= header.bytes;
    }

    /// Those that were silent for too long give their places up.
    pub(super) fn give_up(&mut self, now: Instant) {
        while self.next_to_give_up().is_some_and(|at| at <= now) {
            self.placed.pop_first();
        }
    }

    /// When the next one may.
    pub(super) fn next_to_give_up(&self) -> Option<Instant> {
        self.placed.first().map(|(since, _)| *since + PATIENCE)
    }
}
