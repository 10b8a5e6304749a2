//! The ledger of the receiver: every request, by idempotency key.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};

/// The receiver's own account of the requests that arrived. The dispatcher has no influence on it.
#[derive(Debug)]
pub(super) struct Ledger {
    started: Instant,
    pages: Mutex<Pages>,
}

#[derive(Debug, Default)]
struct Pages {
    messages: HashMap<String, Tally>,
    requests: usize,
    accepted: usize,
    open: usize,
}

/// The requests that arrived for one message.
#[derive(Debug, Clone, Default)]
pub(super) struct Tally {
    /// The number of requests.
    pub(super) requests: u32,
    /// The arrival of each accepted request, as the time since the demo began.
    pub(super) accepted: Vec<Duration>,
}

/// A request that the receiver has not answered yet.
#[derive(Debug)]
pub(super) struct Open(Arc<Ledger>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.pages().open -= 1;
    }
}

/// The sums over all messages.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sums {
    /// Requests that arrived.
    pub(super) requests: usize,
    /// Requests that were accepted.
    pub(super) accepted: usize,
    /// Different idempotency keys.
    pub(super) messages: usize,
    /// Keys that were accepted more than once.
    pub(super) repeated: usize,
    /// Requests that the receiver has not answered yet.
    pub(super) open: usize,
}

impl Ledger {
    /// An empty ledger. Times count from `started`.
    pub(super) fn new(started: Instant) -> Arc<Self> {
        Arc::new(Self { started, pages: Mutex::default() })
    }

    /// Enters a request for the message `key`. `accept` learns how many requests came before, and decides. An accepted
    /// request stays accepted, also if the client no longer waits for the answer.
    pub(super) fn enter<T>(self: &Arc<Self>, key: &str, accept: impl FnOnce(u32) -> (bool, T)) -> (Open, T) {
        let at = self.started.elapsed();
        let mut pages = self.pages();
        let tally = pages.messages.entry(key.to_owned()).or_default();
        let (accepted, answer) = accept(tally.requests);
        tally.requests += 1;
        tally.accepted.extend(accepted.then_some(at));
        pages.requests += 1;
        pages.accepted += usize::from(accepted);
        pages.open += 1;
        (Open(self.clone()), answer)
    }

    /// The present sums.
    pub(super) fn sums(&self) -> Sums {
        let pages = self.pages();
        Sums {
            requests: pages.requests,
            accepted: pages.accepted,
            messages: pages.messages.len(),
            repeated: pages.messages.values().filter(|tally| tally.accepted.len() > 1).count(),
            open: pages.open,
        }
    }

    /// The requests that arrived, for each message.
    pub(super) fn messages(&self) -> HashMap<String, Tally> {
        self.pages().messages.clone()
    }

    fn pages(&self) -> MutexGuard<'_, Pages> {
        self.pages.lock()
    }
}
