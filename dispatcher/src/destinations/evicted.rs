//! Destinations that take nothing for now, where they are very many.
//!
//! Those that were met last are known. The others are idle, or evicted: of these only the database knows. Most of their rows
//! are deferred, so that no look meets them. While there is one, the database is asked about each destination that a look meets
//! and that is not known. Nothing goes there before the answer.

use std::time::Duration;

use outbox_store::destination::{DestinationState, MOST_TOLD};
use tokio::time::Instant;

use super::destination::Destination;
use super::{Destinations, State};

/// The most destinations with nothing in flight that are looked at.
const MOST_IDLE: usize = 1_024;

/// Only where there are more than this, some of them become idle, so that it is not done for each.
pub(super) const MANY_IDLE: usize = MOST_IDLE + 128;

/// How long the database may know of a pause that this process was not told of: longer than a term.
const LONG: Duration = Duration::from_hours(24 * 365);

/// Whether this is the name of a channel. All channels that are paused stay known: a look meets rows, and asks about
/// destinations.
fn names_a_channel(name: &str) -> bool {
    !name.contains(':')
}

impl Destinations {
    /// Makes destinations idle where too many are known that have nothing in flight. Returns whether a destination may take
    /// nothing that is not among the known.
    pub(super) fn bound(&self) -> bool {
        let now = Instant::now();
        let mut state = self.state();
        state.bound(now);
        state.evicted_until.is_some_and(|until| until > now)
    }

    /// Those of these destinations, which a look met, that may take nothing as far as only the database knows.
    pub fn in_doubt(&self, met: &[String]) -> Vec<String> {
        let now = Instant::now();
        let state = self.state();
        if state.evicted_until.is_none_or(|until| until <= now) {
            return Vec::new();
        }
        met.iter().filter(|name| state.is_unsure_of(name)).cloned().collect()
    }

    /// Takes over what the database keeps of these destinations.
    pub fn recall(&self, names: &[String], states: &[DestinationState]) {
        let now = Instant::now();
        let mut state = self.state();
        for left in states {
            // Somebody may have changed it by hand since the database was asked.
            if state.is_unsure_of(&left.destination) {
                state.destination(&left.destination, now).take_over(left, now);
            }
        }
        let State { allowed, known, idle, stirred, .. } = &mut *state;
        for name in names {
            let known = known.get_mut(name);
            let nothing_known = || State::nothing_known(name, allowed, now);
            known.unwrap_or_else(|| idle.entry(name.clone()).or_insert_with(nothing_known)).is_sure();
            stirred.note(name);
        }
    }
}

impl State {
    /// Whether only the database may know of something that holds the destination.
    fn is_unsure_of(&self, name: &str) -> bool {
        let known = self.known.get(name).or_else(|| self.idle.get(name));
        known.is_none_or(Destination::is_unsure)
    }

    /// Forgets what the database knows better, as a term begins that is told of these destinations. Those that are paused come first:
    /// where the last one is not, none is missing.
    pub(super) fn begin(&mut self, told: &[DestinationState], now: Instant) {
        let is_full = told.len() >= usize::try_from(MOST_TOLD).unwrap_or(usize::MAX);
        let is_paused = |last: &DestinationState| last.pause.is_some_and(|(_, remaining)| !remaining.is_zero());
        let unsure = is_full && told.last().is_some_and(is_paused);
        self.evicted_until = unsure.then(|| now + LONG);
        for destination in self.known.values_mut().chain(self.idle.values_mut()) {
            destination.forget(unsure, now);
        }
        if unsure {
            // The database is to be asked about them.
            let idle = |name: &str, known: &Destination| !names_a_channel(name) && known.idle_since().is_some();
            self.idle.extend(self.known.extract_if(|name, known| idle(name, known)));
        }
    }

    fn bound(&mut self, now: Instant) {
        let Self { known, idle, evicted_until, .. } = self;
        if known.len() <= MANY_IDLE {
            return;
        }
        let idle_since = |name: &str, known: &Destination| known.idle_since().filter(|_| !names_a_channel(name));
        let mut since: Vec<Instant> = known.iter().filter_map(|(name, known)| idle_since(name, known)).collect();
        if since.len() <= MANY_IDLE {
            return;
        }
        let mut too_many = since.len() - MOST_IDLE;
        let (_, last, _) = since.select_nth_unstable(too_many - 1);
        let last = *last;
        let rest = known.extract_if(|name, known| {
            let is_one = too_many > 0 && idle_since(name, known).is_some_and(|since| since <= last);
            too_many -= usize::from(is_one);
            is_one
        });
        for (name, mut destination) in rest {
            *evicted_until = destination.held_until(now).max(*evicted_until);
            idle.insert(name, destination);
        }
    }
}
