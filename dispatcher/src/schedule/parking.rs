//! Destinations: the flows that wait for room at theirs.
//!
//! A flow whose destination has no room is parked with it, and nobody looks at it again before there is reason to. With each answer
//! two of them are tried, and with each message that goes, one more while there is room. Each parked destination is also asked again
//! when it opens by itself, and every [`ASK_AGAIN`]: what gave it room may have told nobody.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::Schedule;
use super::lane::{Flow, FlowState};
use super::ring::Entry;
use super::rooms::Standing;

/// How often a destination without room is asked again, at least.
pub(super) const ASK_AGAIN: Duration = Duration::from_secs(1);

/// A destination of messages that are here.
#[derive(Debug, Default)]
pub(super) struct Destination {
    pub(super) name: Arc<str>,
    /// Whether it has never answered.
    pub(super) stranger: bool,
    /// Its flows.
    pub(super) flows: BTreeSet<usize>,
    /// Its flows that wait for room, in the order in which they came.
    pub(super) parked: BTreeMap<u64, usize>,
    /// When it is asked again. There is such a time while flows are parked.
    pub(super) alarm: Option<Instant>,
    /// Whether it waits to be looked at again, since it answered.
    pub(super) stirred: bool,
    /// In which take it was last asked what room it has for each channel, and what it has been given since.
    asked: u64,
    answers: Vec<(usize, Standing)>,
    given: usize,
}

impl Destination {
    pub(super) fn new(name: Arc<str>) -> Self {
        Self { name, ..Self::default() }
    }

    /// What it may get of a channel beside what the present take gave it. It is asked once in each take.
    pub(super) fn standing(&mut self, take: u64, channel: usize, ask: impl FnOnce(&str) -> Standing) -> Standing {
        if self.asked != take {
            (self.asked, self.given) = (take, 0);
            self.answers.clear();
        }
        let known = self.answers.iter().find(|(of, _)| *of == channel).map(|(_, standing)| *standing);
        let standing = known.unwrap_or_else(|| {
            let standing = ask(&self.name);
            self.answers.push((channel, standing));
            standing
        });
        match standing {
            Standing::Room(room) if room <= self.given => Standing::Full,
            Standing::Room(room) => Standing::Room(room - self.given),
            Standing::Full | Standing::Closed { .. } => standing,
        }
    }

    /// Notes that the present take gave it a message. Says whether it has room for others that are parked.
    pub(super) fn given(&mut self) -> bool {
        self.given += 1;
        let has_room = |standing: &Standing| matches!(standing, Standing::Room(room) if *room > self.given);
        !self.parked.is_empty() && self.answers.iter().any(|(_, standing)| has_room(standing))
    }
}

impl Schedule {
    /// Parks a flow of a lane that has its turn with its destination, which is asked again then.
    pub(super) fn park(&mut self, flow: usize, closed: bool, until: Instant) {
        self.unlist(flow);
        let (place, destination) = (self.place(), self.flows[flow].destination);
        self.set_state(flow, FlowState::Parked { place, closed }, |_| true);
        self.destinations[destination].parked.insert(place, flow);
        self.set_alarm(destination, until);
    }

    /// The next flow that is parked with a destination takes part in turns again.
    pub(super) fn unpark(&mut self, destination: usize, now: Instant) {
        if let Some((_, &flow)) = self.destinations[destination].parked.first_key_value() {
            self.reopen(flow);
        }
        if !self.destinations[destination].parked.is_empty() && self.destinations[destination].alarm.is_none() {
            self.set_alarm(destination, now + ASK_AGAIN);
        }
    }

    /// A flow takes part in the turns of its lane, or in those of strangers.
    pub(super) fn reopen(&mut self, flow: usize) {
        let Flow { lane, destination, .. } = self.flows[flow];
        self.unlist(flow);
        self.set_state(flow, FlowState::Open, |_| true);
        let stranger = self.destinations[destination].stranger;
        self.change(flow, |flow| flow.stranger = stranger);
        self.fill_again(flow);
        // A lane that waited for its destination, and has credit left, goes on with its turn.
        self.list(flow);
        self.enter(lane, if self.lanes[lane].credit > 0 { Entry::Fresh } else { Entry::Last });
    }

    /// Has a destination with parked flows asked again then, or earlier.
    pub(super) fn set_alarm(&mut self, destination: usize, at: Instant) {
        let alarm = &mut self.destinations[destination].alarm;
        if alarm.is_none_or(|earlier| at < earlier) {
            if let Some(earlier) = alarm.replace(at) {
                self.alarms.remove(&(earlier, destination));
            }
            self.alarms.insert((at, destination));
        }
    }

    /// A flow of a lane that has its turn waits for bytes.
    pub(super) fn is_heavy(&mut self, flow: usize) {
        self.unlist(flow);
        let place = self.place();
        self.set_state(flow, FlowState::Heavy { place }, |_| true);
        self.heavy.insert(place, flow);
        self.flights.reserve();
    }

    pub(super) fn no_longer_heavy(&mut self, place: u64) {
        if self.heavy.first_key_value().is_some_and(|(first, _)| *first == place) {
            self.flights.end_reservation();
        }
        self.heavy.remove(&place);
        if !self.heavy.is_empty() {
            self.flights.reserve();
        }
    }

    /// Changes the state of a flow where that is as asked.
    pub(super) fn set_state(&mut self, flow: usize, state: FlowState, from: impl Fn(FlowState) -> bool) {
        let was = self.flows[flow].state;
        if !from(was) {
            return;
        }
        match was {
            FlowState::Open => {}
            FlowState::Parked { place, .. } => {
                let destination = self.flows[flow].destination;
                self.destinations[destination].parked.remove(&place);
            }
            FlowState::Heavy { place } => self.no_longer_heavy(place),
        }
        self.change(flow, |flow| flow.state = state);
    }
}
