//! Wakes the poller for whoever asks this replica to, though another one may poll.

use std::sync::Arc;

use outbox_adapters::{Hints, LeaseError};

use crate::poller::hints::HintListener;

/// Rung by an application that has committed something.
#[derive(Debug, Clone)]
pub struct Doorbell {
    listener: Arc<HintListener>,
    /// Where the poller listens, whichever replica it is. None: it hears its own doorbell only.
    hints: Option<Arc<dyn Hints>>,
}

/// Who heard a doorbell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeardBy {
    /// This replica polls.
    ThisReplica,
    /// The poller, to which the hint was passed on.
    Poller,
    /// Nobody listens where it was passed on: no replica polls at the moment, and the next poller begins with a poll.
    Nobody,
    /// This replica does not poll and cannot pass the hint on.
    NotPassedOn,
}

impl Doorbell {
    /// That of the replica with this listener.
    pub fn new(listener: Arc<HintListener>, hints: Option<Arc<dyn Hints>>) -> Self {
        Self { listener, hints }
    }

    /// Wakes the poller, if it is asleep.
    ///
    /// # Errors
    /// Another replica polls, and the hint could not be passed on to it.
    pub async fn ring(&self) -> Result<HeardBy, LeaseError> {
        if self.listener.hint() {
            return Ok(HeardBy::ThisReplica);
        }
        let Some(hints) = &self.hints else { return Ok(HeardBy::NotPassedOn) };
        Ok(match hints.give().await? {
            0 => HeardBy::Nobody,
            _ => HeardBy::Poller,
        })
    }
}
