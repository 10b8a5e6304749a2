//! Destinations and channels that take nothing for now, as this process knows them. The database keeps them too.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use outbox_schema::{Outcome, Pause, Verdict};
use tokio::time::Instant;

/// What is paused, and until when.
#[derive(Debug, Default)]
pub struct Pauses {
    until: Mutex<HashMap<String, Instant>>,
}

impl Pauses {
    /// Begins anew with what the database says.
    pub fn replace(&self, paused: &[Pause]) {
        self.until.lock().unwrap_or_else(PoisonError::into_inner).clear();
        for pause in paused {
            self.add(&pause.destination, pause.remaining);
        }
    }

    /// Notes the pause that a verdict brings, if it brings one.
    pub fn learn(&self, outcome: &Outcome, verdict: &Verdict) {
        if let (Outcome::Defer { .. }, Verdict::Deferred { destination, until }) = (outcome, verdict) {
            self.add(destination, *until);
        }
    }

    /// What is paused now.
    pub fn current(&self) -> Vec<Pause> {
        let now = Instant::now();
        let mut until = self.until.lock().unwrap_or_else(PoisonError::into_inner);
        until.retain(|_, end| *end > now);
        until
            .iter()
            .map(|(destination, end)| Pause { destination: destination.clone(), remaining: *end - now })
            .collect()
    }

    fn add(&self, destination: &str, remaining: Duration) {
        let end = Instant::now() + remaining;
        let mut until = self.until.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = until.entry(destination.to_owned()).or_insert(end);
        *entry = (*entry).max(end);
    }
}
