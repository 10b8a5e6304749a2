//! The kinds of receivers: webhooks, or pushes for FCM.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The kind of the receiver.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) enum Kind {
    /// Webhooks, over plain HTTP/1.1.
    Webhooks {
        /// The time from a request to its answer.
        thinking: Duration,
        /// Whether to listen at all addresses of loopback, each of them a host of its own.
        hosts: bool,
    },
    /// A stand-in for FCM.
    Fcm,
}
