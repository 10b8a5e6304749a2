//! [`Schedule`]: what waits here, and what of it is in flight.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

use outbox_schema::MessageId;
use outbox_store::{Header, Lane, Revision};
use slab::Slab;
use tokio::time::Instant;

use super::destination::Destination;
use super::flight::Flights;
use super::keys::{Gate, KeyName};
use super::lane::{Counts, Flow, LaneState, Spot};
use super::ring::{Channel, Turns};
use super::rooms::Capacity;
use super::slow_start::SlowStart;

/// Headers of due rows, and whose turn it is.
#[derive(Debug, Default)]
pub struct Schedule {
    pub(super) capacity: Capacity,
    /// Where each row is that is here or in flight.
    pub(super) known: HashMap<MessageId, (Revision, Spot)>,
    /// Rows that are not free to go, and their headers where a look has met them.
    pub(super) held: HashMap<MessageId, Option<Header>>,
    pub(super) channels: Vec<Channel>,
    pub(super) lanes: Slab<LaneState>,
    pub(super) lane_of: HashMap<Lane, usize>,
    pub(super) flows: Slab<Flow>,
    pub(super) flow_of: HashMap<(usize, usize), usize>,
    pub(super) destinations: Slab<Destination>,
    pub(super) destination_of: HashMap<Arc<str>, usize>,
    pub(super) keys: HashMap<KeyName, Gate>,
    /// Flows whose first message waits for bytes. The first of them has the reservation.
    pub(super) heavy: BTreeMap<u64, usize>,
    /// When destinations are asked again.
    pub(super) alarms: BTreeSet<(Instant, usize)>,
    /// Destinations of which something may have changed since the last take.
    pub(super) changed: Vec<usize>,
    pub(super) flights: Flights,
    pub(super) slow_start: SlowStart,
    pub(super) counts: Counts,
    /// Lanes of which the database has more than is here, and those of them that run low.
    pub(super) more: BTreeSet<usize>,
    pub(super) hungry: VecDeque<usize>,
    /// Lanes of which rows for destinations in slow start were left in the database.
    pub(super) left_slow_start: BTreeSet<usize>,
    pub(super) turns: Turns,
    /// A counter: places are given in its order.
    pub(super) tickets: u64,
    /// Whether rows were left in the database of which nothing here tells, and when such rows may go that had to wait.
    pub(super) skipped: bool,
    pub(super) left_until: Option<Instant>,
}

impl Schedule {
    /// Nothing is here.
    pub fn new(capacity: Capacity) -> Self {
        Self { capacity, flights: Flights::new(capacity.slots, capacity.bytes), ..Self::default() }
    }

    /// A new term begins: all headers leave. What is in flight stays, and rows that are held stay held.
    pub fn clear(&mut self) {
        let old = std::mem::replace(self, Self::new(self.capacity));
        self.held = old.held.into_keys().map(|id| (id, None)).collect();
        (self.flights, self.slow_start) = (old.flights, old.slow_start);
        self.flights.end_reservation();
        for channel in old.channels {
            self.channel(&channel.name, Some(channel.fair));
        }
        let flying: Vec<Header> = self.flights.iter().map(|flight| flight.header.clone()).collect();
        for header in flying {
            let lane = self.note_in_flight(&header);
            if let Some(flight) = self.flights.get_mut(header.id) {
                flight.lane = lane;
            }
        }
    }
}

#[cfg(test)]
#[path = "tests/mod.rs"]
mod tests;
