//! The lease, and the terms that are begun under it.

use crate::Protocol;
use crate::guards::Guard;
use crate::state::{Claiming, Lead, Process, State, Term};

/// Only what the lease store counts is in the model; that it gives the lease to anybody is in `begin_term`.
pub(super) fn forget(state: &State) -> State {
    State { counted: 0, ..state.clone() }
}

/// A replica with nothing in flight: all of these are alike.
fn is_idle(process: &Process) -> bool {
    *process == Process::default()
}

/// While a claim is being made: the hand-over waits for it.
pub(super) fn end(state: &State, replica: usize) -> Option<State> {
    let term = open_term(state, replica)?;
    state.processes[replica].claims().then(|| {
        let mut next = state.clone();
        next.terms[term].open = false;
        next
    })
}

pub(super) fn crash(state: &State, replica: usize) -> Option<State> {
    let process = &state.processes[replica];
    if state.crashes == 0 || is_idle(process) {
        return None;
    }
    let mut next = state.clone();
    next.crashes -= 1;
    match process.lead {
        Lead::Leads(term) => next.terms[term].open = false,
        Lead::Candidate => {}
    }
    next.processes[replica] = Process::default();
    Some(next)
}

/// The term that this replica leads, while its gate is open.
pub(super) fn open_term(state: &State, replica: usize) -> Option<usize> {
    match state.processes[replica].lead {
        Lead::Leads(term) if state.terms[term].open => Some(term),
        Lead::Candidate | Lead::Leads(_) => None,
    }
}

impl Protocol {
    /// The lease store promises nothing: whoever asks may get the lease, whoever else was told that he has it. That is
    /// any lease store, in any trouble. The mint waits for the claimers that hold the term row.
    pub(super) fn begin_term(&self, state: &State, replica: usize) -> Option<State> {
        let process = &state.processes[replica];
        // Of candidates that are alike the first is chosen.
        let chosen = !is_idle(process) || !state.processes[..replica].iter().any(is_idle);
        let locked = |claiming| matches!(claiming, Claiming::Selected(_)) && self.has(Guard::ClaimLocksTermRow);
        let waits = state.processes.iter().any(|process| locked(process.claiming));
        if process.lead != Lead::Candidate || !chosen || waits || state.terms.len() >= self.terms {
            return None;
        }
        let epoch_of = |term: usize| state.terms[term].epoch;
        let last = state.newest.map(epoch_of);
        let seen = (0..state.terms.len()).map(epoch_of).max().filter(|_| self.has(Guard::EpochFloor));
        let mut next = state.clone();
        let epoch = if self.has(Guard::EpochFromDatabase) {
            last.max(seen).unwrap_or(0) + 1
        } else {
            next.counted += 1;
            next.counted
        };
        next.terms.push(Term { epoch, open: true });
        // Those of earlier terms were superseded when it began.
        let of_last = next.claims.iter_mut().filter(|claim| Some(epoch_of(claim.term)) == last);
        of_last.for_each(|claim| claim.superseded = true);
        next.newest = Some(state.terms.len());
        next.processes[replica].lead = Lead::Leads(state.terms.len());
        Some(next)
    }

    /// The gate is closed, the claims are told, the lease goes to whoever asks first. Not while a claim is being made.
    pub(super) fn hand_over(&self, state: &State, replica: usize) -> Option<State> {
        let process = &state.processes[replica];
        let Lead::Leads(term) = process.lead else { return None };
        (!process.claims()).then(|| {
            let mut next = state.clone();
            next.terms[term].open &= !self.has(Guard::GateClosedBeforeTold);
            let misled = next.terms[term].open;
            next.claims.iter_mut().filter(|claim| claim.term == term).for_each(|claim| claim.misled = misled);
            next.processes[replica].lead = Lead::Candidate;
            next.processes[replica].claiming = Claiming::Not;
            next
        })
    }

    /// Whether the term row still says this term.
    pub(super) fn is_present(&self, state: &State, term: usize) -> bool {
        let epochs_agree = |newest: usize| state.terms[newest].epoch == state.terms[term].epoch;
        state.newest.is_some_and(epochs_agree) && (Some(term) == state.newest || !self.has(Guard::HolderCompared))
    }
}
