//! A failover, and what the processes write again after it: they all live, and have journals.

use crate::Protocol;
use crate::guards::Guard;
use crate::state::{Attempt, Claim, Lead, MESSAGES, MOVED_ON, Past, Process, Stage, Standby, State, Status};

/// The standby takes the place of the database.
pub(super) fn fail_over(state: &State) -> Option<State> {
    let Standby::Lags(past) = &state.standby else { return None };
    let Past { newest, claims, messages } = (**past).clone();
    let mut next = State { newest, claims, messages, ..state.clone() };
    for process in &mut next.processes {
        for (attempt, row) in process.attempts.iter_mut().zip(messages) {
            if let Some(attempt) = attempt {
                attempt.counted &= row.status != Status::Pending || row.revision > attempt.revision;
            }
        }
    }
    let has_polled = |replica: usize| {
        next.processes[replica] != Process::default() || state.journal.iter().any(|mark| mark.replica == replica)
    };
    next.standby = Standby::Promoted(std::array::from_fn(has_polled));
    Some(next)
}

/// What this process has marked since the standby lags, each with its message.
fn marked(state: &State, replica: usize) -> Vec<(usize, Attempt)> {
    let own = state.journal.iter().filter(|mark| mark.replica == replica);
    own.map(|mark| (mark.message, mark.attempt)).collect()
}

/// That, and what it has in flight.
fn claimed(state: &State, replica: usize) -> Vec<(usize, Attempt)> {
    let attempts = state.processes[replica].attempts.iter().enumerate();
    let in_flight = attempts.filter_map(|(message, attempt)| Some((message, (*attempt)?)));
    // Of rows that had moved on before the lag nothing is lost.
    in_flight.filter(|(_, attempt)| attempt.revision != MOVED_ON).chain(marked(state, replica)).collect()
}

impl Protocol {
    /// From here on nothing reaches the standby.
    pub(super) fn lag(&self, state: &State) -> Option<State> {
        (self.fails_over && state.standby == Standby::Follows).then(|| {
            let past = Past { newest: state.newest, claims: state.claims.clone(), messages: state.messages };
            State { standby: Standby::Lags(Box::new(past)), ..state.clone() }
        })
    }

    /// Its term ends. A mark lets the next claim of its row be written, until none is left to be.
    pub(crate) fn mend(&self, state: &State, replica: usize) -> Option<State> {
        if !state.standby.awaits(replica) {
            return None;
        }
        let mut next = state.clone();
        if let Lead::Leads(term) = state.processes[replica].lead {
            next.terms[term].open &= !self.has(Guard::LineageEndsTerm);
        }
        if self.has(Guard::MendInOrder) {
            let mut before = None;
            while before.replace(next.messages) != Some(next.messages) {
                self.claim_again(&mut next, replica);
                self.mark_again(&mut next, replica);
            }
        } else {
            self.mark_again(&mut next, replica);
            self.claim_again(&mut next, replica);
        }
        let waits = |(message, attempt): &(usize, Attempt)| {
            let row = next.messages[*message];
            row.status == Status::Pending && row.revision < attempt.revision
        };
        if self.has(Guard::MendAfterOthers) && claimed(&next, replica).iter().any(waits) {
            return (next != *state).then_some(next);
        }
        next.journal.retain(|mark| mark.replica != replica);
        if let Standby::Promoted(processes) = &mut next.standby {
            processes[replica] = false;
        }
        Some(next)
    }

    /// Of rows that are as they were claimed, and in no other claim.
    fn claim_again(&self, state: &mut State, replica: usize) {
        for (message, Attempt { term, revision, .. }) in claimed(state, replica) {
            let row = state.messages[message];
            if row.status == Status::Pending && row.revision == revision && !state.is_named(message, |_| true) {
                let mut revisions = [None; MESSAGES];
                revisions[message] = Some(revision);
                let (superseded, misled) = (self.has(Guard::MendSupersedes), state.terms[term].open);
                state.claims.push(Claim { term, revisions, superseded, misled, given_up: false });
            }
        }
        state.claims.sort_unstable();
    }

    fn mark_again(&self, state: &mut State, replica: usize) {
        for (message, attempt) in marked(state, replica) {
            if let Stage::Over(outcome) = attempt.stage {
                self.write(state, replica, message, attempt, outcome);
            }
        }
    }
}
