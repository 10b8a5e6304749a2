//! What the desk answers about changes by hand.

use std::ops::Deref;

use serde::{Deserialize, Serialize};

use crate::MessageId;

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

/// Messages that were left unchanged.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Skips {
    /// The first of them and why, 1,000 at most.
    skipped: Vec<Skipped>,
    /// How many there are in all.
    #[serde(default)]
    skipped_count: u64,
}

/// The most messages that a result names of those that it left.
const NAMED: usize = 1_000;

impl Skips {
    /// How many messages were left unchanged.
    pub fn count(&self) -> u64 {
        // A replica of an earlier release names them all, and does not count them.
        self.skipped_count.max(self.skipped.len() as u64)
    }

    pub(super) fn extend(&mut self, others: Vec<Skipped>) {
        self.skipped_count += others.len() as u64;
        self.skipped.extend(others.into_iter().take(NAMED.saturating_sub(self.skipped.len())));
    }
}

impl Deref for Skips {
    type Target = [Skipped];

    /// The messages that are named.
    fn deref(&self) -> &[Skipped] {
        &self.skipped
    }
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

/// The result of a cancellation of many messages.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CancelledAll {
    /// The id of the entry in `outbox_audit`. None where there was nothing to do.
    pub audit_id: Option<i64>,
    /// Messages that were selected.
    pub meant: u64,
    /// Messages that are dead letters now, and will not be sent.
    pub cancelled: u64,
    /// Messages that were left unchanged, and why.
    #[serde(flatten)]
    pub skipped: Skips,
}

/// The result of a retry.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Retried {
    /// The id of the entry in `outbox_audit`. None where there was nothing to do.
    pub audit_id: Option<i64>,
    /// Messages that were selected.
    pub meant: u64,
    /// Messages that are due now.
    pub retried: u64,
    /// How many of these were never tried: they were scheduled for later. Only ids mean such messages.
    pub untried: u64,
    /// Messages that were left unchanged, and why.
    #[serde(flatten)]
    pub skipped: Skips,
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

/// The result of the same edit of many dead letters.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct EditedAll {
    /// The id of the entry in `outbox_audit`. None where there was nothing to do.
    pub audit_id: Option<i64>,
    /// Dead letters that were selected.
    pub meant: u64,
    /// Dead letters that are changed, each under a new idempotency key unless the change keeps it.
    pub edited: u64,
    /// Dead letters that the change would not have altered.
    pub unchanged: u64,
    /// Dead letters that were left as they are: the first 1,000.
    pub left: Vec<Left>,
    /// How many were left as they are.
    #[serde(default)]
    pub left_count: u64,
}

impl EditedAll {
    pub(super) fn leave(&mut self, left: Left) {
        self.left_count += 1;
        if self.left.len() < NAMED {
            self.left.push(left);
        }
    }
}

/// A message that an edit left as it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Left {
    /// The message.
    pub id: MessageId,
    /// Why it was left.
    pub because: String,
}

/// The result of a redrive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Redriven {
    /// The id of the entry in `outbox_audit`, which an undo needs. None where there was nothing to do.
    pub audit_id: Option<i64>,
    /// Dead letters that were selected.
    pub meant: u64,
    /// Messages that are due again.
    pub redriven: u64,
    /// The first redriven messages, 100 at most.
    pub messages: Vec<MessageId>,
    /// Dead letters that were left unchanged, and why.
    #[serde(flatten)]
    pub skipped: Skips,
}

impl Redriven {
    /// The most messages that [`Redriven::messages`] names.
    pub const SHOWN: usize = 100;
}

/// The result of a replay.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Replayed {
    /// The id of the entry in `outbox_audit`, which an undo needs. None where there was nothing to do.
    pub audit_id: Option<i64>,
    /// Delivered messages that were selected.
    pub meant: u64,
    /// Messages that are sent again, each by a row of its own.
    pub replayed: u64,
    /// The first of these rows, 100 at most.
    pub replays: Vec<Replay>,
    /// The last message that was come to: `after` goes on from there. None where there was nothing to do.
    #[serde(default)]
    pub last: Option<MessageId>,
    /// Messages that were left out, and why.
    #[serde(flatten)]
    pub skipped: Skips,
}

impl Replayed {
    /// The most rows that [`Replayed::replays`] names.
    pub const SHOWN: usize = 100;
}

/// A row that repeats a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, sqlx::FromRow)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Replay {
    /// The row.
    pub id: i64,
    /// The message that it repeats.
    pub replay_of: i64,
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

/// The result of an undo.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Undone {
    /// The operation that was undone.
    #[serde(default)]
    pub undone: Undoable,
    /// The id of the undo's own entry in `outbox_audit`.
    pub audit_id: Option<i64>,
    /// Messages that are dead letters again, as before the redrive. For a replay, rows of it that are removed again.
    pub returned: u64,
    /// Messages that were delivered since.
    pub delivered: u64,
    /// Messages that became dead letters since.
    pub dead_again: u64,
    /// Messages that are in flight, have been attempted, or were changed by hand since. They were left unchanged.
    pub under_way: u64,
    /// Messages that are no longer in the outbox.
    pub gone: u64,
}

/// The result of a purge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Purged {
    /// The id of the entry in `outbox_audit`. None where there was nothing to do.
    pub audit_id: Option<i64>,
    /// Dead letters that were selected.
    pub meant: u64,
    /// Dead letters that were deleted.
    pub purged: u64,
    /// Dead letters that were left unchanged, and why.
    #[serde(flatten)]
    pub skipped: Skips,
}
