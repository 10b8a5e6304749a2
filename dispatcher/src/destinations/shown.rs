//! What this process knows of the destinations that it sends to, for people.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use tokio::sync::watch;

use super::Destinations;
use super::destination::{Destination, Situation, Standing};
use crate::in_flight::InFlight;
use crate::term::Term;

/// A destination as its poller sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct DestinationNow {
    /// The name of the destination.
    pub destination: String,
    /// The messages that are in flight.
    pub in_flight: usize,
    /// The most that may be in flight now.
    pub window: usize,
    /// The messages a second that are allowed now. None: any number.
    pub rate: Option<f64>,
    /// Whether the destination takes more messages.
    pub standing: Standing,
    /// Whether it is tried with a few messages, after it failed.
    pub is_tried: bool,
}

/// What the process knows of its destinations while it polls.
#[derive(Debug, Clone)]
pub struct DestinationsNow {
    destinations: Arc<Destinations>,
    in_flight: Arc<InFlight>,
    led: watch::Receiver<Option<Arc<Term>>>,
}

impl DestinationsNow {
    pub(crate) fn new(
        destinations: Arc<Destinations>,
        in_flight: Arc<InFlight>,
        led: watch::Receiver<Option<Arc<Term>>>,
    ) -> Self {
        Self { destinations, in_flight, led }
    }

    /// The destinations in use by name. None where this process does not poll: what it knows is then of an earlier term.
    pub fn seen(&self) -> Option<Vec<DestinationNow>> {
        self.polls().then(|| self.destinations.shown())
    }

    /// A destination in use. None where it is none, or where this process does not poll.
    pub fn of(&self, name: &str) -> Option<DestinationNow> {
        self.polls().then(|| self.destinations.shown_of(name))?
    }

    /// The messages in flight of each channel that has any. None where this process does not poll.
    pub fn in_flight(&self) -> Option<BTreeMap<String, usize>> {
        self.polls().then(|| self.in_flight.by_channel())
    }

    /// Whether this process polls.
    pub fn polls(&self) -> bool {
        self.led.borrow().as_ref().is_some_and(|term| term.is_on())
    }
}

impl Default for DestinationsNow {
    /// Those of a process that never polls.
    fn default() -> Self {
        let never = watch::Sender::new(None);
        let destinations = Destinations::new(1, 1, HashMap::new());
        Self::new(Arc::new(destinations), Arc::new(InFlight::new(1)), never.subscribe())
    }
}

impl Destinations {
    fn shown_of(&self, name: &str) -> Option<DestinationNow> {
        let mut state = self.state();
        let at = self.situation(&state);
        state.known.get_mut(name).map(|destination| now(name, destination, &at))
    }

    /// The destinations that messages are sent to now, or that something holds, by name.
    pub(super) fn shown(&self) -> Vec<DestinationNow> {
        let mut shown = Vec::new();
        self.survey(|name, destination, at| shown.push(now(name, destination, at)));
        shown.sort_by(|one, other| one.destination.cmp(&other.destination));
        shown
    }
}

fn now(name: &str, destination: &mut Destination, at: &Situation) -> DestinationNow {
    let (standing, is_tried) = (destination.standing(at), destination.is_tried());
    let (in_flight, _) = destination.in_flight();
    let (window, rate) = destination.bounds(at);
    DestinationNow { destination: name.to_owned(), in_flight, window, rate, standing, is_tried }
}
