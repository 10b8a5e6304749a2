//! An attempt, from the gate to its outcome.

use crate::guards::Guard;
use crate::promise::Promise;
use crate::state::{Attempt, Claim, Outcome, Stage, State, Status};
use crate::{Faults, Protocol};

/// Moves an attempt from one stage to the next.
fn go_on(state: &State, replica: usize, message: usize, from: Stage, to: Stage) -> Option<State> {
    let attempt = state.processes[replica].attempts[message]?;
    (attempt.stage == from).then(|| {
        let mut next = state.clone();
        next.processes[replica].attempts[message] = Some(Attempt { stage: to, ..attempt });
        next
    })
}

pub(super) fn accept(state: &State, replica: usize, message: usize) -> Option<State> {
    accepted(state, replica, message, Outcome::Delivered)
}

pub(super) fn refuse(state: &State, replica: usize, message: usize) -> Option<State> {
    go_on(state, replica, message, Stage::Sent, Stage::Over(Outcome::Retry))
}

fn accepted(state: &State, replica: usize, message: usize, outcome: Outcome) -> Option<State> {
    let mut next = go_on(state, replica, message, Stage::Sent, Stage::Over(outcome))?;
    next.witness(message, |row| row.unexplained += 1);
    Some(next)
}

impl Protocol {
    pub(super) fn gate(&self, state: &State, replica: usize, message: usize) -> Option<State> {
        let attempt = state.processes[replica].attempts[message]?;
        let open = state.terms[attempt.term].open;
        if !open && self.has(Guard::GateBeforeSend) {
            return go_on(state, replica, message, Stage::Claimed, Stage::Over(Outcome::Unsent));
        }
        let mut next = go_on(state, replica, message, Stage::Claimed, Stage::Passed)?;
        if !open {
            next.break_promise(Promise::Trusted);
        }
        let row = &state.messages[message];
        let standing = |claim: &Claim| claim.term == attempt.term;
        if row.revision != attempt.revision || !state.is_named(message, standing) {
            next.break_promise(Promise::Claimed);
        }
        // Where a process may not stand still for long between the two, it might as well not stand still at all.
        if self.faults == Faults::Freezes { Some(next) } else { self.deliver(&next, replica, message) }
    }

    pub(super) fn deliver(&self, state: &State, replica: usize, message: usize) -> Option<State> {
        let mut next = go_on(state, replica, message, Stage::Passed, Stage::Sent)?;
        next.witness(message, |row| row.uncounted += 1);
        if self.faults == Faults::Freezes {
            return Some(next);
        }
        let of_its_key = |other: &usize| *other == message || self.ordered;
        let open = |other: usize| state.is_in_flight(other, None, |stage| stage == Stage::Sent);
        if (0..state.messages.len()).filter(of_its_key).any(open) {
            next.break_promise(Promise::Turns);
        }
        if (0..message).filter(of_its_key).any(|other| state.messages[other].status == Status::Pending) {
            next.break_promise(Promise::Turns);
        }
        Some(next)
    }

    /// The connection is lost, or the time is over, once the receiver has accepted.
    pub(super) fn accept_unanswered(&self, state: &State, replica: usize, message: usize) -> Option<State> {
        if self.faults == Faults::None { None } else { accepted(state, replica, message, Outcome::InDoubt) }
    }

    /// The same, before it could.
    pub(super) fn time_out(&self, state: &State, replica: usize, message: usize) -> Option<State> {
        if self.faults == Faults::None {
            return None;
        }
        go_on(state, replica, message, Stage::Sent, Stage::Over(Outcome::InDoubt))
    }
}
