//! What an attempt means for its destination.

use std::time::Duration;

use outbox_store::Pause;

/// What an attempt means for its destination.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct DestinationDecision {
    /// How long the message waits where the destination or the channel's credential is at fault, and not the message. No
    /// attempt is counted then.
    pub deferred: Option<Duration>,
    /// The pause that begins.
    pub pause: Option<Pause>,
    /// Whether the message was refused for what is in it: receivers accept the signature of its channel.
    pub at_fault: bool,
}
