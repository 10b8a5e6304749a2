//! Who goes next.
//!
//! The database shows due rows by their *headers*. Here they wait for their turn, in memory, and [`Schedule::take`] says which are
//! claimed next. It knows no database and no clock: it is told what was found, what becomes of messages, and the time.
//!
//! **Whose message goes next?** Channels take turns, and within a channel its *lanes*: its tenants. A turn is 4 credits: a message
//! costs one, and one more for each full 16 KiB. A lane that had nothing here, and little in flight, goes before those that wait for
//! their next turn. Within a lane the message of the highest priority goes first, and of these the one due for longest, among those
//! that can go.
//!
//! **Why not mine?** [`Schedule::why_not`] says it for a message that is here:
//! - Its destination has no room: what that has in flight is what it may have, or it takes nothing for now. The message is parked with
//!   it, and holds up no other destination of its lane.
//! - Another message of its ordering key goes first.
//! - Its destination has never answered, and such *strangers* have what they may have in flight, all together.
//! - It is large, and waits for bytes: what becomes free is kept for it.
//! - Its row belongs to a claim that is not settled, or is a suspect.
//! - Others have their turns. While slots are scarce, the last eighth is for lanes with little in flight.
//!
//! What is not here waits in the database. Memory is bounded, whatever is due: a lane notes the *place* up to which all of its rows
//! are known, and is fed behind it as it runs low. Rows of others that found no place make another round over all lanes necessary
//! ([`Schedule::take_skipped`]).
//!
//! **Invariant:** a row is here once, or in flight, never both. It leaves flight with its mark, or when its claim is refused, so that
//! no other claim can have it.
//!
//! Read `rooms` (what is asked of destinations), `lane` (what a lane and its flows are), `ring` (turns) and `turns` (a take) first.
//! Then how headers come and go: `looks`, `feeding`, `buffer`, `keys` and `fate`. The rest is what holds messages back: `parking`,
//! `flight` (slots and bytes) and `strangers`. `said` tells all that to people.

mod buffer;
mod destination;
mod fate;
mod feeding;
mod flight;
mod keys;
mod lane;
mod looks;
mod parking;
mod ring;
mod rooms;
mod said;
mod strangers;
#[cfg(test)]
mod tests;
mod turns;

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

use outbox_schema::{Header, Lane, MessageId, Revision};
use slab::Slab;
use tokio::time::Instant;

use self::destination::Destination;
use self::flight::Flights;
use self::keys::{Gate, KeyName};
use self::lane::{Counts, Flow, LaneState, Spot};
pub use self::looks::{Added, Shows, Unseen};
use self::ring::{Channel, Turns};
pub use self::rooms::{Capacity, Rooms, Standing};
pub use self::said::{Waiting, WhyNot};
use self::strangers::Strangers;

/// Headers of due rows, and whose turn it is.
#[derive(Debug, Default)]
pub struct Schedule {
    capacity: Capacity,
    /// Where each row is that is here or in flight.
    known: HashMap<MessageId, (Revision, Spot)>,
    /// Rows that are not free to go, and their headers where a look has met them.
    held: HashMap<MessageId, Option<Header>>,
    channels: Vec<Channel>,
    lanes: Slab<LaneState>,
    lane_of: HashMap<Lane, usize>,
    flows: Slab<Flow>,
    flow_of: HashMap<(usize, usize), usize>,
    destinations: Slab<Destination>,
    destination_of: HashMap<Arc<str>, usize>,
    keys: HashMap<KeyName, Gate>,
    /// Flows whose first message waits for bytes. The first of them has the reservation.
    heavy: BTreeMap<u64, usize>,
    /// When destinations are asked again.
    alarms: BTreeSet<(Instant, usize)>,
    /// Destinations of which something may have changed since the last take.
    changed: Vec<usize>,
    flights: Flights,
    strangers: Strangers,
    counts: Counts,
    /// Lanes of which the database has more than is here, and those of them that run low.
    more: BTreeSet<usize>,
    hungry: VecDeque<usize>,
    /// Lanes of which rows for strangers were left in the database.
    left_strangers: BTreeSet<usize>,
    turns: Turns,
    /// A counter: places are given in its order.
    tickets: u64,
    /// Whether rows were left in the database of which nothing here tells, and when such rows may go that had to wait.
    skipped: bool,
    left_until: Option<Instant>,
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
        (self.flights, self.strangers) = (old.flights, old.strangers);
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
