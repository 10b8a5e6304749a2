//! A claim: what a look shows, what of it still fits, and the commit; and its release, where it was given up.
//!
//! A look that claims at once is told what to pass over. What else it finds goes straight to the commit.

use crate::guards::Guard;
use crate::state::{Attempt, Claim, Claiming, Lead, MESSAGES, Process, REPLICAS, Stage, State, Status};
use crate::{Faults, Protocol};

use super::leading::open_term;

/// For each message that is meant, its revision.
type Revisions = [Option<u8>; MESSAGES];

impl Process {
    /// Whether a claim is under way.
    pub(super) fn claims(&self) -> bool {
        matches!(self.claiming, Claiming::Selected(_)) || self.unseen.is_some()
    }
}

/// The rows that the claim of this replica has read, and its term.
fn selected(state: &State, replica: usize) -> Option<(usize, Revisions)> {
    let process = &state.processes[replica];
    match (process.lead, process.claiming) {
        (Lead::Leads(term), Claiming::Selected(revisions)) => Some((term, revisions)),
        (Lead::Leads(_) | Lead::Candidate, _) => None,
    }
}

/// The rows that are due, as they are.
fn due(state: &State) -> Revisions {
    std::array::from_fn(|m| Some(state.messages[m]).filter(|row| row.status == Status::Pending).map(|row| row.revision))
}

/// Those of these rows that are not left out.
fn free(rows: Revisions, left_out: [bool; MESSAGES]) -> Revisions {
    std::array::from_fn(|m| rows[m].filter(|_| !left_out[m]))
}

/// What looks have shown of it is stale then. It waits for a claim whose transaction is open.
pub(super) fn edit(state: &State, message: usize) -> Option<State> {
    let in_hand = state.is_named(message, |_| true)
        || (0..REPLICAS).any(|replica| selected(state, replica).is_some_and(|(_, rows)| rows[message].is_some()));
    (!in_hand && due(state)[message].is_some()).then(|| {
        let mut next = state.clone();
        next.messages[message].revision += 1;
        next
    })
}

impl Protocol {
    /// It shows rows that are in flight, or of unsettled claims, as well: none of these is chosen. (Where nothing can be
    /// chosen it may come as well: a later one shows the same.)
    pub(super) fn look(&self, state: &State, replica: usize) -> Option<State> {
        let process = &state.processes[replica];
        let (shown, term) = (due(state), self.may_claim(state, replica)?);
        self.first(shown, self.left_out(state, replica), self.room(state, replica, term))?;
        let is_new = process.claiming != Claiming::Seen(shown) && selected(state, replica).is_none();
        (is_new && !self.goes_alone(process.unseen.is_some())).then(|| {
            let mut next = state.clone();
            next.processes[replica].claiming = Claiming::Seen(shown);
            next
        })
    }

    /// What is chosen is in flight from here on. The claim proves its term, under a lock that lasts until the commit, and
    /// reads what it was asked for. (It may be under way for a while: it finds nothing then that it would not find at once.)
    pub(super) fn select(&self, state: &State, replica: usize) -> Option<State> {
        let Claiming::Seen(seen) = state.processes[replica].claiming else { return None };
        let term = self.may_claim(state, replica)?;
        let chosen = self.first(seen, self.left_out(state, replica), self.room(state, replica, term))?;
        let due = self.heads(due(state));
        let fits = |m: usize| due[m].is_some() && (due[m] == chosen[m] || !self.has(Guard::ClaimComparesRevision));
        Some(self.read(state, replica, term, std::array::from_fn(|m| chosen[m].filter(|_| fits(m)))))
    }

    /// Only where nothing waits that looks have shown, and there is room for all that it may find. It finds no row that has an
    /// ordering key.
    pub(super) fn unseen(&self, state: &State, replica: usize) -> Option<State> {
        let process = &state.processes[replica];
        let (left_out, term) = (self.left_out(state, replica), self.may_claim(state, replica)?);
        let found = free(due(state), left_out).iter().flatten().count();
        let fits = (1..=self.room(state, replica, term)).contains(&found) && !self.ordered;
        let goes = process.unseen.is_none() && !self.goes_alone(process.claiming != Claiming::Not);
        (fits && goes).then(|| {
            let mut next = state.clone();
            next.processes[replica].unseen = Some(left_out);
            next
        })
    }

    /// The rest of such a look, as of [`Self::select`].
    pub(super) fn select_unseen(&self, state: &State, replica: usize) -> Option<State> {
        let process = &state.processes[replica];
        let (Lead::Leads(term), Some(left_out)) = (process.lead, process.unseen) else { return None };
        selected(state, replica).is_none().then(|| {
            let mut next = self.read(state, replica, term, free(due(state), left_out));
            next.processes[replica].unseen = None;
            next
        })
    }

    /// The commit: from here on the rows may be sent.
    pub(super) fn claim(&self, state: &State, replica: usize) -> Option<State> {
        let (term, revisions) = selected(state, replica)?;
        let mut next = self.committed(state, replica, term, revisions, false);
        for (attempt, revision) in next.processes[replica].attempts.iter_mut().zip(revisions) {
            if let Some(revision) = revision {
                *attempt = Some(Attempt { term, revision, stage: Stage::Claimed, counted: false });
            }
        }
        Some(next)
    }

    /// All of it, where nothing that could come between matters.
    pub(super) fn claim_at_once(&self, state: &State, replica: usize) -> Option<State> {
        let seen = self.look(state, replica)?;
        let selected = self.select(&seen, replica)?;
        self.claim(&selected, replica)
    }

    /// The commit, of which the process never hears: the answer is lost, or its term ended meanwhile. It sends nothing.
    pub(super) fn claim_unanswered(&self, state: &State, replica: usize) -> Option<State> {
        let (term, revisions) = selected(state, replica)?;
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

    fn committed(&self, state: &State, replica: usize, term: usize, revisions: Revisions, given_up: bool) -> State {
        let mut next = state.clone();
        next.processes[replica].claiming = Claiming::Not;
        if self.has(Guard::ClaimBeforeSend) && revisions.iter().any(Option::is_some) {
            next.claims.push(Claim { term, revisions, superseded: false, misled: false, given_up });
            next.claims.sort_unstable();
        }
        next
    }

    /// Whether a look that claims at once does not go, because of something beside it.
    fn goes_alone(&self, beside: bool) -> bool {
        beside && self.has(Guard::UnseenBesideNone)
    }

    /// The term that may choose. It does not while a claim that it gave up is not released.
    fn may_claim(&self, state: &State, replica: usize) -> Option<usize> {
        let term = open_term(state, replica)?;
        let given_up = |claim: &Claim| claim.term == term && claim.given_up;
        (!self.has(Guard::ReleasedBeforeNext) || !state.claims.iter().any(given_up)).then_some(term)
    }

    /// The transaction of a claim is open, and these are its rows. A term that is over is fenced.
    fn read(&self, state: &State, replica: usize, term: usize, rows: Revisions) -> State {
        let mut next = state.clone();
        let found = self.is_present(state, term) && rows.iter().any(Option::is_some);
        next.processes[replica].claiming = if found { Claiming::Selected(rows) } else { Claiming::Not };
        next
    }

    /// Rows in flight here, and rows of claims that are not settled. (A process remembers the latter from its last
    /// look at claims. Rows only ever leave that set, so what is there now is the least that it leaves out.)
    fn left_out(&self, state: &State, replica: usize) -> [bool; MESSAGES] {
        let process = &state.processes[replica];
        let is_held =
            |attempt: Attempt| !matches!(attempt.stage, Stage::Over(_)) || self.has(Guard::InFlightUntilMarked);
        std::array::from_fn(|m| {
            process.attempts[m].is_some_and(is_held)
                || selected(state, replica).is_some_and(|(_, revisions)| revisions[m].is_some())
                || self.has(Guard::UnsettledLeftOut) && state.is_named(m, |claim| claim.superseded)
        })
    }

    /// Slots that are free.
    fn room(&self, state: &State, replica: usize, term: usize) -> usize {
        let attempts = state.processes[replica].attempts.iter().flatten();
        let taken = attempts.filter(|attempt| attempt.term == term || self.has(Guard::SlotsOfProcess)).count();
        self.max_in_flight.saturating_sub(taken)
    }

    /// Of an ordering key only its head.
    fn heads(&self, rows: Revisions) -> Revisions {
        let first = rows.iter().position(Option::is_some);
        std::array::from_fn(|m| rows[m].filter(|_| !self.ordered || Some(m) == first))
    }

    /// The first of these rows that may be claimed, as many as have room. None: nothing may be.
    fn first(&self, rows: Revisions, left_out: [bool; MESSAGES], room: usize) -> Option<Revisions> {
        let mut first = free(self.heads(rows), left_out);
        first.iter_mut().filter(|row| row.is_some()).skip(room).for_each(|row| *row = None);
        first.iter().any(Option::is_some).then_some(first)
    }
}
