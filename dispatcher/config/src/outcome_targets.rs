//! Where the outcomes of a channel are told.

use outbox_store::{OutcomeTarget, Verdict};

/// Where the outcomes of a channel are told, each by a message of its own.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OutcomeTargets {
    /// Where a dead letter is told. A message that a person or the application cancelled is none of these.
    pub on_dead: Option<OutcomeTarget>,
    /// Where a delivery is told.
    pub on_success: Option<OutcomeTarget>,
}

impl OutcomeTargets {
    /// Where the outcome of a message is told. None where the verdict is no outcome.
    pub fn of(&self, verdict: &Verdict) -> Option<OutcomeTarget> {
        match verdict {
            Verdict::Success { .. } => self.on_success.clone(),
            Verdict::Dead { .. } => self.on_dead.clone(),
            Verdict::Retry { .. } | Verdict::Deferred { .. } | Verdict::Spared { .. } | Verdict::Unsent => None,
        }
    }
}
