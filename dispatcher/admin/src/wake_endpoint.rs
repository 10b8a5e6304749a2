//! Wakes the poller at the request of an application, even where another replica polls.

use std::sync::Arc;

use outbox_adapters::{Hints, LeaseError};

use outbox_dispatcher::poller::wake_ups::WakeUpListener;

/// What `POST /api/v1/wake` does. An application asks for it when it has committed a message.
#[derive(Debug, Clone)]
pub struct WakeEndpoint {
    listener: Arc<WakeUpListener>,
    /// Where the poller listens, whichever replica it is. None: it hears its own endpoint only.
    wake_ups: Option<Arc<dyn Hints>>,
}

/// Who heard the request to wake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeardBy {
    /// This replica, which polls.
    ThisReplica,
    /// The poller. The wake-up was passed on to it.
    Poller,
    /// No replica, though the wake-up was passed on: none polls at the moment. The next poller begins with a poll.
    Nobody,
    /// No replica: this one does not poll, and cannot pass the wake-up on.
    NotPassedOn,
}

impl WakeEndpoint {
    /// That of the replica with this listener.
    pub fn new(listener: Arc<WakeUpListener>, wake_ups: Option<Arc<dyn Hints>>) -> Self {
        Self { listener, wake_ups }
    }

    /// Wakes the poller, if it is idle.
    ///
    /// # Errors
    /// Another replica polls, and the wake-up could not be passed on to it.
    pub async fn wake(&self) -> Result<HeardBy, LeaseError> {
        if self.listener.wake() {
            return Ok(HeardBy::ThisReplica);
        }
        let Some(wake_ups) = &self.wake_ups else { return Ok(HeardBy::NotPassedOn) };
        Ok(match wake_ups.give().await? {
            0 => HeardBy::Nobody,
            _ => HeardBy::Poller,
        })
    }
}
