//! What the desk says of what was done by hand.

use serde::{Deserialize, Serialize};

use crate::MessageId;

/// Why a message was left as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Refusal {
    /// There is no such message.
    #[error("there is no such message")]
    NotThere,
    /// It is no dead letter.
    #[error("it is not a dead letter")]
    NotDead,
    /// It is delivered, or a dead letter already.
    #[error("it does not wait: it is delivered, or dead already")]
    NotPending,
    /// A claim names it as it is now.
    #[error("it is in flight: try again")]
    InFlight,
    /// Somebody decided about it since it was looked at.
    #[error("it has changed meanwhile: look at it again")]
    Changed,
}

/// A message that was left as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Skipped {
    /// Which.
    pub id: MessageId,
    /// Why.
    pub because: Refusal,
}

/// What became of a cancellation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Cancelled {
    /// It is a dead letter now, and will not be sent.
    Done {
        /// Which message.
        id: MessageId,
    },
    /// Nothing was changed.
    Refused(Skipped),
}

/// What became of an edit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Edited {
    /// It is written, and the message is still a dead letter.
    Done {
        /// Which message.
        id: MessageId,
        /// Under which it would have been sent.
        old_key: String,
        /// Under which it will be.
        new_key: String,
    },
    /// Nothing was changed.
    Refused(Skipped),
}

/// What a redrive did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Redriven {
    /// Its entry in `outbox_audit`; an undo asks for it. None where there was nothing to do.
    pub audit_id: Option<i64>,
    /// Dead letters that were meant.
    pub meant: u64,
    /// Messages that are due again.
    pub redriven: u64,
    /// The first of them, [`Redriven::SHOWN`] at most.
    pub messages: Vec<MessageId>,
    /// Those that were left as they are.
    pub skipped: Vec<Skipped>,
}

impl Redriven {
    /// How many messages are named.
    pub const SHOWN: usize = 100;
}

/// What an undo did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Undone {
    /// Its own entry in `outbox_audit`. None where there was nothing to do.
    pub audit_id: Option<i64>,
    /// Messages that are dead letters as before.
    pub returned: u64,
    /// Messages that were delivered meanwhile.
    pub delivered: u64,
    /// Messages that became dead letters again meanwhile.
    pub dead_again: u64,
    /// Messages that are in flight, have been attempted, or were changed by hand since: left as they are.
    pub under_way: u64,
    /// Messages that are not there any more.
    pub gone: u64,
}

/// What a purge did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Purged {
    /// Its entry in `outbox_audit`. None where there was nothing to do.
    pub audit_id: Option<i64>,
    /// Dead letters that were meant.
    pub meant: u64,
    /// Messages that are gone.
    pub purged: u64,
    /// Those that were left as they are.
    pub skipped: Vec<Skipped>,
}
