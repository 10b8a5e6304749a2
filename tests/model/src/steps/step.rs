//! A step, of any kind.

use super::{claiming, failover, leading, sending};
use crate::Protocol;
use crate::guards::Guard;
use crate::state::{MESSAGES, REPLICAS, State};

/// One step, by the name of the function that takes it, with the replica, and where it is about one the message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Step {
    /// The lease store forgets everything.
    Forget,
    /// The lease is acquired, an epoch is minted, and the claims of earlier terms are stamped.
    BeginTerm(usize),
    /// The term ends while a claim is being made: its gate is closed.
    End(usize),
    /// The term ends, for whatever reason (a renewal was refused, trust ran out, its time is up), its claims are told
    /// that its gate is closed, and the lease is released.
    HandOver(usize),
    /// A look shows which rows are due, and at which revisions.
    Look(usize),
    /// The schedule chooses of these. The claim proves its term, and selects those that still fit.
    Select(usize),
    /// A look that claims at once is told what to pass over.
    Unseen(usize),
    /// It proves its term, and selects what else is due.
    SelectUnseen(usize),
    /// The claim commits, and its rows are in flight.
    Claim(usize),
    /// The claim commits and its answer is lost, or comes after the end of the term: its process gives it up.
    ClaimUnanswered(usize),
    /// A claim that was given up, of the term of this index, is released.
    Release(usize),
    /// The attempt asks the gate.
    Gate(usize, usize),
    /// The request is written.
    Deliver(usize, usize),
    /// The receiver accepts it, and says so.
    Accept(usize, usize),
    /// The receiver accepts it, and its answer is lost.
    AcceptUnanswered(usize, usize),
    /// The receiver refuses it, for now.
    Refuse(usize, usize),
    /// The receiver never sees all of it, and no answer comes.
    TimeOut(usize, usize),
    /// The mark commits and is answered: the slot is free.
    Mark(usize, usize),
    /// The mark commits and its answer is lost: it will be repeated.
    MarkUnanswered(usize, usize),
    /// The rows that the term of this index left in doubt are decided.
    Settle(usize, usize),
    /// The process dies, and is started again.
    Crash(usize),
    /// Somebody edits a message that is due and that nobody has in hand.
    Edit(usize),
    /// The standby falls behind: of what is committed from now on it has nothing.
    Lag,
    /// The database is lost, and the standby takes its place.
    FailOver,
    /// The process finds that, and writes again what it knows and the database lacks.
    Mend(usize),
}

impl Step {
    /// The steps to try: those of replicas with something to do.
    pub(crate) fn of(state: &State) -> impl Iterator<Item = Self> {
        const OF_REPLICAS: [fn(usize) -> Step; 11] = [
            Step::BeginTerm,
            Step::End,
            Step::HandOver,
            Step::Look,
            Step::Select,
            Step::Unseen,
            Step::SelectUnseen,
            Step::Claim,
            Step::ClaimUnanswered,
            Step::Crash,
            Step::Mend,
        ];
        const OF_ATTEMPTS: [fn(usize, usize) -> Step; 8] = [
            Step::Gate,
            Step::Deliver,
            Step::Accept,
            Step::AcceptUnanswered,
            Step::Refuse,
            Step::TimeOut,
            Step::Mark,
            Step::MarkUnanswered,
        ];
        let replicas = (0..REPLICAS).flat_map(|replica| OF_REPLICAS.map(|step| step(replica)));
        let attempts = (0..REPLICAS).flat_map(move |replica| {
            let out = (0..MESSAGES).filter(move |message| state.processes[replica].attempts[*message].is_some());
            out.flat_map(move |message| OF_ATTEMPTS.map(|step| step(replica, message)))
        });
        let settling = (0..REPLICAS).flat_map(move |replica| {
            let left = state.claims.iter().filter(|claim| claim.superseded);
            left.map(move |claim| Self::Settle(replica, claim.term))
        });
        let releasing = state.claims.iter().map(|claim| Self::Release(claim.term));
        let others = (0..MESSAGES).map(Self::Edit).chain([Self::Forget, Self::Lag, Self::FailOver]);
        others.chain(replicas).chain(attempts).chain(settling).chain(releasing)
    }
}

impl Protocol {
    /// What comes of a step; none where it cannot be taken.
    pub(crate) fn take(&self, state: &State, step: Step) -> Option<State> {
        // Sends go on meanwhile. They might as well have come before the failover, or once all is written.
        if state.standby.awaits_any() && self.has(Guard::MendBeforeClaims) && !matches!(step, Step::Mend(_)) {
            return None;
        }
        match step {
            Step::Claim(replica) if self.fails_over => self.claim_at_once(state, replica),
            Step::Forget
            | Step::End(_)
            | Step::Look(_)
            | Step::Select(_)
            | Step::Unseen(_)
            | Step::SelectUnseen(_)
            | Step::ClaimUnanswered(_)
            | Step::Edit(_)
                if self.fails_over =>
            {
                None
            }
            Step::Forget => Some(leading::forget(state)),
            Step::End(replica) => leading::end(state, replica),
            Step::HandOver(replica) => self.hand_over(state, replica),
            Step::BeginTerm(replica) => self.begin_term(state, replica),
            Step::Look(replica) => self.look(state, replica),
            Step::Select(replica) => self.select(state, replica),
            Step::Unseen(replica) => self.unseen(state, replica),
            Step::SelectUnseen(replica) => self.select_unseen(state, replica),
            Step::Claim(replica) => self.claim(state, replica),
            Step::ClaimUnanswered(replica) => self.claim_unanswered(state, replica),
            Step::Release(term) => self.release(state, term),
            Step::Gate(replica, message) => self.gate(state, replica, message),
            Step::Deliver(replica, message) => self.deliver(state, replica, message),
            Step::Accept(replica, message) => sending::accept(state, replica, message),
            Step::Refuse(replica, message) => sending::refuse(state, replica, message),
            Step::AcceptUnanswered(replica, message) => self.accept_unanswered(state, replica, message),
            Step::TimeOut(replica, message) => self.time_out(state, replica, message),
            Step::Mark(replica, message) => self.mark(state, replica, message),
            Step::MarkUnanswered(replica, message) => self.mark_unanswered(state, replica, message),
            Step::Settle(replica, term) => self.settle(state, replica, term),
            Step::Crash(replica) => leading::crash(state, replica),
            Step::Edit(message) => claiming::edit(state, message),
            Step::Lag => self.lag(state),
            Step::FailOver => failover::fail_over(state),
            Step::Mend(replica) => self.mend(state, replica),
        }
    }
}
