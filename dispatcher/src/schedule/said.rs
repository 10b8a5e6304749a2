//! What the schedule says of itself: how much waits, when something may go by itself, and why a message does not go.

use std::collections::BTreeMap;

use outbox_schema::MessageId;
use tokio::time::Instant;

use super::Schedule;
use super::lane::{FlowState, Spot};

/// What waits, and what is in flight.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Waiting {
    /// Lanes with something here, in flight, or known to wait in the database.
    pub lanes: usize,
    /// Lanes of which the database has more than is here.
    pub lanes_with_more: usize,
    /// Headers that are here.
    pub headers: usize,
    /// Those of destinations in slow start, and those parked with destinations that take nothing for now.
    pub of_slow_start: usize,
    /// See above.
    pub of_closed: usize,
    /// Messages in flight, and their bytes.
    pub in_flight: usize,
    /// See above.
    pub bytes: u64,
    /// Messages in flight to destinations in slow start.
    pub slow_start_in_flight: usize,
    /// Headers that are here and rows that are held, by why they have not gone.
    pub why: BTreeMap<WhyNot, usize>,
}

/// Why a message does not go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum WhyNot {
    /// It has gone: it is in flight.
    InFlight,
    /// Its claim is not settled, or it is in quarantine.
    Held,
    /// Another message of its ordering key goes first.
    Key,
    /// Its destination has what it may have in flight.
    Full,
    /// Its destination takes nothing for now.
    Closed,
    /// It is large, and waits for bytes, or stands behind such a one.
    Bytes,
    /// Its destination has never answered: destinations in slow start have what they may have.
    SlowStart,
    /// Others have their turns, or go before it in its lane.
    Turn,
}

impl WhyNot {
    /// All reasons for which a message waits that is not in flight.
    pub const ALL: [Self; 7] =
        [Self::Held, Self::Key, Self::Full, Self::Closed, Self::Bytes, Self::SlowStart, Self::Turn];

    /// The reason in a word, as metrics have it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InFlight => "in_flight",
            Self::Held => "held",
            Self::Key => "key",
            Self::Full => "full",
            Self::Closed => "closed",
            Self::Bytes => "bytes",
            Self::SlowStart => "strangers",
            Self::Turn => "turn",
        }
    }
}

impl Schedule {
    /// Why a message that is here, held or in flight does not go. None: nothing is known of it.
    pub fn why_not(&self, id: MessageId) -> Option<WhyNot> {
        if self.held.contains_key(&id) {
            return Some(WhyNot::Held);
        }
        Some(match self.known.get(&id)?.1 {
            Spot::InFlight => WhyNot::InFlight,
            Spot::Gate => WhyNot::Key,
            Spot::Flow(flow, _) => self.why_not_of(flow),
        })
    }

    fn why_not_of(&self, flow: usize) -> WhyNot {
        let flow = &self.flows[flow];
        match flow.state {
            FlowState::Parked { closed: true, .. } => WhyNot::Closed,
            FlowState::Parked { closed: false, .. } => WhyNot::Full,
            FlowState::Heavy { .. } => WhyNot::Bytes,
            FlowState::Open if flow.in_slow_start => WhyNot::SlowStart,
            FlowState::Open => WhyNot::Turn,
        }
    }

    /// When something may go by itself that cannot go now.
    pub fn next_opening(&self) -> Option<Instant> {
        let asked_again = self.alarms.first().map(|(at, _)| *at);
        let more_slow_start = self.slow_start.next_to_go().filter(|_| self.slow_start_wait());
        let others_left = self.turns.shared_until.filter(|_| self.channels.iter().any(|channel| !channel.is_idle()));
        [asked_again, more_slow_start, others_left, self.left_until].into_iter().flatten().min()
    }

    /// Whether nothing waits here, and nothing is known to wait in the database.
    pub fn is_empty(&self) -> bool {
        self.counts.here == 0 && !self.has_more() && !self.skipped && self.left_until.is_none()
    }

    /// Whether messages for this destination wait here.
    pub fn has_some_for(&self, destination: &str) -> bool {
        self.destination_of.contains_key(destination)
    }

    /// Whether so many more headers find a place.
    pub fn has_place_for(&self, headers: usize) -> bool {
        self.counts.here + headers <= self.capacity.headers
    }

    /// Messages in flight.
    pub fn in_flight(&self) -> usize {
        self.flights.len()
    }

    /// Slots that are free.
    pub fn free_slots(&self) -> usize {
        self.flights.free_slots()
    }

    /// The messages here for a destination, by what they wait for. Those behind another of their ordering key are not counted.
    pub fn waiting_for(&self, destination: &str) -> BTreeMap<WhyNot, usize> {
        let flows = self.destination_of.get(destination).map(|number| &self.destinations[*number].flows);
        let mut why = BTreeMap::new();
        for number in flows.into_iter().flatten() {
            *why.entry(self.why_not_of(*number)).or_default() += self.flows[*number].queue.len();
        }
        why
    }

    /// What waits, and what is in flight. It looks at all flows.
    pub fn waiting(&self) -> Waiting {
        let mut why = BTreeMap::new();
        for (number, flow) in &self.flows {
            *why.entry(self.why_not_of(number)).or_default() += flow.queue.len();
        }
        let others = [(WhyNot::Key, self.counts.behind_gates), (WhyNot::Held, self.held.len())];
        why.extend(others.into_iter().filter(|(_, headers)| *headers > 0));
        Waiting {
            lanes: self.lanes.len(),
            lanes_with_more: self.more.len(),
            headers: self.counts.here,
            of_slow_start: self.counts.for_slow_start,
            of_closed: self.counts.closed,
            in_flight: self.flights.len(),
            bytes: self.flights.bytes(),
            slow_start_in_flight: self.slow_start.in_flight,
            why,
        }
    }
}
