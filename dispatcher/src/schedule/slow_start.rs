//! How many messages destinations in slow start have in flight, all together: those that have never answered.
//!
//! They never hold more than their slots: a half of all while others want some, or their budget where that
//! is more, and else all but an eighth. Their budget is how many may go beside each other. While more wait than have a place in
//! the budget, a message that got no answer for [`PATIENCE`] gives its place up. It stays on the wire, and holds its slot. Where
//! some do so, the budget is a third of the slots that are left, and one at least. So silent destinations in slow start take ever
//! fewer slots each second, and before they have all, the first of them have timed out. The newest destination in slow start that
//! was never tried goes with every other pick: with 32 slots or more and a timeout of 10 s, it waits for two seconds at most.
//!
//! That second counts from the choice: claiming, connecting and waiting for the answer are all part of it. Nobody says before the
//! answer whether a connection is open, so connecting does not count apart. One that is never open holds no place longer either.

use std::collections::BTreeSet;
use std::time::Duration;

use outbox_schema::MessageId;
use outbox_store::Header;
use tokio::time::Instant;

use super::rooms::Capacity;

/// How long a silent destination in slow start keeps its place in the budget while others wait for it.
pub(super) const PATIENCE: Duration = Duration::from_secs(1);

/// How long after the last message to a destination that answers slots count as wanted by others.
const WANTED: Duration = Duration::from_secs(1);

/// What destinations in slow start have in flight.
#[derive(Debug, Default)]
pub(super) struct SlowStart {
    /// Messages with a place in the budget, and since when they are in flight.
    placed: BTreeSet<(Instant, MessageId)>,
    pub(super) in_flight: usize,
    /// The bytes of these messages, and how many of them are large: their bytes are not counted.
    bytes: u64,
    large: usize,
    /// When others last got slots.
    others: Option<Instant>,
}

impl SlowStart {
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

    /// Whether a message of theirs has a place beside their other bytes. They have an eighth of all, and one large message: so
    /// the large wait for no small ones, and these not for them.
    pub(super) fn fits(&self, capacity: &Capacity, bytes: u64) -> bool {
        if is_large(capacity, bytes) { self.large == 0 } else { self.bytes <= capacity.bytes / 16 }
    }

    /// A message for a destination in slow start goes.
    pub(super) fn begin(&mut self, capacity: &Capacity, header: &Header, now: Instant) {
        self.placed.insert((now, header.id));
        self.in_flight += 1;
        if is_large(capacity, header.bytes) {
            self.large += 1;
        } else {
            self.bytes += header.bytes;
        }
    }

    /// A message for a destination in slow start that went then has left flight.
    pub(super) fn end(&mut self, capacity: &Capacity, header: &Header, since: Instant) {
        self.placed.remove(&(since, header.id));
        self.in_flight -= 1;
        if is_large(capacity, header.bytes) {
            self.large -= 1;
        } else {
            self.bytes -= header.bytes;
        }
    }

    /// Those that were silent for too long give their places up. And it is over that others want slots.
    pub(super) fn give_up(&mut self, now: Instant) {
        while self.placed.first().is_some_and(|(since, _)| *since + PATIENCE <= now) {
            self.placed.pop_first();
        }
        self.others.take_if(|at| *at + WANTED <= now);
    }

    /// When more of them may go by themselves: the next one gives its place up, or others want slots no longer.
    pub(super) fn next_to_go(&self) -> Option<Instant> {
        let gives_up = self.placed.first().map(|(since, _)| *since + PATIENCE);
        let not_wanted = self.others.map(|at| at + WANTED);
        gives_up.into_iter().chain(not_wanted).min()
    }
}

/// A message of more than a sixteenth of all bytes.
fn is_large(capacity: &Capacity, bytes: u64) -> bool {
    bytes > capacity.bytes / 16
}
