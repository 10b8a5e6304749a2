//! A model of the protocol, small enough to be searched to the end: three replicas, two messages, up to three terms.
//! In it the lease may vanish at any step, the lease store may forget everything, a replica may stop for any time
//! between any two steps (whatever happens next, others may act first) and may die, an answer may be lost, and what a look
//! has shown may be edited before it is claimed.
//!
//! [`state`] is what there is, [`steps`] what can happen, each step named as the function of the code that takes it;
//! [`promises`] is what must hold, and [`guards`] what keeps it so. ARCHITECTURE.md maps steps to functions.

pub mod guards;
pub mod promises;
pub mod search;
pub mod state;
pub mod steps;
pub mod traces;

use stateright::{Model, Property};

use guards::Guard;
use state::State;
use steps::Step;

/// The protocol under such circumstances, with all of its guards or without some.
#[derive(Debug, Clone, Copy)]
pub struct Protocol {
    /// The guards that are missing.
    pub without: &'static [Guard],
    /// Terms that are begun at most.
    pub terms: usize,
    /// `dispatch.max_in_flight`.
    pub max_in_flight: usize,
    /// What becomes of a row in doubt.
    pub in_doubt: Policy,
    /// Whether the two messages have the same ordering key.
    pub ordered: bool,
    /// What may go wrong.
    pub faults: Faults,
}

/// `in_doubt` of the channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Policy {
    /// Sent again.
    Resend,
    /// Kept as a dead letter.
    DeadLetter,
}

/// What may go wrong besides the loss of the lease, which always may.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Faults {
    /// Nothing: every request is answered, and marked within the settling time.
    None,
    /// Processes die, answers are lost; only a process that stands still between gate and write does not outlast
    /// the settling time.
    Crashes,
    /// That as well.
    Freezes,
}

impl Protocol {
    /// Whether the protocol has this guard.
    pub fn has(&self, guard: Guard) -> bool {
        !self.without.contains(&guard)
    }

    /// The same, without these guards.
    #[must_use]
    pub fn without(self, guards: &'static [Guard]) -> Self {
        Self { without: guards, ..self }
    }
}

impl Model for Protocol {
    type State = State;
    type Action = Step;

    fn init_states(&self) -> Vec<State> {
        vec![State::first(u8::from(self.faults != Faults::None))]
    }

    fn actions(&self, state: &State, steps: &mut Vec<Step>) {
        steps.extend(Step::of(state));
    }

    fn next_state(&self, state: &State, step: Step) -> Option<State> {
        if state.broken.is_some() {
            return None;
        }
        let mut next = self.take(state, step)?;
        next.judge(self);
        let forgetful = [Guard::MarkComparesRevision, Guard::GateBeforeSend, Guard::ClaimComparesRevision];
        if forgetful.into_iter().all(|guard| self.has(guard)) {
            next.forget();
        }
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        promises::properties(self)
    }

    fn within_boundary(&self, state: &State) -> bool {
        // Without a guard a row can be marked for ever.
        state.messages.iter().all(|message| message.revision <= 6)
    }
}
