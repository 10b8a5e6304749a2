//! Wakes the poller at the request of an application, even where another replica polls.

use std::sync::Arc;

use outbox_adapters::{Hints, LeaseError};

use crate::poller::attention::Attention;

/// The doorbell. An application rings it when it has committed a message.
#[derive(Debug, Clone)]
pub struct Doorbell {
    attention: Arc<Attention>,
    /// Passes hints on to the poller, whichever replica it is. None: a hint reaches the poller only at its own
    /// doorbell.
    hints: Option<Arc<dyn Hints>>,
}

/// Who heard the doorbell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeardBy {
    /// This replica, which polls.
    ThisReplica,
    /// The poller. The hint was passed on to it.
    Poller,
    /// No replica, though the hint was passed on: none polls at the moment. The next poller begins with a poll.
    Nobody,
    /// No replica: this one does not poll, and cannot pass the hint on.
    NotPassedOn,
}

impl Doorbell {
    /// The doorbell of the replica with this attention.
    pub fn new(attention: Arc<Attention>, hints: Option<Arc<dyn Hints>>) -> Self {
        Self { attention, hints }
    }

    /// Wakes the poller, if it is asleep.
    ///
    /// # Errors
    /// Another replica polls, and the hint could not be passed on to it.
    pub async fn ring(&self) -> Result<HeardBy, LeaseError> {
        if self.attention.hint() {
            return Ok(HeardBy::ThisReplica);
        }
        let Some(hints) = &self.hints else { return Ok(HeardBy::NotPassedOn) };
        Ok(match hints.give().await? {
            0 => HeardBy::Nobody,
            _ => HeardBy::Poller,
        })
    }
}
