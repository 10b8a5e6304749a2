//! What each destination may be sent, so that one that is down, slow or over its rate delays its own messages only.
//!
//! A destination (an HTTP origin, an FCM channel) has a window of messages in flight, a breaker, and where its channel says
//! so a rate. What must survive a change of poller is in the database: pauses and breakers are written with the marks that
//! bring them, and `keeper` does the rest beside the loop. The claim passes over what is closed, and takes of all else no
//! more than there is room for.

mod breaker;
mod destination;
mod holds;
mod keeper;
mod limits;
mod rate;
mod window;

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use outbox_adapters::Answer;
use outbox_schema::destination::{Aside, ByHandChange, DestinationState, Room};
use outbox_schema::{Message, Outcome, Pause, PauseKind, Scope};
use tokio::sync::Notify;
use tokio::time::Instant;

use self::breaker::Sign;
use self::destination::{Closed, Destination, Moment, Standing};
pub use self::keeper::{Keeper, LISTEN};
pub use self::limits::Limits;
pub use self::rate::RateLimit;
use self::window::Slots;

/// How far ahead rows are put aside at most: by then they are met again, whatever has become of their destination.
const FAR: Duration = Duration::from_mins(5);

/// A destination of which nothing was heard for so long, and nothing is to be remembered, is forgotten.
const FORGOTTEN: Duration = Duration::from_mins(1);

/// The same where something has failed: what it took since tells a message at fault from a destination that is down.
const FAILURES_FORGOTTEN: Duration = Duration::from_mins(10);

/// Every destination that this process has to do with.
#[derive(Debug)]
pub struct Destinations {
    slots: usize,
    state: Mutex<State>,
    answered: Notify,
    /// Given when rows are to be brought back.
    recovery: Notify,
}

#[derive(Debug, Default)]
struct State {
    /// What each configured channel allows its destinations.
    allowed: HashMap<String, Limits>,
    known: HashMap<String, Destination>,
    /// The last change by hand that was heard of, by destination.
    by_hand: HashMap<String, i64>,
    /// How often rows may have begun to wait that were deferred because nobody had configured their channel.
    configured: u64,
    /// As of which of these times they have been brought back.
    brought_back: u64,
    /// By how many rows are being put aside, of which it is not known yet until when: a term's keeper may be at its last step
    /// while that of the next is at its first.
    moving: u32,
}

/// What a claim must know of destinations.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Admission {
    /// Destinations that take nothing for now.
    pub closed: Vec<String>,
    /// Channels that take nothing for now, wherever it goes.
    pub closed_channels: Vec<String>,
    /// How many of these the others take. One that is not named here takes what its channel says.
    pub rooms: Vec<Room>,
}

/// What came of an attempt for its destination.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Ruling {
    /// The destination is at fault, not the message: it waits so long, and no attempt is counted.
    pub deferred: Option<Duration>,
    /// What is paused from now on.
    pub pause: Option<Pause>,
}

impl Destinations {
    /// None known yet, of channels with these limits; `slots` is `dispatch.max_in_flight`.
    pub fn new(slots: usize, allowed: HashMap<String, Limits>) -> Self {
        let state = Mutex::new(State { allowed, ..State::default() });
        Self { slots, state, answered: Notify::new(), recovery: Notify::new() }
    }

    /// From now on these are the channels. Rows that waited for one of them come back.
    pub fn reconfigure(&self, allowed: HashMap<String, Limits>) {
        let now = Instant::now();
        let mut state = self.state();
        for destination in state.known.values_mut() {
            destination.reconfigure(&allowed, now);
        }
        state.allowed = allowed;
        state.configured += 1;
        drop(state);
        self.recovery.notify_one();
        self.answered.notify_waiters();
    }

    /// Rows were put off because nobody had configured their channel, and meanwhile somebody has.
    pub fn configured_meanwhile<'a>(&self, put_off: impl IntoIterator<Item = &'a String>) {
        let mut state = self.state();
        if put_off.into_iter().any(|channel| state.allowed.contains_key(channel)) {
            state.configured += 1;
            self.recovery.notify_one();
        }
    }

    /// Goes on with what earlier terms, and people, left in the database.
    pub fn take_over(&self, states: &[DestinationState]) {
        let now = Instant::now();
        let mut state = self.state();
        state.configured += 1;
        for destination in state.known.values_mut() {
            destination.forget(now);
        }
        for left in states {
            state.destination(&left.destination, now).take_over(left, now);
        }
    }

    /// What the next claim may take.
    pub fn admission(&self) -> Admission {
        let mut admission = Admission::default();
        self.survey(|name, destination, at| {
            let room = match destination.standing(at) {
                Standing::Closed(closed) => {
                    if closed.holds_a_channel() {
                        admission.closed_channels.push(name.to_owned());
                    }
                    return admission.closed.push(name.to_owned());
                }
                Standing::Full { .. } => 0,
                Standing::Room(room) => u32::try_from(room).unwrap_or(u32::MAX),
            };
            admission.rooms.push(Room { destination: name.to_owned(), room });
        });
        admission
    }

    /// Whether a destination that answers quickly is full, so that a claim brings little before some answers are in.
    pub fn is_full(&self) -> bool {
        let mut full = false;
        self.survey(|_, destination, at| full |= matches!(destination.standing(at), Standing::Full { .. }));
        full
    }

    /// These were claimed.
    pub fn admitted(&self, messages: &[Message]) {
        let now = Instant::now();
        let mut state = self.state();
        let State { allowed, known, .. } = &mut *state;
        for Message { channel, destination, .. } in messages {
            if let Some(known) = known.get_mut(destination) {
                known.admitted(channel, allowed, now);
                continue;
            }
            let first = allowed.get(channel).copied().unwrap_or_default().first_room(self.slots);
            let mut new = Destination::of(channel, allowed, first as usize, now);
            new.admitted(channel, allowed, now);
            known.insert(destination.clone(), new);
        }
    }

    /// An attempt to deliver `message`, admitted before, ended after `took`. No answer can ask for a longer pause than
    /// `longest`.
    pub fn answered(&self, message: &Message, answer: &Answer, took: Duration, longest: Duration) -> Ruling {
        let now = Instant::now();
        let mut state = self.state();
        let mut ruling = Ruling::default();
        let slots = self.slots(&state);
        if let Some(destination) = state.known.get_mut(&message.destination) {
            ruling = destination.answered(&message.destination, sign(message, answer), took, slots, now);
            if destination.comes_back_now(now) {
                self.recovery.notify_one();
            }
        }
        if let Some(asked) = asked(message, answer, longest) {
            state.destination(&asked.destination, now).pause(asked.kind, asked.remaining, now);
            ruling.pause = Some(match ruling.pause.take() {
                // It is tried carefully, but no sooner than it asked for.
                Some(opened) => Pause { remaining: opened.remaining.max(asked.remaining), ..opened },
                None => asked,
            });
        }
        drop(state);
        self.answered.notify_waiters();
        ruling
    }

    /// No attempt is made to deliver `message`, admitted before.
    pub fn released(&self, message: &Message) {
        if let Some(destination) = self.state().known.get_mut(&message.destination) {
            destination.released(Instant::now());
        }
        self.answered.notify_waiters();
    }

    /// Waits until a destination that has no room, or is being probed, has answered; for ever where there is none.
    pub async fn room_made(&self) {
        let answered = self.answered.notified();
        if self.waits_for_answers() {
            answered.await;
        } else {
            std::future::pending::<()>().await;
        }
    }

    /// When claims may bring something again though nothing is answered: a destination takes messages by itself, or has been
    /// silent for so long that others go first.
    pub fn opens_in(&self) -> Option<Duration> {
        let mut soonest = None;
        self.survey(|_, destination, at| {
            soonest = soonest.into_iter().chain(destination.standing(at).opens_in()).min();
        });
        soonest
    }

    /// Whether rows wait for their turn at a destination that works: they are put off, and nothing is wrong.
    pub fn holds_back(&self) -> bool {
        let mut holds_back = self.state().moves();
        self.survey(|_, destination, at| holds_back |= destination.holds_back(at));
        holds_back
    }

    /// The configured channels, and as of when, while rows may wait that were deferred because nobody had configured theirs.
    fn configured(&self) -> Option<(u64, Vec<String>)> {
        let state = self.state();
        (state.configured > state.brought_back).then(|| (state.configured, state.allowed.keys().cloned().collect()))
    }

    /// Those that waited as of then are back.
    fn configured_are_back(&self, as_of: u64) {
        self.state().brought_back = as_of;
    }

    /// What is to be put aside, so that it does not stand in the way of others.
    fn aside(&self) -> Vec<Aside> {
        let mut aside = Vec::new();
        self.survey(|name, destination, at| aside.extend(destination.aside(name, at)));
        aside
    }

    /// So many rows of each were put aside.
    fn put_aside(&self, aside: &[Aside], moved: &[u64]) {
        let now = Instant::now();
        let mut state = self.state();
        for (one, moved) in aside.iter().zip(moved) {
            if let Some(destination) = state.known.get_mut(&one.destination) {
                destination.put_aside(one, *moved, now);
            }
        }
    }

    /// Destinations that take messages again, and whose rows were put aside.
    fn recovered(&self) -> Vec<String> {
        let mut recovered = Vec::new();
        self.survey(|name, destination, at| {
            if destination.has_recovered(at) {
                recovered.push(name.to_owned());
            }
        });
        recovered
    }

    /// Waits until a breaker has closed, so that nobody takes it for open any longer than need be.
    async fn recovery(&self) {
        self.recovery.notified().await;
    }

    /// The rows of a destination that were put aside are back.
    fn brought_back(&self, name: &str) {
        if let Some(destination) = self.state().known.get_mut(name) {
            destination.brought_back();
        }
    }

    /// People paused and resumed these; what was heard of before is not heard again.
    fn heard(&self, changes: Vec<ByHandChange>) {
        let now = Instant::now();
        let mut state = self.state();
        for ByHandChange { destination: name, stamp, paused } in changes {
            if state.by_hand.insert(name.clone(), stamp) == Some(stamp) {
                continue;
            }
            tracing::info!(destination = name, paused = paused.is_some(), "destination.changed_by_hand");
            let destination = state.destination(&name, now);
            match paused {
                Some(remaining) => destination.pause(PauseKind::Hand, remaining, now),
                None => destination.resume(now),
            }
        }
    }

    /// Rates that rise and are in use, and for how long they have been rising.
    fn rising(&self) -> Vec<(String, Duration)> {
        let now = Instant::now();
        let mut state = self.state();
        let known = state.known.iter_mut();
        known.filter_map(|(name, destination)| Some((name.clone(), destination.rising_to_save(now)?))).collect()
    }

    /// Forgets those of which nothing is to be remembered.
    fn prune(&self) {
        let now = Instant::now();
        self.state().known.retain(|_, destination| !destination.is_forgettable(now));
    }

    fn waits_for_answers(&self) -> bool {
        let mut waits = false;
        self.survey(|_, destination, at| {
            waits |= match destination.standing(at) {
                Standing::Full { .. } | Standing::Closed(Closed::Probing | Closed::Slow { .. }) => true,
                Standing::Room(_)
                | Standing::Closed(Closed::Paused { .. } | Closed::Broken { .. } | Closed::OverRate { .. }) => false,
            };
        });
        waits
    }

    /// Looks at every destination, all at one moment.
    fn survey(&self, mut look: impl FnMut(&str, &mut Destination, &Moment)) {
        let now = Instant::now();
        let mut state = self.state();
        let slots = self.slots(&state);
        let slow: usize = state.known.values().map(|destination| destination.in_flight_if_slow(now)).sum();
        let moment = Moment { now, slots, for_the_slow: slots.of_the_slow().saturating_sub(slow) };
        for (name, destination) in &mut state.known {
            look(name, destination, &moment);
        }
    }

    fn slots(&self, state: &State) -> Slots {
        Slots { all: self.slots, alone: state.known.len() <= 1 }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Whether rows are on their way aside, or back to a channel that was configured.
    fn moves(&self) -> bool {
        self.moving > 0 || self.configured > self.brought_back
    }

    /// That of this name, which may be a channel's.
    fn destination(&mut self, name: &str, now: Instant) -> &mut Destination {
        let Self { allowed, known, .. } = self;
        known.entry(name.to_owned()).or_insert_with(|| Destination::of(name, allowed, 0, now))
    }
}

fn sign(message: &Message, answer: &Answer) -> Sign {
    match &answer.outcome {
        // Refused here: nothing was asked of the destination.
        Outcome::Dead { .. } | Outcome::DeadTarget if answer.status_code.is_none() => Sign::None,
        Outcome::Delivered { .. } | Outcome::Dead { .. } | Outcome::DeadTarget => Sign::Good,
        // Where no attempt was counted, its destination was at fault before, and not the message.
        Outcome::Retry { .. } | Outcome::InDoubt if message.attempts == 0 => Sign::Bad { trying_for: Duration::ZERO },
        Outcome::Retry { .. } | Outcome::InDoubt => Sign::Bad { trying_for: message.retrying_for() },
        Outcome::Defer { .. } | Outcome::Unsent => Sign::None,
    }
}

/// The pause that the answer asks for, if any.
fn asked(message: &Message, answer: &Answer, longest: Duration) -> Option<Pause> {
    let (destination, kind, remaining) = match (&answer.outcome, answer.busy_for) {
        (Outcome::Defer { scope: Scope::Channel, until }, _) => (&message.channel, PauseKind::Barred, *until),
        (Outcome::Defer { scope: Scope::Destination, until }, _) => (&message.destination, PauseKind::Asked, *until),
        (_, Some(busy_for)) => (&message.destination, PauseKind::Asked, busy_for),
        (_, None) => return None,
    };
    Some(Pause { destination: destination.clone(), remaining: remaining.min(longest), kind })
}

#[cfg(test)]
mod tests;
