//! Marks: one marker for each process, which repeats a mark until it has an answer.

use crate::guards::Guard;
use crate::promise::Promise;
use crate::state::{Attempt, BUDGET, Marked, Message, Outcome, Stage, State, Status};
use crate::{Faults, Policy, Protocol};

impl Protocol {
    /// Frees the slot: only now may a claim of this process see the row again.
    /// (That a fenced mark ends its term is one of the ways in which a term can end at any time.)
    pub(super) fn mark(&self, state: &State, replica: usize, message: usize) -> Option<State> {
        let mut next = self.written(state, replica, message)?;
        next.processes[replica].attempts[message] = None;
        Some(next)
    }

    pub(super) fn mark_unanswered(&self, state: &State, replica: usize, message: usize) -> Option<State> {
        if self.faults == Faults::None {
            return None;
        }
        self.written(state, replica, message)
    }

    /// What the database makes of a mark.
    fn written(&self, state: &State, replica: usize, message: usize) -> Option<State> {
        let attempt = state.processes[replica].attempts[message]?;
        let Stage::Over(outcome) = attempt.stage else { return None };
        let mut next = state.clone();
        if self.write(&mut next, replica, message, attempt, outcome) {
            if attempt.counted {
                next.break_promise(Promise::CountedOnce);
            }
            let counted = next.messages[message].attempts > state.messages[message].attempts;
            next.processes[replica].attempts[message] = Some(Attempt { counted, ..attempt });
            if state.standby.lags() {
                next.journal.push(Marked { replica, message, attempt });
                next.journal.sort_unstable();
            }
        }
        Some(next)
    }

    /// Writes the mark of this attempt. Says whether it applied.
    pub(super) fn write(
        &self,
        state: &mut State,
        replica: usize,
        message: usize,
        attempt: Attempt,
        outcome: Outcome,
    ) -> bool {
        let row = state.messages[message];
        let marked = self.marked(row, outcome);
        let claim = state
            .claims
            .iter()
            .position(|claim| claim.term == attempt.term && claim.revisions[message] == Some(attempt.revision));
        let takes = row.status == Status::Pending
            && (row.revision == attempt.revision || !self.has(Guard::MarkComparesRevision))
            && (claim.is_some() || !self.has(Guard::MarkNeedsClaim) || !self.has(Guard::ClaimBeforeSend));
        if takes {
            state.messages[message] = marked;
        }
        if let Some(claim) = claim.filter(|claim| is_last_of(state, replica, message, *claim)) {
            state.claims.remove(claim);
        }
        takes
    }

    /// The row as this outcome leaves it.
    fn marked(&self, row: Message, outcome: Outcome) -> Message {
        let rise = u8::from(outcome != Outcome::Unsent || self.has(Guard::UnsentRaisesRevision));
        let row = Message { revision: row.revision + rise, ..row };
        match outcome {
            Outcome::Unsent => row,
            Outcome::Delivered => counted(row, Status::Success),
            Outcome::Retry => counted(row, left(row)),
            Outcome::InDoubt => self.in_doubt(row),
        }
    }

    /// The row after an attempt in doubt.
    pub(super) fn in_doubt(&self, row: Message) -> Message {
        match self.in_doubt {
            Policy::Resend => Message { unexplained: row.unexplained - 1, ..counted(row, left(row)) },
            Policy::DeadLetter => counted(row, Status::InDoubt),
        }
    }
}

/// The row with one more attempt counted.
fn counted(row: Message, status: Status) -> Message {
    Message { status, attempts: row.attempts + 1, uncounted: row.uncounted - 1, ..row }
}

/// The status after one more attempt that delivered nothing.
fn left(row: Message) -> Status {
    if row.attempts + 1 >= BUDGET { Status::Exhausted } else { Status::Pending }
}

/// Whether this message is the last of the claim that this process has not marked.
fn is_last_of(state: &State, replica: usize, message: usize, claim: usize) -> bool {
    let claim = &state.claims[claim];
    let out = |(other, attempt): (usize, &Option<Attempt>)| {
        let attempt = attempt.filter(|attempt| attempt.term == claim.term);
        other != message && attempt.is_some_and(|attempt| claim.revisions[other] == Some(attempt.revision))
    };
    !state.processes[replica].attempts.iter().enumerate().any(out)
}
