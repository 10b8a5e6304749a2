//! Destinations for tests, headers, and a check that a schedule counts right.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use outbox_schema::MessageId;
use outbox_store::{Header, Lane, Revision, WalkStart};
use tokio::time::Instant;

use crate::schedule::lane::FlowState;
use crate::schedule::lane::{Counts, Spot};
use crate::schedule::{Added, Schedule, Shows};
use crate::schedule::{Capacity, Rooms, Standing};

/// Destinations as a test wants them.
#[derive(Debug)]
pub(super) struct FakeRooms {
    /// What destinations may have in flight. Others: `window`.
    pub(super) windows: BTreeMap<String, usize>,
    pub(super) window: usize,
    pub(super) closed: BTreeMap<String, Option<Instant>>,
    pub(super) slow_start: BTreeSet<String>,
    pub(super) budget: usize,
    pub(super) unfair: bool,
    /// What each has in flight, by its name.
    pub(super) in_flight: BTreeMap<String, usize>,
    /// How often a standing was asked for.
    pub(super) asked: usize,
}

impl Default for FakeRooms {
    fn default() -> Self {
        Self {
            windows: BTreeMap::new(),
            window: usize::MAX,
            closed: BTreeMap::new(),
            slow_start: BTreeSet::new(),
            budget: 8,
            unfair: false,
            in_flight: BTreeMap::new(),
            asked: 0,
        }
    }
}

impl Rooms for FakeRooms {
    fn standing(&mut self, _: &str, destination: &str, now: Instant) -> Standing {
        self.asked += 1;
        if let Some(until) = self.closed.get(destination)
            && until.is_none_or(|until| until > now)
        {
            return Standing::Closed { until: *until };
        }
        let window = if self.slow_start.contains(destination) { 2 } else { self.window };
        let window = self.windows.get(destination).copied().unwrap_or(window);
        match window.saturating_sub(self.in_flight.get(destination).copied().unwrap_or(0)) {
            0 => Standing::Full,
            room => Standing::Room(room),
        }
    }

    fn in_slow_start(&mut self, destination: &str) -> bool {
        self.slow_start.contains(destination)
    }

    fn budget_of_slow_start(&mut self) -> usize {
        self.budget
    }

    fn room_for_anyone(&mut self, _: Instant) -> usize {
        if self.closed.is_empty() { self.window.min(2) } else { 0 }
    }

    fn largest(&self) -> u64 {
        1 << 10
    }

    fn most_bytes(&self, channel: &str) -> Option<u64> {
        (channel != "unknown").then_some(1 << 20)
    }

    fn fair(&self, _: &str) -> bool {
        !self.unfair
    }
}

/// A schedule, its destinations, and the time.
#[derive(Debug)]
pub(super) struct Bench {
    pub(super) schedule: Schedule,
    pub(super) rooms: FakeRooms,
    pub(super) now: Instant,
    /// The destination of each message in flight.
    flying: BTreeMap<i64, Arc<str>>,
}

impl Bench {
    pub(super) fn new(slots: usize) -> Self {
        Self::of(Capacity { slots, bytes: 1 << 30, headers: 1 << 16 })
    }

    pub(super) fn of(capacity: Capacity) -> Self {
        let (schedule, rooms) = (Schedule::new(capacity), FakeRooms::default());
        Self { schedule, rooms, now: Instant::now(), flying: BTreeMap::new() }
    }

    pub(super) fn add(&mut self, page: impl IntoIterator<Item = Header>) -> Added {
        self.look(page, Shows::AllUpTo(WalkStart::default()))
    }

    pub(super) fn look(&mut self, page: impl IntoIterator<Item = Header>, shows: Shows) -> Added {
        let (keyed, page): (Vec<_>, _) = page.into_iter().partition(|row| row.key.is_some());
        let mut added = self.schedule.add(page, shows, &mut self.rooms, self.now);
        let keyed = self.heads(keyed);
        (added.new, added.passed_over) = (added.new + keyed.new, added.passed_over + keyed.passed_over);
        added
    }

    /// The first rows of some keys.
    pub(super) fn heads(&mut self, step: impl IntoIterator<Item = Header>) -> Added {
        let added = self.schedule.add_keys(step.into_iter().collect(), &mut self.rooms, self.now);
        self.schedule.check();
        added
    }

    /// The next messages to be claimed.
    pub(super) fn take(&mut self, most: usize) -> Vec<i64> {
        self.take_headers(most).iter().map(|header| header.id.0).collect()
    }

    pub(super) fn take_headers(&mut self, most: usize) -> Vec<Header> {
        let batch = self.schedule.take(most, &mut self.rooms, self.now);
        self.schedule.check();
        for header in &batch {
            *self.rooms.in_flight.entry(header.destination.to_string()).or_default() += 1;
            assert!(self.flying.insert(header.id.0, header.destination.clone()).is_none(), "in flight twice");
        }
        batch
    }

    /// A message is in flight that was claimed unseen.
    pub(super) fn flying(&mut self, id: i64, destination: &str) {
        *self.rooms.in_flight.entry(destination.to_owned()).or_default() += 1;
        self.flying.insert(id, destination.into());
    }

    /// A claim did not return this row.
    pub(super) fn refuse(&mut self, id: i64) {
        let destination = self.flying.remove(&id).expect("a message in flight");
        *self.rooms.in_flight.get_mut(&*destination).expect("it has some in flight") -= 1;
        self.schedule.refused(MessageId(id));
        self.schedule.check();
    }

    /// Destinations answer, and nothing is marked yet.
    pub(super) fn answer(&mut self, ids: impl IntoIterator<Item = i64>) {
        for id in ids {
            let destination = self.flying.remove(&id).expect("a message in flight");
            *self.rooms.in_flight.get_mut(&*destination).expect("it has some in flight") -= 1;
            self.schedule.destination_changed(&destination);
        }
    }

    /// Destinations answer, and the marks are written.
    pub(super) fn finish(&mut self, ids: impl IntoIterator<Item = i64>) {
        for id in ids {
            self.answer([id]);
            self.schedule.finished(MessageId(id), false);
        }
        self.schedule.check();
    }
}

/// A row of a tenant for the destination of its name.
pub(super) fn row(id: i64, tenant: &str) -> Header {
    let name: Arc<str> = tenant.into();
    Header {
        id: MessageId(id),
        revision: Revision(0),
        priority: 0,
        at: id,
        lane: Lane { channel: "http".into(), tenant: name.clone() },
        destination: name,
        key: None,
        bytes: 100,
    }
}

/// A row of a tenant for that destination.
pub(super) fn row_to(id: i64, tenant: &str, destination: &str) -> Header {
    Header { destination: destination.into(), ..row(id, tenant) }
}

/// A row with an ordering key.
pub(super) fn keyed(id: i64, tenant: &str, key: &str) -> Header {
    Header { key: Some(key.into()), ..row(id, tenant) }
}

impl Schedule {
    /// Checks all that is counted, and that everything that can go is in some turn.
    pub(super) fn check(&self) {
        let mut counts = Counts::default();
        let mut here: BTreeMap<usize, (usize, usize, usize, usize)> = BTreeMap::new();
        for (number, flow) in &self.flows {
            assert!(!flow.queue.is_empty(), "an empty flow is over");
            let headers = flow.queue.len();
            counts.here += headers;
            let closed = matches!(flow.state, FlowState::Parked { closed: true, .. });
            counts.closed += if closed { headers } else { 0 };
            counts.for_slow_start += if flow.in_slow_start && !closed { headers } else { 0 };
            let of_lane = here.entry(flow.lane).or_default();
            of_lane.0 += headers;
            of_lane.3 += 1;
            let lane = &self.lanes[flow.lane];
            let listed = if flow.in_slow_start { &lane.open_to_slow_start } else { &lane.open };
            let entry = (*flow.queue.first_key_value().expect("it has one").0, number);
            assert_eq!(listed.contains(&entry), flow.state == FlowState::Open, "{flow:?}");
            let of = &self.destinations[flow.destination];
            assert!(of.flows.contains(&number));
            match flow.state {
                FlowState::Open => {
                    of_lane.1 += headers;
                    of_lane.2 += if flow.in_slow_start { headers } else { 0 };
                }
                FlowState::Parked { ticket, .. } => assert_eq!(of.parked.get(&ticket), Some(&number)),
                FlowState::Heavy { ticket } => assert_eq!(self.heavy.get(&ticket), Some(&number)),
            }
            for (rank, header) in &flow.queue {
                assert_eq!(self.known.get(&header.id).map(|known| known.1), Some(Spot::Flow(number, *rank)));
            }
        }
        for (key, gate) in &self.keys {
            assert!(!gate.is_over(), "a gate without messages is over: {key:?}");
            counts.here += gate.waiting.len();
            counts.behind_gates += gate.waiting.len();
        }
        assert_eq!(counts, self.counts);
        assert!(counts.here <= self.capacity.headers, "too many headers");
        for (number, lane) in &self.lanes {
            let counted = here.get(&number).copied().unwrap_or_default();
            assert_eq!((lane.here, lane.ready, lane.ready_for_slow_start, lane.flows), counted);
            assert_eq!(lane.open.is_empty(), lane.turn.is_none());
            assert_eq!(lane.open_to_slow_start.is_empty(), lane.slow_start_turn.is_none());
            assert!(!lane.in_turn && (!lane.is_over() || self.left_slow_start.contains(&number)));
            assert_eq!(lane.more.is_some(), self.more.contains(&number));
        }
        assert_eq!(self.flights.keeps_bytes(), !self.heavy.is_empty(), "bytes are kept for a message that waits");
        for (_, lane) in &self.lanes {
            let first = lane.open_to_slow_start.first().and_then(|(_, flow)| self.flows[*flow].queue.values().next());
            let untried = first.filter(|header| header.revision == Revision(0)).map(|header| header.at);
            assert_eq!(lane.slow_start_turn.and_then(|turn| turn.untried), untried);
        }
        let untried = self.lanes.iter().filter_map(|(_, lane)| lane.slow_start_turn?.untried).count();
        assert_eq!(untried, self.channels.iter().map(|channel| channel.untried.len()).sum::<usize>());
        assert_eq!(self.known.len(), counts.here + self.flights.len());
        for (number, destination) in &self.destinations {
            assert!(!destination.flows.is_empty());
            assert!(destination.parked.is_empty() || destination.alarm.is_some(), "nobody would ask it again");
            assert_eq!(
                destination.alarm.is_some_and(|at| self.alarms.contains(&(at, number))),
                destination.alarm.is_some()
            );
        }
        assert_eq!(self.alarms.len(), self.destinations.iter().filter(|(_, of)| of.alarm.is_some()).count());
        assert!(self.flights.len() <= self.capacity.slots, "more in flight than there are slots");
    }
}
