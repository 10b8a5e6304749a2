//! The rules, held against all that a fleet left.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::accounts::{Accounts, Trail};
use super::rules;
use crate::tables::{AttemptRow, TermRow};

/// A run that broke nothing.
#[derive(Debug)]
pub struct Report {
    /// Messages by status, dead ones by `DEAD` and their reason.
    pub messages: BTreeMap<String, usize>,
    /// For each key that was accepted more than once, the attempts that explain it.
    pub twice: BTreeMap<String, Vec<AttemptRow>>,
    /// Deliveries beyond the first of each message, in all.
    pub repeats: usize,
    /// The attempts in doubt.
    pub in_doubt: Vec<AttemptRow>,
    /// The terms, in the order in which they began.
    pub terms: Vec<TermRow>,
}

impl Report {
    /// Whether each message was accepted once at most.
    pub fn is_without_duplicates(&self) -> bool {
        self.twice.is_empty()
    }

    /// Asserts that there are so many messages, and that all were delivered.
    pub fn assert_all_delivered(&self, messages: usize) {
        assert_eq!(self.messages, BTreeMap::from([("SUCCESS".to_owned(), messages)]));
    }

    /// Asserts that no message was accepted twice, and that none was ever in doubt.
    pub fn assert_nothing_in_doubt(&self) {
        assert!(self.is_without_duplicates(), "{:?}", self.twice);
        assert!(self.in_doubt.is_empty(), "{:?}", self.in_doubt);
    }

    /// How many messages the end of this term left to be settled.
    pub fn left_in_doubt_by(&self, epoch: i64) -> usize {
        self.in_doubt.iter().filter(|attempt| attempt.epoch == epoch && attempt.settled == 1).count()
    }
}

/// How often a poller handed over while it had messages in flight, and the next one had work too.
pub fn hand_overs_under_load(terms: &[TermRow]) -> usize {
    changes_under_load(terms, &BTreeSet::new())
}

/// The same, and how often another followed a poller of these epochs, which a fault struck with messages in flight.
pub fn changes_under_load(terms: &[TermRow], struck: &BTreeSet<i64>) -> usize {
    let loaded = |term: &TermRow| term.in_flight_at_end() > 0;
    let takes_over = |term: &TermRow| term.claimed.unwrap_or_default() > 0;
    let hands_over = |pair: &[TermRow]| loaded(&pair[0]) && takes_over(&pair[1]);
    terms.windows(2).filter(|pair| struck.contains(&pair[0].epoch) || hands_over(pair)).count()
}

/// How many processes led a term in which they claimed something.
pub fn pollers(terms: &[TermRow]) -> usize {
    let worked = terms.iter().filter(|term| term.claimed != Some(0));
    worked.map(TermRow::instance).collect::<HashSet<_>>().len()
}

/// Compares the accounts.
///
/// # Panics
/// Where a guarantee was broken, with all that was.
pub fn check(accounts: &Accounts) -> Report {
    let breaches = breaches(accounts);
    let some: Vec<_> = breaches.iter().take(20).cloned().collect();
    assert!(breaches.is_empty(), "{} guarantees broken:\n{}", breaches.len(), some.join("\n"));
    let trail = Trail::of(accounts);
    let mut report = Report {
        messages: BTreeMap::new(),
        twice: BTreeMap::new(),
        repeats: 0,
        in_doubt: accounts.attempts.iter().filter(|attempt| attempt.is_in_doubt()).cloned().collect(),
        terms: accounts.terms.clone(),
    };
    for message in &accounts.messages {
        let reason = message.dead_reason.as_ref().map(|reason| format!(" {reason}")).unwrap_or_default();
        *report.messages.entry(message.status.clone() + &reason).or_default() += 1;
        let accepted = trail.accepted(message);
        if accepted > 1 {
            report.repeats += accepted - 1;
            let doubts = trail.attempts(message).filter(|attempt| attempt.is_in_doubt()).cloned().collect();
            report.twice.insert(message.idempotency_key.clone(), doubts);
        }
    }
    report
}

/// Each breach of a guarantee, in words.
pub fn breaches(accounts: &Accounts) -> Vec<String> {
    let trail = Trail::of(accounts);
    let mut breaches = Vec::new();
    rules::epochs_increase(accounts, &mut breaches);
    rules::claimed_before_sent(accounts, &trail, &mut breaches);
    rules::success_was_accepted(accounts, &trail, &mut breaches);
    rules::none_lost_and_none_invented(accounts, &mut breaches);
    rules::sends_are_counted(accounts, &trail, &mut breaches);
    rules::duplicates_are_explained_and_bounded(accounts, &trail, &mut breaches);
    rules::only_the_poller_sends(accounts, &mut breaches);
    rules::ordering_keys_hold(accounts, &trail, &mut breaches);
    breaches
}

impl AttemptRow {
    pub(super) fn is_in_doubt(&self) -> bool {
        self.outcome == "in_doubt"
    }
}
