//! What is in flight: slots and bytes, each until the mark. And the reservation for a large message.
//!
//! A message that does not fit beside the bytes in flight keeps its turn: the first such one gets a reservation. What becomes
//! free from then on is kept for it, and what was free before may be used by others. So nothing overtakes it for ever, and little
//! waits for it. A message larger than all bytes that there are goes where no others are in flight.

use std::collections::HashMap;

use outbox_schema::MessageId;
use outbox_store::Header;
use tokio::time::Instant;

/// The messages in flight.
#[derive(Debug, Default)]
pub(super) struct Flights {
    slots: usize,
    max_bytes: u64,
    rows: HashMap<MessageId, Flight>,
    bytes: u64,
    /// Of the free bytes, those that are kept for the first message that waits for some. None: none waits.
    reserved: Option<u64>,
}

/// A message in flight.
#[derive(Debug)]
pub(super) struct Flight {
    pub(super) header: Header,
    /// The number of its lane.
    pub(super) lane: usize,
    /// Since when it is in flight, where its destination was in slow start then.
    pub(super) slow_start_since: Option<Instant>,
}

impl Flights {
    pub(super) fn new(slots: usize, max_bytes: u64) -> Self {
        Self { slots, max_bytes, ..Self::default() }
    }

    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Flight> {
        self.rows.values()
    }

    pub(super) fn get_mut(&mut self, id: MessageId) -> Option<&mut Flight> {
        self.rows.get_mut(&id)
    }

    pub(super) fn free_slots(&self) -> usize {
        self.slots.saturating_sub(self.rows.len())
    }

    fn free_bytes(&self) -> u64 {
        self.max_bytes.saturating_sub(self.bytes)
    }

    /// Whether slots or bytes are so scarce that the rest is for those with little in flight.
    pub(super) fn are_scarce(&self) -> bool {
        self.free_slots() <= self.slots / 8 || self.free_bytes() <= self.max_bytes / 8
    }

    /// How many messages of so many bytes fit.
    pub(super) fn how_many_fit(&self, bytes: u64) -> usize {
        let fit = usize::try_from(self.free_bytes() / bytes.max(1)).unwrap_or(usize::MAX);
        fit.min(self.free_slots())
    }

    /// Whether a message fits beside those in flight, and beside what is kept for another.
    pub(super) fn fits(&self, bytes: u64) -> bool {
        let alone = self.bytes == 0 && self.reserved.unwrap_or(0) == 0;
        bytes == 0 || alone || bytes <= self.free_bytes().saturating_sub(self.reserved.unwrap_or(0))
    }

    /// Whether the message fits for which it is kept.
    pub(super) fn fits_at_last(&self, bytes: u64) -> bool {
        bytes <= self.free_bytes() || self.bytes == 0
    }

    /// Keeps bytes that become free from now on, for the message that waits first.
    pub(super) fn reserve(&mut self) {
        self.reserved.get_or_insert(0);
    }

    /// Whether bytes are kept for a message.
    #[cfg(test)]
    pub(super) fn keeps_bytes(&self) -> bool {
        self.reserved.is_some()
    }

    /// Keeps no more than these.
    pub(super) fn reserve_at_most(&mut self, bytes: u64) {
        self.reserved = self.reserved.map(|reserved| reserved.min(bytes));
    }

    /// Keeps none any longer: the message has gone.
    pub(super) fn end_reservation(&mut self) {
        self.reserved = None;
    }

    pub(super) fn begin(&mut self, flight: Flight) {
        self.bytes += flight.header.bytes;
        self.rows.insert(flight.header.id, flight);
    }

    /// Takes out a message whose fate is known.
    pub(super) fn end(&mut self, id: MessageId) -> Option<Flight> {
        let flight = self.rows.remove(&id)?;
        self.bytes -= flight.header.bytes;
        if let Some(reserved) = &mut self.reserved {
            *reserved += flight.header.bytes;
        }
        Some(flight)
    }
}
