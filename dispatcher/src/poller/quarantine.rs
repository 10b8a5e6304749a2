//! The quarantine of rows that were in flight when a poller died. One of them may have killed it. So they are resent one
//! at a time for each destination, and twice as many after each round that the process survives.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use outbox_schema::MessageId;
use outbox_store::Mark;
use outbox_store::store::Decided;
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;

use crate::in_flight::InFlight;

/// The quarantined rows of every destination.
#[derive(Debug)]
pub(crate) struct Quarantine {
    in_flight: Arc<InFlight>,
    wakeup: Arc<Notify>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The quarantined rows of each destination.
    lines: HashMap<String, Line>,
    /// The destinations of those that are out.
    of: HashMap<MessageId, String>,
}

/// The quarantined rows of one destination.
#[derive(Debug)]
struct Line {
    waiting: VecDeque<MessageId>,
    out: HashSet<MessageId>,
    round: usize,
    began: Instant,
}

impl Quarantine {
    /// An empty one. `wakeup` is notified when some are let out.
    pub(crate) fn new(in_flight: Arc<InFlight>, wakeup: Arc<Notify>) -> Self {
        Self { in_flight, wakeup, state: Mutex::default() }
    }

    /// Takes the rows of crashed terms that are to be resent. Lets out the first of each destination.
    pub(crate) fn add(&self, decided: &[Decided]) {
        let mut state = self.state();
        for row in decided.iter().filter(|row| row.crashed && row.resend) {
            state.lines.entry(row.destination.clone()).or_insert_with(Line::new).waiting.push_back(row.id);
        }
        self.advance(&mut state);
    }

    /// Notes that the attempts behind these marks did not kill the process.
    pub(crate) fn survived(&self, marks: &[Mark]) {
        let mut state = self.state();
        let State { lines, of } = &mut *state;
        if of.is_empty() {
            return;
        }
        let mut round_over = false;
        for mark in marks {
            let Some(line) = of.remove(&mark.id).and_then(|destination| lines.get_mut(&destination)) else { continue };
            line.out.remove(&mark.id);
            round_over |= line.out.is_empty();
        }
        if round_over {
            self.advance(&mut state);
        }
    }

    /// Goes on without the rounds that did not come back within `limit`. Their rows may have been cancelled or
    /// deferred.
    pub(crate) fn give_up_overdue(&self, limit: Duration) {
        let mut state = self.state();
        let State { lines, of } = &mut *state;
        let mut round_over = false;
        for line in lines.values_mut().filter(|line| line.began.elapsed() > limit) {
            let given_up = line.out.extract_if(|id| !self.in_flight.contains(*id));
            given_up.for_each(|id| drop(of.remove(&id)));
            round_over |= line.out.is_empty();
        }
        if round_over {
            self.advance(&mut state);
        }
    }

    /// Begins the next round of each line whose round is over.
    fn advance(&self, state: &mut State) {
        let State { lines, of } = state;
        let mut let_out = false;
        lines.retain(|destination, line| {
            if line.out.is_empty() {
                line.next_round();
                of.extend(line.out.iter().map(|id| (*id, destination.clone())));
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

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
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
    use outbox_store::ClaimId;

    use super::*;

    fn quarantine() -> (Arc<InFlight>, Quarantine) {
        let in_flight = Arc::new(InFlight::new(100));
        (in_flight.clone(), Quarantine::new(in_flight, Arc::new(Notify::new())))
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
        let (in_flight, quarantine) = quarantine();
        let rows: Vec<_> = (1..=5).map(|id| decided(id, "a", true)).chain([decided(9, "b", true)]).collect();
        quarantine.add(&rows);
        assert_eq!(held(&in_flight), [2, 3, 4, 5]);
        quarantine.survived(&marks(&[1]));
        assert_eq!(held(&in_flight), [4, 5]);
        quarantine.survived(&marks(&[2]));
        assert_eq!(held(&in_flight), [4, 5], "the round is not over");
        quarantine.survived(&marks(&[3]));
        assert_eq!(held(&in_flight), [0_i64; 0]);
    }

    #[test]
    fn a_mark_moves_the_line_of_its_own_destination_only() {
        let (in_flight, quarantine) = quarantine();
        let rows: Vec<_> =
            (1..=3).map(|id| decided(id, "a", true)).chain((7..=9).map(|id| decided(id, "b", true))).collect();
        quarantine.add(&rows);
        assert_eq!(held(&in_flight), [2, 3, 8, 9]);
        quarantine.survived(&marks(&[7, 5]));
        assert_eq!(held(&in_flight), [2, 3]);
        quarantine.survived(&marks(&[7]));
        assert_eq!(held(&in_flight), [2, 3], "it is out no more");
    }

    #[test]
    fn rows_of_a_term_that_closed_its_gate_are_no_suspects() {
        let (in_flight, quarantine) = quarantine();
        quarantine.add(&[decided(1, "a", false), decided(2, "a", false)]);
        assert!(in_flight.excluded().is_empty());
    }

    #[test]
    fn a_round_that_never_comes_back_does_not_hold_the_others_for_ever() {
        let (in_flight, quarantine) = quarantine();
        quarantine.add(&[decided(1, "a", true), decided(2, "a", true)]);
        assert_eq!(held(&in_flight), [2]);
        quarantine.give_up_overdue(Duration::from_mins(1));
        assert_eq!(held(&in_flight), [2], "it may still come");
        quarantine.give_up_overdue(Duration::ZERO);
        assert!(in_flight.excluded().is_empty());
    }
}
