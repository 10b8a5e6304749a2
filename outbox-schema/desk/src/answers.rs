//! What the desk answers about changes by hand.

use outbox_schema::MessageId;
use serde::{Deserialize, Serialize};

/// Why a message was left unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Refusal {
    /// There is no such message.
    #[error("there is no such message")]
    NotThere,
    /// The message is not a dead letter.
    #[error("it is not a dead letter")]
    NotDead,
    /// The message is not delivered.
    #[error("it is not delivered: a dead letter is redriven, and what waits is sent anyway")]
    NotDelivered,
    /// The message has been replayed before.
    #[error("it has been replayed before (`again` sends it once more)")]
    Replayed,
    /// The message is delivered, or a dead letter already.
    #[error("it does not wait: it is delivered, or dead already")]
    NotPending,
    /// The message is due already, and a retry is for what is not.
    #[error("it is due already: `outbox messages explain` says what keeps it")]
    Due,
    /// The message is deferred.
    #[error(
        "it is deferred, since its destination or channel takes nothing: once that is mended, `outbox destinations resume` has it \
         tried"
    )]
    Deferred,
    /// The message was never tried, and a filter of a retry means only what was.
    #[error("it was never tried, and is scheduled for later: only by its id is it sent now")]
    Untried,
    /// A claim names the message at its present revision.
    #[error("it is in flight: try again")]
    InFlight,
    /// A transaction of somebody else, as of the application, has locked the message's row.
    #[error("a transaction that is still open has locked it, as one of the application: try again once that has ended")]
    Held,
    /// A poller or an operator has decided about the message since the operator looked at it.
    #[error("it has changed meanwhile: look at it again")]
    Changed,
    /// Another payload under the same idempotency key.
    #[error(
        "its payload would change: a receiver that knows its key would not look at the new one, so leave keep-key out"
    )]
    PayloadUnderOldKey,
    /// The payload is larger than one that is read back.
    #[error("its payload has more than 8 MiB, and the audit would have to keep it: write another message in its place")]
    PayloadUnread,
}

/// A message that was left unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Skipped {
    /// The message.
    pub id: MessageId,
    /// Why it was left unchanged.
    pub because: Refusal,
}

/// The result of a cancellation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Cancelled {
    /// The message is a dead letter now, and will not be sent.
    Done {
        /// The message.
        id: MessageId,
    },
    /// Nothing was changed.
    Refused(Skipped),
}

/// The result of an edit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Edited {
    /// The edit is written, and the message is still a dead letter.
    Done {
        /// The message.
        id: MessageId,
        /// The idempotency key before the edit.
        old_key: String,
        /// The idempotency key from now on. The same where it was kept.
        new_key: String,
    },
    /// Nothing was changed.
    Refused(Skipped),
}

/// An operation that can be undone.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Undoable {
    /// A redrive: its messages become dead letters again.
    #[default]
    Redrive,
    /// A replay: its rows are removed.
    Replay,
}
