//! What a fleet left, as the rules read it.

use std::collections::{HashMap, HashSet};

use super::limits::Limits;
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

/// What happened to each message.
pub(super) struct Trail<'a> {
    requests: HashMap<&'a str, Vec<&'a Request>>,
    attempts: HashMap<i64, Vec<&'a AttemptRow>>,
}

impl<'a> Trail<'a> {
    pub(super) fn of(accounts: &'a Accounts) -> Self {
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
    pub(super) fn requests(&self, message: &MessageRow) -> &[&'a Request] {
        self.requests.get(message.idempotency_key.as_str()).map_or(&[], Vec::as_slice)
    }

    pub(super) fn sent(&self, message: &MessageRow) -> usize {
        self.requests(message).len()
    }

    pub(super) fn accepted(&self, message: &MessageRow) -> usize {
        self.requests(message).iter().filter(|request| request.is_accepted()).count()
    }

    pub(super) fn attempts(&self, message: &MessageRow) -> impl Iterator<Item = &'a AttemptRow> {
        self.attempts.get(&message.id).into_iter().flatten().copied()
    }
}

/// Which replica each process was, by the random id that its holders begin with.
pub(super) fn places(led: &[Led]) -> HashMap<&str, Place> {
    led.iter().map(|term| (instance(&term.holder), term.place)).collect()
}

pub(super) fn instance(holder: &str) -> &str {
    holder.split('.').next().unwrap_or_default()
}
