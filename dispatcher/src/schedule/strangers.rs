//! How many messages strangers have in flight, all together. A stranger is a destination that has never answered.
//!
//! Strangers never hold more than their slots: a half of all while others want some, and else all but an eighth. Their budget is
//! how many may go beside each other. While more wait than have a place in the budget, a message that got no answer for
//! [`PATIENCE`] gives its place up. It stays on the wire, and holds its slot. Where some do so, the budget is a third of the
//! slots that are left, and one at least. So silent strangers take ever fewer slots each second, and before they have all, the
//! first of them have timed out. The newest stranger that was never tried goes with every other pick: with 32 slots or more and a
//! timeout of 10 s, it waits for two seconds at most.

use std::collections::BTreeSet;
use std::time::Duration;

use outbox_schema::{Header, MessageId};
use tokio::time::Instant;

use super::rooms::Capacity;

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
        let budget = if wanted { budget } else { budget.max(all / 3) };
        let budget = match self.in_flight - self.placed.len() {
            0 => budget,
            silent => budget.min(all.saturating_sub(silent) / 3).max(1),
        };
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
