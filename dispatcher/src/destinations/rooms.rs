//! What a schedule asks about destinations, and what it is told of them.

use std::collections::{HashMap, HashSet};

use parking_lot::MutexGuard;
use tokio::time::Instant;

use super::destination::{Closed, Destination, Situation, Standing};
use super::stirred::Stirred;
use super::{Destinations, Limits, State};
use crate::poller::channels::Channels;
use crate::schedule;
use crate::schedule::Rooms;

/// Answers a schedule while it chooses. Nothing changes meanwhile.
#[derive(Debug)]
pub struct RoomsNow<'a> {
    destinations: &'a Destinations,
    channels: &'a Channels,
    state: MutexGuard<'a, State>,
    at: Situation,
    /// What holds whole channels, as far as it was asked for.
    held: HashMap<String, Option<schedule::Standing>>,
    /// Destinations that may take nothing, as far as only the database knows.
    unsure: HashSet<String>,
}

impl Destinations {
    /// Answers a schedule that chooses messages for these channels.
    pub fn rooms<'a>(&'a self, channels: &'a Channels) -> RoomsNow<'a> {
        self.bound();
        let state = self.state();
        let at = self.situation(&state);
        RoomsNow { destinations: self, channels, state, at, held: HashMap::new(), unsure: HashSet::new() }
    }

    /// Of which destinations a schedule is to be told.
    pub fn stirred(&self) -> Stirred {
        std::mem::replace(&mut self.state().stirred, Stirred { listens: true, ..Stirred::default() })
    }

    /// Waits until a schedule is to be told of one.
    ///
    /// # Cancel safety
    /// Safe: nothing is taken.
    pub async fn stirs(&self) {
        self.stirs.notified().await;
    }

    /// Notes whether messages of destinations in slow start wait for more of their budget.
    pub fn more_slow_start_wait(&self, wait: bool) {
        self.state().slow_start.is_wanted(wait);
    }
}

impl RoomsNow<'_> {
    /// The destinations that were asked about and may take nothing, as far as only the database knows.
    pub fn unsure(self) -> Vec<String> {
        self.unsure.into_iter().collect()
    }

    /// What holds all of a channel.
    fn holds(&mut self, channel: &str) -> Option<schedule::Standing> {
        if let Some(held) = self.held.get(channel) {
            return *held;
        }
        let standing = self.state.find_mut(channel).map(|known| known.standing(&self.at));
        let held = match standing {
            Some(Standing::Closed(closed)) if closed.holds_a_channel() => {
                Some(told(&Standing::Closed(closed), &self.at))
            }
            Some(Standing::Closed(_) | Standing::Room(_) | Standing::Full) | None => None,
        };
        self.held.insert(channel.to_owned(), held);
        held
    }
}

impl Rooms for RoomsNow<'_> {
    fn standing(&mut self, channel: &str, destination: &str, _now: Instant) -> schedule::Standing {
        if let Some(held) = self.holds(channel) {
            return held;
        }
        let doubts = self.state.evicted_until.is_some_and(|until| until > self.at.now);
        let at = self.at;
        let most = self.state.allowed.get(channel).map_or(usize::MAX, Limits::most);
        match self.state.find_mut(destination) {
            Some(known) if doubts && known.is_unsure() => {}
            Some(known) => {
                let idle = known.in_flight().0 == 0;
                return match known.standing(&at) {
                    Standing::Room(room) => schedule::Standing::Room(room.min(most)),
                    // No answer of its own gives it room again: it is asked about soon.
                    Standing::Full | Standing::Closed(Closed::Slow { .. } | Closed::Probing) if idle => {
                        schedule::Standing::Closed { until: Some(at.now + ASKED_AGAIN) }
                    }
                    standing => told(&standing, &at),
                };
            }
            None if !doubts => {
                let limits = self.state.allowed.get(channel).copied().unwrap_or_default();
                let slots = self.destinations.slots;
                let is_own = destination == channel;
                return schedule::Standing::Room(if is_own {
                    limits.own_room(slots)
                } else {
                    limits.first_room(slots)
                });
            }
            None => {}
        }
        self.unsure.insert(destination.to_owned());
        schedule::Standing::Closed { until: None }
    }

    fn in_slow_start(&mut self, destination: &str) -> bool {
        let of_the_settings = self.state.allowed.contains_key(destination);
        self.state.find(destination).map_or(!of_the_settings, Destination::in_slow_start)
    }

    fn budget_of_slow_start(&mut self) -> usize {
        self.state.slow_start.allowed()
    }

    fn room_for_anyone(&mut self, _now: Instant) -> usize {
        if self.state.evicted_until.is_some_and(|until| until > self.at.now) || self.state.known.len() > FEW {
            return 0;
        }
        let State { allowed, known, .. } = &mut *self.state;
        if allowed.values().any(|limits| *limits != Limits::default()) {
            return 0;
        }
        let first = allowed.values().map(|limits| limits.first_room(self.destinations.slots));
        let others = known.values_mut().map(|destination| match destination.standing(&self.at) {
            Standing::Room(room) => room,
            Standing::Full | Standing::Closed(_) => 0,
        });
        first.chain(others).min().unwrap_or_default()
    }

    fn largest(&self) -> u64 {
        self.channels.terms().iter().map(|terms| terms.max_message_bytes).max().unwrap_or_default()
    }

    fn most_bytes(&self, channel: &str) -> Option<u64> {
        Some(self.channels.get(channel)?.max_message_bytes)
    }

    fn fair(&self, channel: &str) -> bool {
        self.channels.get(channel).is_none_or(|channel| channel.fair)
    }
}

/// Where more destinations than this are in use, nothing is claimed unseen.
const FEW: usize = 64;

/// How soon a schedule asks again about a destination that has no room and nothing in flight.
const ASKED_AGAIN: std::time::Duration = std::time::Duration::from_millis(50);

/// What a schedule is told of a destination in this standing.
fn told(standing: &Standing, at: &Situation) -> schedule::Standing {
    match standing {
        Standing::Room(room) => schedule::Standing::Room(*room),
        Standing::Full | Standing::Closed(Closed::Probing | Closed::Slow { .. }) => schedule::Standing::Full,
        Standing::Closed(
            Closed::Paused { remaining, .. } | Closed::Broken { remaining } | Closed::OverRate { step: remaining },
        ) => schedule::Standing::Closed { until: Some(at.now + *remaining) },
    }
}

impl State {
    fn find(&self, name: &str) -> Option<&Destination> {
        self.known.get(name).or_else(|| self.idle.get(name))
    }

    fn find_mut(&mut self, name: &str) -> Option<&mut Destination> {
        let Self { known, idle, .. } = self;
        known.get_mut(name).or_else(|| idle.get_mut(name))
    }
}
