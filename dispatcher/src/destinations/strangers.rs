//! How many messages strangers may have in flight, all together.
//!
//! It is an eighth of the slots at first. While more wait than that, each stranger that answers promptly lets in one more, up to
//! three quarters of the slots, and one that fails takes an eighth of that back. But never more than an eighth of the slots are on
//! the wire for strangers. The others wait for their places, and not for long: where places do not become free soon, strangers are
//! silent. Those that wait are then given back unsent, and it is an eighth again. So strangers that are silent never hold more.

use std::time::Duration;

use outbox_schema::Message;
use tokio::sync::{Semaphore, SemaphorePermit};

use super::Destinations;
use super::destination::Destination;

/// The longest that a claimed message for a stranger waits for its place on the wire.
const PATIENCE: Duration = Duration::from_millis(100);

/// A stranger that answers within this time of the claim is prompt. Those behind it will not have waited in vain.
const PROMPT: Duration = Duration::from_millis(50);

/// What strangers may have in flight.
#[derive(Debug)]
pub(super) struct Budget {
    first: usize,
    most: usize,
    allowed: usize,
    /// Whether more strangers wait than are allowed.
    wanted: bool,
}

impl Budget {
    /// The budget at first, of so many slots.
    pub(super) fn of(slots: usize) -> Self {
        let first = (slots / 8).max(1);
        Self { first, most: first.max(slots - slots / 4), allowed: first, wanted: false }
    }

    /// How many they may have in flight.
    pub(super) fn allowed(&self) -> usize {
        self.allowed
    }

    /// Notes whether more strangers wait than are allowed.
    pub(super) fn is_wanted(&mut self, wanted: bool) {
        self.wanted = wanted;
    }

    /// Learns from a stranger that answered, so long after the claim.
    pub(super) fn answered(&mut self, after: Duration) {
        if self.wanted && after <= PROMPT {
            self.allowed = (self.allowed + 1).min(self.most);
        }
    }

    /// Learns from a stranger that failed.
    pub(super) fn failed(&mut self) {
        self.allowed = self.first.max(self.allowed - self.allowed / 8);
    }

    /// Learns that a message waited in vain for its place.
    pub(super) fn waited_in_vain(&mut self) {
        self.allowed = self.first;
    }
}

/// A place on the wire for the message of a stranger, until it is dropped.
pub type Place<'a> = SemaphorePermit<'a>;

/// Waits for a place. None where it took too long.
async fn place(places: &Semaphore) -> Option<Place<'_>> {
    tokio::time::timeout(PATIENCE, places.acquire()).await.ok()?.ok()
}

/// Says that too many strangers are silent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Silent;

impl Destinations {
    /// Waits for a place on the wire, where this message is for a stranger.
    ///
    /// # Errors
    /// Too many strangers are silent: the message is not to be sent now.
    pub async fn place(&self, message: &Message) -> Result<Option<Place<'_>>, Silent> {
        if !self.state().known.get(&message.destination).is_some_and(Destination::is_stranger) {
            return Ok(None);
        }
        let place = place(&self.places).await;
        if place.is_none() {
            self.state().strangers.waited_in_vain();
        }
        place.map(Some).ok_or(Silent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strangers_that_answer_promptly_let_in_more_and_those_that_keep_others_waiting_none() {
        let mut budget = Budget::of(512);
        budget.answered(Duration::ZERO);
        assert_eq!(budget.allowed(), 64, "nobody wants more");
        budget.is_wanted(true);
        budget.answered(PROMPT * 2);
        assert_eq!(budget.allowed(), 64, "that was not prompt");
        for _ in 0..1_000 {
            budget.answered(PROMPT);
        }
        assert_eq!(budget.allowed(), 384);
        budget.failed();
        assert_eq!(budget.allowed(), 336);
        budget.waited_in_vain();
        assert_eq!(budget.allowed(), 64);
    }

    #[tokio::test(start_paused = true)]
    async fn a_place_is_waited_for_but_not_for_long() {
        let places = Semaphore::new(1);
        let first = place(&places).await;
        assert!(first.is_some() && place(&places).await.is_none());
        drop(first);
        assert!(place(&places).await.is_some());
    }
}
