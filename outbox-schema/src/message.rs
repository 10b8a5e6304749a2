//! What a message is: its identity and its states.

use std::fmt;

/// The primary key of a row in `outbox`.
///
/// Ids are handed out before their transaction commits, so they become visible out of order: never remember
/// "the last id seen".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(transparent)]
pub struct MessageId(pub i64);

impl fmt::Display for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Counts every decision taken about a row: each mark, settlement, redrive, edit and cancel raises it, and
/// nothing lowers it. A claim records it and a mark compares it, so nobody decides about a row that has moved on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct Revision(pub i32);

/// The state of a row.
///
/// ```text
/// PENDING ──accepted──────────────▶ SUCCESS
///    │ ▲ └─retry, in doubt─▶ PENDING (available_at moves)
///    │ └──────redrive────────┐
///    └─refused, exhausted, expired, in doubt, cancelled─▶ DEAD
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "UPPERCASE")]
pub enum Status {
    /// Waiting for its time, for its turn, or in flight.
    Pending,
    /// The other side accepted it.
    Success,
    /// A dead letter: kept with its reason until it is redriven or its retention ends.
    Dead,
}

impl Status {
    /// The value of the `status` column.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "PENDING",
            Self::Success => "SUCCESS",
            Self::Dead => "DEAD",
        }
    }
}
