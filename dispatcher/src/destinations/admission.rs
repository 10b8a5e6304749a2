//! What a claim must know about destinations, and what the poller learns from it about turns.

use std::time::Duration;

use outbox_schema::destination::DestinationRoom;
use outbox_schema::{Message, Strangers};
use tokio::time::Instant;

use super::destination::{Closed, Destination, Standing};
use super::{Destinations, State};
use crate::in_flight::Takers;

/// Where so many destinations are in use at most, a claim is told of all. It asks about others where it meets many.
const MOST_TOLD: usize = 512;

/// Where more are in use, it is told of about so many that have nothing in flight: those that were sent to last.
const TOLD_OF_MANY: usize = 128;

/// What a claim must know about destinations.
#[derive(Debug, PartialEq, Eq)]
pub struct Admission {
    /// Destinations that take nothing for now: their rows are on hold.
    pub closed: Vec<String>,
    /// Channels that take nothing for now, at any destination.
    pub closed_channels: Vec<String>,
    /// The room of other destinations. Those without an entry are strangers.
    pub rooms: Vec<DestinationRoom>,
    /// The rows and bytes that all strangers together may get.
    pub strangers: Strangers,
    /// For whom the claim takes messages.
    pub(super) takers: Takers,
    /// The share of each destination, in messages in flight. None: too few of them to keep anybody to it.
    pub(super) share: Option<usize>,
    /// Whether the claim asks about all strangers that it meets, and not only about many: one of them may take nothing.
    pub(super) doubts: bool,
}

impl Admission {
    /// What the claim is told of strangers.
    pub fn of_strangers(&self) -> Strangers {
        let Strangers { rows, bytes, ask } = self.strangers;
        Strangers { rows: if ask && self.doubts { 0 } else { rows }, bytes, ask }
    }

    /// How much of its `room` a destination gets.
    pub(super) fn of(&self, destination: &Destination, room: usize) -> u32 {
        let room = destination.for_takers(self.takers, self.share, room);
        u32::try_from(room).unwrap_or(u32::MAX)
    }
}

impl Destinations {
    /// What the next claim may take, which is for these `takers`. No message is larger than `largest`, in bytes.
    pub fn admission(&self, largest: u64, takers: Takers) -> Admission {
        self.awaits_answers(takers);
        let mut admission = Admission {
            closed: Vec::new(),
            closed_channels: Vec::new(),
            rooms: Vec::new(),
            strangers: Strangers { rows: 0, bytes: 0, ask: true },
            takers,
            share: self.share(),
            doubts: self.bound(),
        };
        let told_within = self.told_within();
        let (mut rows, mut bytes) = (0, 0);
        self.survey(|name, destination, at| {
            let standing = destination.standing(at);
            let (in_flight, of_bytes) = destination.in_flight();
            let stranger = destination.is_stranger();
            if stranger {
                (rows, bytes) = (rows + in_flight, bytes + of_bytes);
            }
            let room = match standing {
                Standing::Closed(closed) => {
                    if closed.holds_a_channel() {
                        admission.closed_channels.push(name.to_owned());
                    }
                    return admission.closed.push(name.to_owned());
                }
                Standing::Full { .. } => 0,
                Standing::Room(_) if destination.is_unsure() => 0,
                // It has what a stranger gets.
                Standing::Room(_) if stranger && in_flight > 0 => 0,
                // As if nothing were known of it.
                Standing::Room(_) if stranger || (in_flight == 0 && destination.unused_for(at.now) > told_within) => {
                    return;
                }
                Standing::Room(room) => admission.of(destination, room),
            };
            admission.rooms.push(DestinationRoom { destination: name.to_owned(), room });
        });
        let state = self.state();
        let unmet = state.allowed.iter().filter(|(channel, _)| !state.known.contains_key(*channel));
        admission.rooms.extend(unmet.map(|(channel, limits)| DestinationRoom {
            destination: channel.clone(),
            room: limits.own_room(self.slots, takers, admission.share),
        }));
        drop(state);
        let left = if takers.are_kept_for() { 0 } else { self.state().strangers.left(rows) };
        admission.strangers.rows = u32::try_from(left).unwrap_or(u32::MAX);
        // The largest message that there may be goes where none is on its way.
        admission.strangers.bytes = match bytes {
            0 => (self.max_bytes / 8).max(largest),
            bytes => (self.max_bytes / 8).saturating_sub(bytes),
        };
        admission
    }

    /// A claim is told of idle destinations that were used within this time: of all, or of those used last. The others rest, so that
    /// nobody looks at them.
    fn told_within(&self) -> Duration {
        let now = Instant::now();
        let mut state = self.state();
        let State { known, at_rest, .. } = &mut *state;
        if known.len() <= MOST_TOLD {
            return Duration::MAX;
        }
        let idle = known.values().filter(|known| !known.is_stranger() && known.in_flight().0 == 0);
        let mut idle: Vec<Duration> = idle.map(|known| known.unused_for(now)).collect();
        if idle.len() <= TOLD_OF_MANY {
            return Duration::MAX;
        }
        let within = *idle.select_nth_unstable(TOLD_OF_MANY).1;
        at_rest.extend(known.extract_if(|_, known| known.unused_for(now) > within && known.is_idle(now)));
        within
    }

    /// Destinations that have answered, and of which no claim is told since they rest: so many at most, those that were used last.
    pub fn answered_before(&self, most: usize) -> Vec<String> {
        let now = Instant::now();
        let state = self.state();
        let answered = state.at_rest.iter().filter(|(_, known)| !known.is_stranger() && !known.is_unsure());
        let mut answered: Vec<_> = answered.map(|(name, known)| (known.unused_for(now), name)).collect();
        if answered.len() > most {
            answered.select_nth_unstable(most);
            answered.truncate(most);
        }
        answered.into_iter().map(|(_, name)| name.clone()).collect()
    }

    /// Whether due messages may have been left because their destinations have what they may get.
    pub fn limits_claims(&self) -> bool {
        let mut limits = false;
        self.survey(|_, destination, at| {
            limits |= match destination.standing(at) {
                Standing::Full { .. } | Standing::Closed(Closed::Probing | Closed::Slow { .. }) => true,
                Standing::Room(_) => destination.is_stranger() && destination.in_flight().0 > 0,
                Standing::Closed(Closed::Paused { .. } | Closed::Broken { .. } | Closed::OverRate { .. }) => false,
            };
        });
        limits
    }

    /// Those of these messages that are for a destination which has answered. None where no destination has.
    pub fn answering<'a>(&self, messages: &'a [Message]) -> Option<Vec<&'a Message>> {
        let state = self.state();
        state.known.values().chain(state.at_rest.values()).find(|destination| !destination.is_stranger())?;
        let known = |name: &String| state.known.get(name).or_else(|| state.at_rest.get(name));
        let answers = |message: &&Message| known(&message.destination).is_some_and(|known| !known.is_stranger());
        Some(messages.iter().filter(answers).collect())
    }
}
