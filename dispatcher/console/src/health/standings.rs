//! What a replica says of its readiness, asked once for all who ask within five seconds.

use std::sync::Arc;
use std::time::Duration;

use crate::health::cached::Cached;
use crate::health::readiness::{Readiness, Standing};

/// How long the answer of a readiness check is reused: probes of many kinds may ask at once.
const MAX_AGE: Duration = Duration::from_secs(5);

/// How long somebody waits for what the database or the lease store says. Orchestrators wait for a second or a few, and must hear
/// the cause from a replica whose database says nothing at all.
pub const SOON: Duration = Duration::from_millis(1500);

/// The newest standing of a replica.
#[derive(Clone)]
pub struct Standings {
    readiness: Arc<dyn Readiness>,
    newest: Arc<Cached<Standing>>,
}

impl Standings {
    /// Those that `readiness` finds.
    pub fn new(readiness: Arc<dyn Readiness>) -> Self {
        Self { readiness, newest: Arc::new(Cached::new(MAX_AGE)) }
    }

    /// The standing now, or who does not answer.
    pub async fn now(&self) -> Standing {
        let readiness = self.readiness.clone();
        let standing = self.newest.get_within(SOON, move || async move { readiness.look().await }).await;
        standing.unwrap_or_else(|| Standing {
            causes: vec![format!("{}: no answer within {SOON:?}", self.readiness.waits_for())],
            notes: Vec::new(),
        })
    }
}
