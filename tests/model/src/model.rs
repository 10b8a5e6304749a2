//! The model, and what is searched for in it.

use stateright::{Model, Property};

use super::guards::Guard;
use super::promises;
use super::protocol::{Faults, Protocol};
use super::state::State;
use super::steps::Step;

impl Model for Protocol {
    type State = State;
    type Action = Step;

    fn init_states(&self) -> Vec<State> {
        vec![State::first(self.messages, u8::from(self.faults != Faults::None && !self.fails_over))]
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
