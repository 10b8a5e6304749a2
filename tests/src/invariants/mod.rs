//! What must hold after every run, whatever happened in it: accounts that know nothing of each other, the
//! application's, the receiver's, the tables' and the replicas', are compared. The rules are those of
//! docs/guarantees.md, by their numbers there.

mod rules;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use crate::fleet::{Led, Place};
use crate::receiver::Request;
use crate::tables::{AttemptRow, ClaimRow, MessageRow, Newest, TermRow};

/// What was written down during a run.
#[derive(Debug, Clone, Default)]
pub struct Accounts {
    /// Keys that the application committed.
    pub committed: HashSet<String>,
    /// Keys that it rolled back.
    pub rolled_back: HashSet<String>,
    /// What the receiver got, in the order of arrival.
    pub requests: Vec<Request>,
    /// `outbox`, in the order of ids.
    pub messages: Vec<MessageRow>,
    /// `outbox_attempt`.
    pub attempts: Vec<AttemptRow>,
    /// Every claim that was made.
    pub claims: Vec<ClaimRow>,
    /// `outbox_term_log`, in the order in which the terms began.
    pub terms: Vec<TermRow>,
    /// `outbox_term`.
    pub newest: Option<Newest>,
    /// The terms as the replicas' logs tell them; empty where nobody asks who sent what.
    pub led: Vec<Led>,
    /// Whether these logs were written by the clock of this machine.
    pub led_by_this_clock: bool,
    /// What the settings allow.
    pub limits: Limits,
}

/// What the settings of a fleet allow.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// `dispatch.max_in_flight`.
    pub max_in_flight: usize,
    /// `retry.max_attempts`.
    pub max_attempts: usize,
    /// Whether the channel's `in_doubt` is `dead_letter`.
    pub at_most_once: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Self { max_in_flight: 512, max_attempts: 10, at_most_once: false }
    }
}

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
    fn is_in_doubt(&self) -> bool {
        self.outcome == "in_doubt"
    }
}

/// What happened to each message.
struct Trail<'a> {
    requests: HashMap<&'a str, Vec<&'a Request>>,
    attempts: HashMap<i64, Vec<&'a AttemptRow>>,
}

impl<'a> Trail<'a> {
    fn of(accounts: &'a Accounts) -> Self {
        let mut trail = Self { requests: HashMap::new(), attempts: HashMap::new() };
        for request in &accounts.requests {
            trail.requests.entry(&request.key).or_default().push(request);
        }
        for attempt in &accounts.attempts {
            trail.attempts.entry(attempt.message_id).or_default().push(attempt);
        }
        trail
    }

    /// In the order of arrival.
    fn requests(&self, message: &MessageRow) -> &[&'a Request] {
        self.requests.get(message.idempotency_key.as_str()).map_or(&[], Vec::as_slice)
    }

    fn sent(&self, message: &MessageRow) -> usize {
        self.requests(message).len()
    }

    fn accepted(&self, message: &MessageRow) -> usize {
        self.requests(message).iter().filter(|request| request.is_accepted()).count()
    }

    fn attempts(&self, message: &MessageRow) -> impl Iterator<Item = &'a AttemptRow> {
        self.attempts.get(&message.id).into_iter().flatten().copied()
    }
}

/// Which replica each process was, by the random id that its holders begin with.
fn places(led: &[Led]) -> HashMap<&str, Place> {
    led.iter().map(|term| (instance(&term.holder), term.place)).collect()
}

fn instance(holder: &str) -> &str {
    holder.split('.').next().unwrap_or_default()
}
