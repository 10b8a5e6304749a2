//! Destinations: the flows that wait for room at theirs.
//!
//! A flow whose destination has no room is parked with it, and nobody looks at it again before there is reason to. With each
//! answer two of them are tried, and with each message that goes, one more while there is room. Each parked destination is also
//! asked again when it opens by itself, and every [`ASK_AGAIN`]: what gave it room may have told nobody.

use std::time::Duration;

use tokio::time::Instant;

use super::Schedule;
use super::lane::{Flow, FlowState};
use super::ring::Entry;

/// How often a destination without room is asked again, at least.
pub(super) const ASK_AGAIN: Duration = Duration::from_secs(1);

/// The most headers of a flow that cannot go.
pub(super) const MOST_PARKED: usize = 256;

impl Schedule {
    /// Parks a flow of a lane that has its turn with its destination, which is asked again then.
    pub(super) fn park(&mut self, flow: usize, closed: bool, until: Instant) {
        self.unlist(flow);
        let (ticket, destination) = (self.ticket(), self.flows[flow].destination);
        self.set_state(flow, FlowState::Parked { ticket, closed }, |_| true);
        self.destinations[destination].parked.insert(ticket, flow);
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

    /// A flow takes part in the turns of its lane, or in those of slow start.
    pub(super) fn reopen(&mut self, flow: usize) {
        let Flow { lane, destination, .. } = self.flows[flow];
        self.unlist(flow);
        self.set_state(flow, FlowState::Open, |_| true);
        let in_slow_start = self.destinations[destination].in_slow_start;
        self.change(flow, |flow| flow.in_slow_start = in_slow_start);
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
    pub(super) fn make_heavy(&mut self, flow: usize) {
        self.unlist(flow);
        let ticket = self.ticket();
        self.set_state(flow, FlowState::Heavy { ticket }, |_| true);
        self.heavy.insert(ticket, flow);
        self.flights.reserve();
    }

    pub(super) fn no_longer_heavy(&mut self, ticket: u64) {
        if self.heavy.first_key_value().is_some_and(|(first, _)| *first == ticket) {
            self.flights.end_reservation();
        }
        self.heavy.remove(&ticket);
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
            FlowState::Parked { ticket, .. } => {
                let destination = self.flows[flow].destination;
                self.destinations[destination].parked.remove(&ticket);
            }
            FlowState::Heavy { ticket } => self.no_longer_heavy(ticket),
        }
        self.change(flow, |flow| flow.state = state);
    }
}
