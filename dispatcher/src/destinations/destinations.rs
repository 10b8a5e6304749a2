//! The destinations that this process sends to.

use std::collections::HashMap;
use std::time::Duration;

use outbox_store::destination::{Aside, ByHandChange, DestinationState};
use outbox_store::{Message, Pause, PauseKind};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;
use tokio::time::Instant;

use super::credentials::Credentials;
use super::destination::{Destination, Situation};
use super::memory::MOST_REMEMBERED;
use super::slow_start::Budget;
use super::stirred::Stirred;
use super::window::Slots;
use crate::channels::Limits;

/// The destinations that this process sends to.
#[derive(Debug)]
pub struct Destinations {
    pub(super) slots: usize,
    max_bytes: u64,
    state: Mutex<State>,
    /// Given when a schedule is to be told of a destination.
    pub(super) stirs: Notify,
    /// Notified when rows are to be brought back.
    pub(super) recovery: Notify,
    /// Held while pauses are written to the database or ended there, so that none is ended that is newer than the reason.
    pauses: tokio::sync::Mutex<()>,
}

#[derive(Debug)]
pub(super) struct State {
    /// The limits of each configured channel.
    pub(super) allowed: HashMap<String, Limits>,
    /// Destinations that messages are sent to now, or that something holds.
    pub(super) known: HashMap<String, Destination>,
    /// Idle destinations, of which only what they are is remembered. Nobody looks at all of them. Some of them may take
    /// nothing: see [`evicted`].
    pub(super) idle: HashMap<String, Destination>,
    /// Until when a destination may take nothing that is not among the known.
    pub(super) evicted_until: Option<Instant>,
    pub(super) credentials: Credentials,
    /// The destinations of which a schedule is to be told.
    pub(super) stirred: Stirred,
    /// What destinations in slow start may have in flight.
    pub(super) slow_start: Budget,
    /// The last known change by hand of each destination.
    by_hand: HashMap<String, i64>,
    /// A counter: how often rows may have begun to wait that were deferred because their channel was not configured.
    configured: u64,
    /// The value of that counter when such rows were last brought back.
    brought_back: u64,
    /// The number of batches of deferrals under way, whose end is not known yet. There may be two: the deferral worker of an
    /// ended term may be at its last step while the next one is at its first.
    pub(super) moving: u32,
}

impl Destinations {
    /// No destination is known yet. `allowed` are the limits of the channels, `slots` is `dispatch.max_in_flight` and
    /// `max_bytes` the setting of that name.
    pub fn new(slots: usize, max_bytes: u64, allowed: HashMap<String, Limits>) -> Self {
        let state = Mutex::new(State {
            allowed,
            known: HashMap::new(),
            idle: HashMap::new(),
            evicted_until: None,
            credentials: Credentials::default(),
            stirred: Stirred::default(),
            slow_start: Budget::of(slots),
            by_hand: HashMap::new(),
            configured: 0,
            brought_back: 0,
            moving: 0,
        });
        let pauses = tokio::sync::Mutex::new(());
        Self { slots, max_bytes, state, stirs: Notify::new(), recovery: Notify::new(), pauses }
    }

    /// Keeps others from writing pauses to the database, and from ending them there, for as long as the guard lives.
    pub async fn pauses(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.pauses.lock().await
    }

    /// Notes that the database has these pauses now.
    pub fn written(&self, pauses: &[&Pause]) {
        let mut state = self.state();
        let State { known, idle, .. } = &mut *state;
        for Pause { destination, .. } in pauses {
            if let Some(destination) = known.get_mut(destination).or_else(|| idle.get_mut(destination)) {
                destination.written();
            }
        }
        self.recovery.notify_one();
    }

    /// Takes over the limits of new channels. Rows that waited for one of these channels come back.
    pub fn reconfigure(&self, allowed: HashMap<String, Limits>) {
        let now = Instant::now();
        let mut state = self.state();
        let State { known, idle, .. } = &mut *state;
        for destination in known.values_mut().chain(idle.values_mut()) {
            destination.reconfigure(&allowed, now);
        }
        state.allowed = allowed;
        state.credentials = Credentials::default();
        state.configured += 1;
        state.stirred.all = true;
        self.recovery.notify_one();
        self.has_answered(state);
    }

    /// Notes that rows were deferred because their channel was not configured, where it has been configured meanwhile.
    pub fn configured_meanwhile<'a>(&self, put_off: impl IntoIterator<Item = &'a String>) {
        let mut state = self.state();
        if put_off.into_iter().any(|channel| state.allowed.contains_key(channel)) {
            state.configured += 1;
            self.recovery.notify_one();
        }
    }

    /// Takes over what earlier terms, and operators, left in the database.
    pub fn take_over(&self, states: &[DestinationState]) {
        let now = Instant::now();
        let mut state = self.state();
        state.configured += 1;
        state.stirred.all = true;
        state.begin(states, now);
        for left in states {
            state.destination(&left.destination, now).take_over(left, now);
        }
    }

    /// Notes that these messages were claimed.
    pub fn admitted(&self, messages: &[Message]) {
        let now = Instant::now();
        let mut state = self.state();
        let State { allowed, known, idle, .. } = &mut *state;
        for message in messages {
            let destination = &message.destination;
            let channel = &message.channel;
            if !known.contains_key(destination) {
                let new = idle.remove(destination).unwrap_or_else(|| {
                    let limits = allowed.get(channel).copied().unwrap_or_default();
                    if destination == channel {
                        Destination::of(channel, allowed, limits.own_room(self.slots), now).of_the_settings()
                    } else {
                        Destination::of(channel, allowed, limits.first_room(self.slots), now)
                    }
                });
                known.insert(destination.clone(), new);
            }
            if let Some(known) = known.get_mut(destination) {
                known.admitted(message, allowed, now);
            }
        }
    }

    /// Notes that more messages wait for these destinations than are on their way.
    pub fn more_wait_for<'a>(&self, destinations: impl IntoIterator<Item = &'a str>) {
        let mut state = self.state();
        for destination in destinations {
            if let Some(known) = state.known.get_mut(destination) {
                known.more_wait();
            }
        }
    }

    /// Notes that no attempt is made to deliver the admitted `message`, which weighed so much when it was admitted.
    pub fn released(&self, message: &Message, weight: u64) {
        let mut state = self.state();
        if let Some(destination) = state.known.get_mut(&message.destination) {
            destination.released(weight, Instant::now());
        }
        state.stirred.note(&message.destination);
        self.has_answered(state);
    }

    /// Notes that a destination may have room.
    pub(super) fn has_answered(&self, state: MutexGuard<'_, State>) {
        drop(state);
        self.stirs.notify_one();
    }

    /// Whether rows wait for their turn at a destination that works. They are deferred or on hold, and nothing is
    /// wrong.
    pub fn holds_back(&self) -> bool {
        let mut holds_back = self.state().moves();
        self.survey(|_, destination, at| holds_back |= destination.holds_back(at));
        holds_back
    }

    /// The configured channels and the value of the counter, while rows may wait that were deferred because their
    /// channel was not configured.
    pub(super) fn configured(&self) -> Option<(u64, Vec<String>)> {
        let state = self.state();
        (state.configured > state.brought_back).then(|| (state.configured, state.allowed.keys().cloned().collect()))
    }

    /// Notes that the rows that waited at that value of the counter are back.
    pub(super) fn configured_are_back(&self, as_of: u64) {
        self.state().brought_back = as_of;
    }

    /// The rows to defer, so that they do not stand in the way of others.
    pub(super) fn aside(&self) -> Vec<Aside> {
        let mut aside = Vec::new();
        self.survey(|name, destination, at| aside.extend(destination.aside(name, at)));
        aside
    }

    /// Notes how many rows of each destination were deferred.
    pub(super) fn put_aside(&self, aside: &[Aside], moved: &[u64]) {
        let now = Instant::now();
        let mut state = self.state();
        for (one, moved) in aside.iter().zip(moved) {
            if let Some(destination) = state.known.get_mut(&one.destination) {
                destination.put_aside(one, *moved, now);
            }
        }
    }

    /// Destinations that take messages again, and that have deferred rows.
    pub(super) fn recovered(&self) -> Vec<String> {
        let mut recovered = Vec::new();
        self.survey(|name, destination, at| {
            if destination.has_recovered(at) {
                recovered.push(name.to_owned());
            }
        });
        recovered
    }

    /// Whether a destination that took messages again does so still.
    pub(super) fn has_recovered(&self, name: &str) -> bool {
        let mut state = self.state();
        let at = self.situation(&state);
        state.known.get_mut(name).is_some_and(|destination| destination.has_recovered(&at))
    }

    /// Waits until a breaker has closed, so that its pause in the database ends soon.
    pub(super) async fn recovery(&self) {
        self.recovery.notified().await;
    }

    /// Notes that the deferred rows of a destination are back.
    pub(super) fn brought_back(&self, name: &str) {
        if let Some(destination) = self.state().known.get_mut(name) {
            destination.brought_back();
        }
    }

    /// Takes in what operators paused and resumed, with what holds the destination since. A change is taken in only once.
    pub(super) fn heard(&self, changes: Vec<ByHandChange>) {
        let now = Instant::now();
        let mut state = self.state();
        for ByHandChange { destination: name, stamp, pause, failures } in changes {
            if state.by_hand.get(&name) == Some(&stamp) {
                continue;
            }
            let is_paused = matches!(pause, Some((PauseKind::Manual, _)));
            let destination = state.destination(&name, now);
            // What was resumed may have a pause again that is not written yet. Then the next look shows it.
            if !is_paused && destination.has_unwritten() {
                continue;
            }
            // Nothing else of it is asked of the database: an answer might be older than the change.
            destination.is_sure();
            if !is_paused {
                destination.resume(now);
            }
            destination.held(pause, failures, now);
            state.stirred.all = true;
            tracing::info!(destination = name, paused = is_paused, "destination.changed_by_hand");
            state.by_hand.insert(name, stamp);
        }
    }

    /// Rates that rise and are in use, and how long they have been rising.
    pub(super) fn rising(&self) -> Vec<(String, Duration)> {
        let now = Instant::now();
        let mut state = self.state();
        let known = state.known.iter_mut();
        known.filter_map(|(name, destination)| Some((name.clone(), destination.rising_to_save(now)?))).collect()
    }

    /// Makes destinations idle that nothing is sent to, and evicts those of which nothing must be kept.
    pub(super) fn prune(&self) {
        let now = Instant::now();
        let mut state = self.state();
        let State { known, idle, .. } = &mut *state;
        idle.extend(known.extract_if(|_, destination| destination.is_idle(now)));
        idle.retain(|_, destination| !(destination.is_evictable(now) && destination.is_quiet(now)));
        if let Some(too_many) = idle.len().checked_sub(MOST_REMEMBERED).filter(|too_many| *too_many > 0) {
            // Those first that never answered, then those that are idle for longest.
            let worth = |destination: &Destination| (destination.in_slow_start(), destination.unused_for(now));
            let mut worths: Vec<_> = idle.values().map(worth).collect();
            let (_, least, _) = worths.select_nth_unstable_by(too_many - 1, |one, other| other.cmp(one));
            let least = *least;
            idle.retain(|_, destination| worth(destination) < least);
        }
    }

    /// Looks at every destination, all at one moment.
    pub(super) fn survey(&self, mut look: impl FnMut(&str, &mut Destination, &Situation)) {
        let mut state = self.state();
        let at = self.situation(&state);
        for (name, destination) in &mut state.known {
            look(name, destination, &at);
        }
    }

    pub(super) fn situation(&self, state: &State) -> Situation {
        let (now, slots) = (Instant::now(), self.slots(state));
        let (mut slow, mut slow_bytes) = (0, 0);
        for destination in state.known.values() {
            slow += destination.in_flight_if_slow(now);
            slow_bytes += destination.bytes_if_slow(now);
        }
        Situation {
            now,
            slots,
            for_the_slow: slots.of_the_slow().saturating_sub(slow),
            bytes_for_the_slow: (self.max_bytes / 2).saturating_sub(slow_bytes),
        }
    }

    pub(super) fn slots(&self, state: &State) -> Slots {
        Slots { all: self.slots, alone: state.known.len() + state.idle.len() <= 1 }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

impl State {
    /// Whether rows are being deferred, or being brought back to a channel that was configured.
    fn moves(&self) -> bool {
        self.moving > 0 || self.configured > self.brought_back
    }

    /// The destination of this name, which may be that of a channel.
    pub(super) fn destination(&mut self, name: &str, now: Instant) -> &mut Destination {
        let Self { allowed, known, idle, .. } = self;
        known
            .entry(name.to_owned())
            .or_insert_with(|| idle.remove(name).unwrap_or_else(|| Self::nothing_known(name, allowed, now)))
    }

    /// A destination of this name of which nothing is known.
    pub(super) fn nothing_known(name: &str, allowed: &HashMap<String, Limits>, now: Instant) -> Destination {
        let destination = Destination::of(name, allowed, 0, now);
        if allowed.contains_key(name) { destination.of_the_settings() } else { destination }
    }
}
