//! Settling: beside the loop, by the term that the term row says.

use super::leading::open_term;
use crate::guards::Guard;
use crate::promise::Promise;
use crate::state::{Claim, MESSAGES, Message, Stage, State};
use crate::{Faults, Protocol};

impl Protocol {
    pub(super) fn settle(&self, state: &State, replica: usize, term: usize) -> Option<State> {
        let own = open_term(state, replica)?;
        let over = |claim: &Claim| claim.term == term && claim.superseded && self.is_over(state, claim);
        let is_earlier = state.terms[term].epoch < state.terms[own].epoch;
        if !self.is_present(state, own) || !is_earlier || !state.claims.iter().any(over) {
            return None;
        }
        // No journal knows what is decided here in the lag, and then sent.
        if state.standby.lags() && (0..MESSAGES).any(|message| state.is_named(message, over)) {
            return None;
        }
        let mut next = state.clone();
        for message in 0..MESSAGES {
            if state.is_named(message, over) {
                let row = next.messages[message];
                next.messages[message] = self.in_doubt(Message { revision: row.revision + 1, ..row });
                if self.faults == Faults::None {
                    next.break_promise(Promise::NoDoubt);
                }
            }
        }
        next.claims.retain(|claim| !over(claim));
        Some(next)
    }

    /// Whether the settling time of a claim is over. This is where time is in the model: what the settling time
    /// outlasts has come to its end. That is trust, for which the ttl is waited unless the holder said that its gate is
    /// closed, and every request that was begun under it.
    fn is_over(&self, state: &State, claim: &Claim) -> bool {
        if !self.has(Guard::SettlingTime) {
            return true;
        }
        let outlasted = |stage: Stage| match self.faults {
            Faults::None => true,
            Faults::Crashes | Faults::Freezes => stage == Stage::Sent,
        };
        let open = (0..MESSAGES)
            .filter(|m| claim.revisions[*m].is_some())
            .any(|m| state.is_in_flight(m, Some(claim.term), outlasted));
        (claim.misled || !state.terms[claim.term].open) && !open
    }
}
