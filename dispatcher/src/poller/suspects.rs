//! Suspects: rows that were in flight when a poller died. One of them may have killed it. So they are resent one at a
//! time for each destination, and twice as many after each round that the process survives.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use outbox_schema::store::Decided;
use outbox_schema::{Mark, MessageId};
use tokio::sync::Notify;

use crate::in_flight::InFlight;

/// The suspects of every destination.
#[derive(Debug)]
pub struct Suspects {
    in_flight: Arc<InFlight>,
    wakeup: Arc<Notify>,
    lines: Mutex<HashMap<String, Line>>,
}

/// The suspects of one destination.
#[derive(Debug)]
struct Line {
    waiting: VecDeque<MessageId>,
    out: HashSet<MessageId>,
    round: usize,
    began: Instant,
}

impl Suspects {
    /// No suspects. `wakeup` is notified when some are let out.
    pub fn new(in_flight: Arc<InFlight>, wakeup: Arc<Notify>) -> Self {
        Self { in_flight, wakeup, lines: Mutex::default() }
    }

    /// Takes the rows of crashed terms that are to be resent. Lets out the first of each destination.
    pub fn add(&self, decided: &[Decided]) {
        let mut lines = self.lines();
        for row in decided.iter().filter(|row| row.crashed && row.resend) {
            lines.entry(row.destination.clone()).or_insert_with(Line::new).waiting.push_back(row.id);
        }
        self.advance(&mut lines);
    }

    /// Notes that the attempts behind these marks did not kill the process.
    pub fn survived(&self, marks: &[Mark]) {
        let mut lines = self.lines();
        if lines.is_empty() {
            return;
        }
        for line in lines.values_mut() {
            for mark in marks {
                line.out.remove(&mark.id);
            }
        }
        self.advance(&mut lines);
    }

    /// Goes on without the rounds that did not come back within `limit`. Their rows may have been cancelled or
    /// deferred.
    pub fn give_up_overdue(&self, limit: Duration) {
        let mut lines = self.lines();
        if lines.is_empty() {
            return;
        }
        for line in lines.values_mut().filter(|line| line.began.elapsed() > limit) {
            line.out.retain(|id| self.in_flight.contains(*id));
        }
        self.advance(&mut lines);
    }

    fn advance(&self, lines: &mut HashMap<String, Line>) {
        let mut let_out = false;
        lines.retain(|_, line| {
            if line.out.is_empty() {
                line.next_round();
                let_out |= !line.out.is_empty();
            }
            !line.out.is_empty()
        });
        let held = lines.values().flat_map(|line| line.waiting.iter().copied()).collect();
        self.in_flight.set_held_back(held);
        if let_out {
            self.wakeup.notify_one();
        }
    }

    fn lines(&self) -> MutexGuard<'_, HashMap<String, Line>> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Line {
    fn new() -> Self {
        Self { waiting: VecDeque::new(), out: HashSet::new(), round: 1, began: Instant::now() }
    }

    fn next_round(&mut self) {
        let round = self.round.min(self.waiting.len());
        self.out = self.waiting.drain(..round).collect();
        self.round = self.round.saturating_mul(2);
        self.began = Instant::now();
    }
}

#[cfg(test)]
mod tests {
    use outbox_schema::ClaimId;

    use super::*;

    fn suspects() -> (Arc<InFlight>, Suspects) {
        let in_flight = Arc::new(InFlight::new(100, 1000));
        (in_flight.clone(), Suspects::new(in_flight, Arc::new(Notify::new())))
    }

    fn decided(id: i64, destination: &str, crashed: bool) -> Decided {
        Decided { id: MessageId(id), destination: destination.to_owned(), crashed, resend: true }
    }

    fn marks(ids: &[i64]) -> Vec<Mark> {
        ids.iter().map(|id| crate::fixtures::mark(ClaimId::mint(), *id)).collect()
    }

    fn held(in_flight: &InFlight) -> Vec<i64> {
        let mut held: Vec<_> = in_flight.excluded().into_iter().map(|id| id.0).collect();
        held.sort_unstable();
        held
    }

    #[test]
    fn suspects_go_out_singly_per_destination_and_twice_as_many_after_each_round() {
        let (in_flight, suspects) = suspects();
        let rows: Vec<_> = (1..=5).map(|id| decided(id, "a", true)).chain([decided(9, "b", true)]).collect();
        suspects.add(&rows);
        assert_eq!(held(&in_flight), [2, 3, 4, 5]);
        suspects.survived(&marks(&[1]));
        assert_eq!(held(&in_flight), [4, 5]);
        suspects.survived(&marks(&[2]));
        assert_eq!(held(&in_flight), [4, 5], "the round is not over");
        suspects.survived(&marks(&[3]));
        assert_eq!(held(&in_flight), [0_i64; 0]);
    }

    #[test]
    fn rows_of_a_term_that_closed_its_gate_are_no_suspects() {
        let (in_flight, suspects) = suspects();
        suspects.add(&[decided(1, "a", false), decided(2, "a", false)]);
        assert!(in_flight.excluded().is_empty());
    }

    #[test]
    fn a_round_that_never_comes_back_does_not_hold_the_others_for_ever() {
        let (in_flight, suspects) = suspects();
        suspects.add(&[decided(1, "a", true), decided(2, "a", true)]);
        assert_eq!(held(&in_flight), [2]);
        suspects.give_up_overdue(Duration::from_mins(1));
        assert_eq!(held(&in_flight), [2], "it may still come");
        suspects.give_up_overdue(Duration::ZERO);
        assert!(in_flight.excluded().is_empty());
    }
}
