//! An operation as its row says, and its result.

use outbox_store::store::Lossy;
use serde::{Deserialize, Serialize};
use sqlx::FromRow;

use super::{Outcome, by_action, said};
use crate::AuditEntry;

/// An operation, as its row says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct OperationEntry {
    /// The id of the operation, which is that of its entry in `outbox_audit`.
    pub id: i64,
    /// What it does: `redrive`, `replay`, `cancel`, `retry`, `edit`, `undo`, `purge` or `prune`.
    pub action: String,
    /// The name of who ordered the operation.
    pub who: Option<String>,
    /// Why, in their words.
    pub why: Option<String>,
    /// The order, as the audit has it: its filter or the number of ids, the pace, the change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Object>))]
    pub order: Option<serde_json::Value>,
    /// Where it stands.
    pub status: OperationStatus,
    /// Whether it is open and waits for the poller: nobody carries it out now.
    pub waits: bool,
    /// How many messages it is about. None where nobody has counted them.
    pub meant: Option<u64>,
    /// How many of them it has come to.
    pub done: u64,
    /// How many of them it has changed.
    pub changed: u64,
    /// When it began.
    pub began_at: String,
    /// When it ended. None: it is open.
    pub ended_at: Option<String>,
    /// How long it has lasted, in milliseconds.
    pub lasted_ms: u64,
    /// Why it failed.
    pub failure: Option<String>,
    /// The result, or what was done so far. Only of an operation that is asked for by its id.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "by_action")]
    pub result: Option<Outcome>,
}

/// Where an operation stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum OperationStatus {
    /// It goes on, or waits for the poller.
    Open,
    /// It has come to all its messages.
    Done,
    /// Somebody stopped it. What it had changed by then stays so.
    Stopped,
    /// The database refused a batch. What it had changed by then stays so.
    Failed,
}

/// The answer to whoever begins a change.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(clippy::large_enum_variant, reason = "there is one at a time")]
pub enum Ordered {
    /// There was nothing to do, or there is no row, and it was carried out at once.
    Over(Outcome),
    /// The operation with this id has begun.
    Begun(i64),
}

/// A page of operations.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct OperationPage {
    /// The operations, the newest first.
    pub operations: Vec<OperationEntry>,
    /// The `after` of the next page, which has lower ids. None on the last page.
    pub next: Option<i64>,
}

/// The answer to whoever stops an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Stopped {
    /// Whether the operation was open until now. It had ended otherwise.
    pub stopped: bool,
}

impl AuditEntry {
    /// The order of a change in words, where the entry is of one: which messages, what becomes of them, and how fast.
    pub fn order_in_words(&self) -> Option<String> {
        said::in_words(&serde_json::from_str(self.details.as_deref()?).ok()?)
    }
}

impl OperationEntry {
    /// The order in words: which messages, what becomes of them, and how fast.
    pub fn order_in_words(&self) -> Option<String> {
        self.order.as_ref().and_then(said::in_words)
    }

    /// How many messages it has come to a second. None before the first.
    pub fn rate(&self) -> Option<u64> {
        (self.done > 0).then(|| self.done.saturating_mul(1_000) / self.lasted_ms.max(1))
    }

    /// How long it will last yet at its pace, in milliseconds. None where that is not known, and where it has ended.
    pub fn left_ms(&self) -> Option<u64> {
        let left = self.meant?.saturating_sub(self.done);
        (self.status == OperationStatus::Open && self.done > 0).then(|| left.saturating_mul(self.lasted_ms) / self.done)
    }
}

impl OperationStatus {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Open, Self::Done, Self::Stopped, Self::Failed];

    /// The value of the `status` column.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Done => "done",
            Self::Stopped => "stopped",
            Self::Failed => "failed",
        }
    }

    pub(super) fn of(text: &str) -> Self {
        Self::ALL.into_iter().find(|status| status.as_str() == text).unwrap_or(Self::Failed)
    }
}

impl From<Row> for OperationEntry {
    fn from(row: Row) -> Self {
        let count = |number: i64| number.try_into().unwrap_or(0);
        Self {
            id: row.id,
            action: row.action,
            who: row.who,
            why: row.why,
            order: row.details.and_then(|details| serde_json::from_str(&details).ok()),
            status: OperationStatus::of(&row.status),
            waits: row.waits != 0,
            meant: row.meant.map(count),
            done: count(row.done),
            changed: count(row.changed),
            began_at: row.began_at,
            ended_at: row.ended_at,
            lasted_ms: count(row.lasted_ms),
            failure: row.failure,
            result: None,
        }
    }
}

#[derive(Debug, FromRow)]
pub(super) struct Row {
    pub(super) id: i64,
    pub(super) action: String,
    #[sqlx(try_from = "Lossy<Option<String>>")]
    pub(super) who: Option<String>,
    #[sqlx(try_from = "Lossy<Option<String>>")]
    pub(super) why: Option<String>,
    #[sqlx(try_from = "Lossy<Option<String>>")]
    pub(super) details: Option<String>,
    pub(super) status: String,
    pub(super) waits: i64,
    pub(super) meant: Option<i64>,
    pub(super) done: i64,
    pub(super) changed: i64,
    pub(super) began_at: String,
    pub(super) ended_at: Option<String>,
    pub(super) lasted_ms: i64,
    #[sqlx(try_from = "Lossy<Option<String>>")]
    pub(super) failure: Option<String>,
}
