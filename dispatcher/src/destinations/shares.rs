//! What is kept for destinations that have less in flight than others, so that those which are many, or answer late, do not take all.
//!
//! Seven eighths of the slots, divided by the destinations in use, are the *share* of each. Whoever finds slots free may have
//! more than that (see `window`). Where few are free, an eighth is kept: a half of it for destinations with less than their share,
//! the other half for those with nothing in flight. A destination that fills its share there wants more: then nobody else gets
//! more than its own, until a claim finds less than there is room for. Where shares would be smaller than [`LEAST_SHARE`], all
//! that is kept is for those with nothing in flight.

use outbox_schema::Message;
use tokio::time::Instant;

use super::Destinations;
use super::destination::Destination;
use crate::in_flight::Kept;

/// No destination is kept to a smaller share.
const LEAST_SHARE: usize = 8;

impl Destinations {
    /// What is kept for destinations that have answered: an eighth of the slots and bytes that no slow destination holds. Nothing is
    /// kept where there is only one.
    pub fn kept(&self) -> Kept {
        let (now, share, state) = (Instant::now(), self.share(), self.state());
        if self.slots(&state).alone {
            return Kept::default();
        }
        let slow = state.known.values().filter(|destination| destination.is_slow(now)).map(Destination::in_flight);
        let (slots, bytes) = slow.fold((0, 0), |held, of| (held.0 + of.0, held.1 + of.1));
        Kept {
            slots: self.slots.saturating_sub(slots) / 8,
            bytes: self.max_bytes.saturating_sub(bytes) / 8,
            shared: share.is_some(),
        }
    }

    /// The share of each destination, in messages in flight. None where it would be less than the least.
    pub(super) fn share(&self) -> Option<usize> {
        let (now, state) = (Instant::now(), self.state());
        let in_use = state.known.values().filter(|destination| destination.shares(now)).count();
        Some((self.slots - self.slots / 8) / in_use.max(1)).filter(|share| *share >= LEAST_SHARE)
    }

    /// Whether one of the destinations of these messages, which were just claimed, has its whole share now.
    pub fn fills_a_share(&self, messages: &[Message]) -> bool {
        let Some(share) = self.share() else { return false };
        let state = self.state();
        let fills = |message: &Message| {
            state.known.get(&message.destination).is_some_and(|destination| destination.in_flight().0 >= share)
        };
        messages.iter().any(fills)
    }
}
