//! The three steps of a claim: what to leave out, what is due, and the commit; and its release, where it was given up.

use crate::guards::Guard;
use crate::state::{Attempt, Claim, Claiming, Lead, MESSAGES, Stage, State, Status};
use crate::{Faults, Protocol};

use super::leading::open_term;

impl Protocol {
    pub(super) fn excluded(&self, state: &State, replica: usize) -> Option<State> {
        let term = open_term(state, replica)?;
        // A process makes the next claim only once the one that it gave up is released.
        if state.claims.iter().any(|claim| claim.term == term && claim.given_up) {
            return None;
        }
        let excluded =
            if self.has(Guard::ExclusionBeforeSelect) { self.exclusion_set(state, replica) } else { [false; MESSAGES] };
        let worthwhile = self.room(state, replica, term) > 0
            && (0..MESSAGES).any(|m| !excluded[m] && state.messages[m].status == Status::Pending);
        if state.processes[replica].claiming != Claiming::Not || !worthwhile {
            return None;
        }
        let mut next = state.clone();
        next.processes[replica].claiming = Claiming::Excluded(excluded);
        Some(next)
    }

    /// Proves the term, under a lock that lasts until the commit, then reads. A term that is over is fenced.
    pub(super) fn select(&self, state: &State, replica: usize) -> Option<State> {
        let process = &state.processes[replica];
        let (Lead::Leads(term), Claiming::Excluded(excluded)) = (process.lead, process.claiming) else { return None };
        let mut next = state.clone();
        if !self.is_present(state, term) {
            next.processes[replica].claiming = Claiming::Not;
            return Some(next);
        }
        let due = self.due(state, excluded, self.room(state, replica, term));
        let found = due.iter().any(Option::is_some);
        next.processes[replica].claiming = if found { Claiming::Selected(due) } else { Claiming::Not };
        Some(next)
    }

    /// The commit: from here on the rows are in flight.
    pub(super) fn claim(&self, state: &State, replica: usize) -> Option<State> {
        let (term, revisions) = self.selected(state, replica)?;
        let mut next = self.committed(state, replica, term, revisions, false);
        for (attempt, revision) in next.processes[replica].attempts.iter_mut().zip(revisions) {
            if let Some(revision) = revision {
                *attempt = Some(Attempt { term, revision, stage: Stage::Claimed, counted: false });
            }
        }
        Some(next)
    }

    /// The commit, of which the process never hears: the answer is lost, or its term ended meanwhile. It sends nothing.
    pub(super) fn claim_unanswered(&self, state: &State, replica: usize) -> Option<State> {
        let (term, revisions) = self.selected(state, replica)?;
        (self.faults != Faults::None).then(|| self.committed(state, replica, term, revisions, true))
    }

    /// The claim is gone, and its rows are as they were. A claim that was given up may also be left to be settled: where its
    /// process dies, nobody releases it.
    pub(super) fn release(&self, state: &State, term: usize) -> Option<State> {
        let released = |claim: &Claim| claim.given_up || !self.has(Guard::OnlyGivenUpReleased);
        let place = state.claims.iter().position(|claim| claim.term == term && released(claim))?;
        let mut next = state.clone();
        next.claims.remove(place);
        Some(next)
    }

    fn committed(
        &self,
        state: &State,
        replica: usize,
        term: usize,
        revisions: [Option<u8>; MESSAGES],
        given_up: bool,
    ) -> State {
        let mut next = state.clone();
        next.processes[replica].claiming = Claiming::Not;
        if self.has(Guard::ClaimBeforeSend) && revisions.iter().any(Option::is_some) {
            next.claims.push(Claim { term, revisions, superseded: false, misled: false, given_up });
            next.claims.sort_unstable();
        }
        next
    }

    fn selected(&self, state: &State, replica: usize) -> Option<(usize, [Option<u8>; MESSAGES])> {
        let process = &state.processes[replica];
        let (Lead::Leads(term), Claiming::Selected(mut revisions)) = (process.lead, process.claiming) else {
            return None;
        };
        if !self.has(Guard::ExclusionBeforeSelect) {
            let excluded = self.exclusion_set(state, replica);
            (0..MESSAGES).filter(|m| excluded[*m]).for_each(|m| revisions[m] = None);
        }
        Some((term, revisions))
    }

    /// Rows in flight here, and rows of claims that are not settled. (A process remembers the latter from its last
    /// look. Rows only ever leave that set, so what is there now is the least that it leaves out.)
    fn exclusion_set(&self, state: &State, replica: usize) -> [bool; MESSAGES] {
        std::array::from_fn(|message| {
            state.processes[replica].attempts[message].is_some()
                || (self.has(Guard::UnsettledLeftOut) && state.is_named(message, |claim| claim.superseded))
        })
    }

    /// Slots that are free.
    fn room(&self, state: &State, replica: usize, term: usize) -> usize {
        let attempts = state.processes[replica].attempts.iter().flatten();
        let taken = attempts.filter(|attempt| attempt.term == term || self.has(Guard::SlotsOfProcess)).count();
        self.max_in_flight.saturating_sub(taken)
    }

    /// The first rows that may be claimed: of an ordering key only its head.
    fn due(&self, state: &State, excluded: [bool; MESSAGES], room: usize) -> [Option<u8>; MESSAGES] {
        let pending = |message: &usize| state.messages[*message].status == Status::Pending;
        let heads = if self.ordered { 1 } else { MESSAGES };
        let mut due = [None; MESSAGES];
        for message in (0..MESSAGES).filter(pending).take(heads).filter(|m| !excluded[*m]).take(room) {
            due[message] = Some(state.messages[message].revision);
        }
        due
    }
}
