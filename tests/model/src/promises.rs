//! What must hold, and what must be possible so that it means something.
//!
//! Two promises need no judge. A row is `SUCCESS` only by the outcome `Delivered`, which only an accepted request has; and
//! no message is lost, because a message is pending, delivered, or dead for a reason, and nothing else. A failover changes neither.

use stateright::Property;

use super::state::{BUDGET, MESSAGES, Outcome, REPLICAS, Stage, Standby, State, Status};
use super::{Faults, Policy, Protocol};
pub use crate::promise::Promise;

impl Promise {
    fn property(self) -> Property<Protocol> {
        let kept: fn(&Protocol, &State) -> bool = match self {
            Self::Epochs => |_, state| state.broken != Some(Self::Epochs),
            Self::Disjoint => |_, state| state.claims_are_disjoint(),
            Self::Claimed => |_, state| state.broken != Some(Self::Claimed),
            Self::Counted => |_, state| state.broken != Some(Self::Counted),
            Self::CountedOnce => |_, state| state.broken != Some(Self::CountedOnce),
            Self::Explained => |_, state| state.broken != Some(Self::Explained),
            Self::Bound => |_, state| state.broken != Some(Self::Bound),
            Self::Trusted => |_, state| state.broken != Some(Self::Trusted),
            Self::Turns => |_, state| state.broken != Some(Self::Turns),
            Self::NoDoubt => |_, state| state.broken != Some(Self::NoDoubt),
        };
        Property::always(self.as_str(), kept)
    }
}

impl State {
    /// Whether this promise is broken.
    pub fn breaks(&self, promise: Promise) -> bool {
        self.broken == Some(promise) || promise == Promise::Disjoint && !self.claims_are_disjoint()
    }

    /// Notes that a promise was broken. The first counts.
    pub(super) fn break_promise(&mut self, promise: Promise) {
        self.broken.get_or_insert(promise);
    }

    /// Judges what can be seen of a state; what only a step can see is noted by the step.
    pub(super) fn judge(&mut self, protocol: &Protocol) {
        let under_way = |m| i8::from(self.is_named(m, |_| true));
        // Until all have written again what the database has lost, it knows less than they do.
        let told = !self.standby.awaits_any();
        let promises = [
            (Promise::Epochs, self.terms.is_sorted_by(|a, b| a.epoch < b.epoch)),
            (Promise::Counted, !told || (0..MESSAGES).all(|m| self.messages[m].uncounted <= under_way(m))),
            (Promise::Counted, self.messages.iter().all(|message| message.attempts <= BUDGET)),
            (Promise::Explained, !told || self.messages.iter().all(|message| message.unexplained <= 1)),
            (
                Promise::Bound,
                self.processes.iter().all(|p| p.attempts.iter().flatten().count() <= protocol.max_in_flight),
            ),
        ];
        if let Some((promise, _)) = promises.into_iter().find(|(_, kept)| !kept) {
            self.break_promise(promise);
        }
    }
}

/// All promises, and what must be possible under these circumstances.
pub(super) fn properties(protocol: &Protocol) -> Vec<Property<Protocol>> {
    let mut all: Vec<_> = Promise::ALL.into_iter().map(Promise::property).collect();
    all.extend([
        Property::sometimes("all is delivered", |_, state: &State| {
            state.messages.iter().all(|message| message.status == Status::Success)
        }),
        Property::sometimes("two terms have open gates", |_, state: &State| {
            state.terms.iter().filter(|term| term.open).count() > 1
        }),
        Property::sometimes("a delivery is marked after its term", |_, state: &State| {
            (0..MESSAGES).any(|m| {
                state.is_in_flight(m, Some(0), |stage| stage == Stage::Over(Outcome::Delivered))
                    && state.is_named(m, |claim| claim.term == 0 && claim.superseded)
            })
        }),
        Property::sometimes("a row that was not sent is marked so", |_, state: &State| {
            (0..MESSAGES).any(|m| {
                state.is_in_flight(m, Some(0), |stage| stage == Stage::Over(Outcome::Unsent))
                    && state.is_named(m, |claim| claim.term == 0)
            })
        }),
    ]);
    if protocol.fails_over {
        all.extend([
            Property::sometimes("all is delivered after a failover", |_, state: &State| {
                matches!(state.standby, Standby::Promoted(_))
                    && state.messages.iter().all(|message| message.status == Status::Success)
            }),
            Property::always("what a failover lost can be written again", |protocol: &Protocol, state: &State| {
                !state.standby.awaits_any() || (0..REPLICAS).any(|replica| protocol.mend(state, replica).is_some())
            }),
        ]);
    }
    if protocol.faults != Faults::None {
        all.push(match protocol.in_doubt {
            Policy::Resend => Property::sometimes("a doubt is resent, and the budget used up", |_, state: &State| {
                state.messages.iter().any(|message| message.status == Status::Exhausted)
            }),
            Policy::DeadLetter => Property::sometimes("a doubt is kept", |_, state: &State| {
                state.messages.iter().any(|message| message.status == Status::InDoubt)
            }),
        });
    }
    all
}
