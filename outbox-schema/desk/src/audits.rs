//! The audit as a list: what people did by hand, the newest first.

use outbox_schema::MessageId;
use outbox_store::Database;
use outbox_store::sql::{AnyTransaction, Value};
use serde::{Deserialize, Serialize};
use sqlx::FromRow;

use super::error::while_doing;
use super::finding::said_if;
use super::statements::{AUDITS, AUDITS_END};
use super::{AuditEntry, DeskError, Moment};

/// The most entries that one page looks at. An operation on many messages has an entry for each.
pub const LOOKED_AT: u32 = 100_000;

/// A filter of the audit. An entry must meet all conditions that are given.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams))]
#[cfg_attr(feature = "openapi", into_params(parameter_in = Query))]
#[serde(deny_unknown_fields)]
pub struct AuditFilter {
    /// The id of a message: all that was done to it, as a part of an operation too. Without it, operations are listed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<i64>,
    /// Only entries made at this moment or later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", param(value_type = Option<String>, example = "2h"))]
    pub since: Option<Moment>,
    /// Only entries made at this moment or earlier.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", param(value_type = Option<String>, example = "10m"))]
    pub until: Option<Moment>,
    /// The beginning of who did it: `ada` finds `ada (page)` too.
    #[serde(default, deserialize_with = "said_if", skip_serializing_if = "Option::is_none")]
    pub who: Option<String>,
    /// The action of the entries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", param(inline))]
    pub action: Option<AuditAction>,
    /// The id of an entry: its parts, as the messages that a failover lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part_of: Option<i64>,
}

/// What people do by hand, as the audit names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum AuditAction {
    /// Dead letters were made due again.
    Redrive,
    /// A redrive or a replay was taken back.
    Undo,
    /// Messages were edited.
    Edit,
    /// Messages that wait became dead letters.
    Cancel,
    /// Messages that wait for another attempt were made due at once.
    Retry,
    /// Delivered messages were sent again.
    Replay,
    /// Dead letters were removed.
    Purge,
    /// What was past its retention was removed.
    Prune,
    /// A destination, a recurring message or a job was paused.
    Pause,
    /// A destination, a recurring message or a job was resumed.
    Resume,
    /// Targets that a receiver called gone were forgotten.
    Clear,
    /// An operation on many messages was stopped.
    Stop,
    /// A recurring message was written by hand.
    Fire,
    /// The seat of a job was taken from whoever had it.
    Release,
    /// The database failed over: what a replica wrote again, and the messages that went out and are gone.
    Failover,
}

/// An entry of the audit, and the message that it is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, FromRow)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ListedAudit {
    /// The entry.
    #[sqlx(flatten)]
    #[serde(flatten)]
    pub entry: AuditEntry,
    /// The message. None for an operation on many, and for a destination.
    pub message_id: Option<i64>,
}

/// A page of the audit.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AuditPage {
    /// The entries, the newest first.
    pub entries: Vec<ListedAudit>,
    /// The `after` of the next page, which has lower ids. None on the last page.
    pub next: Option<i64>,
}

/// What people did by hand, the newest first: at most `limit` entries, with ids below `after`. Without a message one
/// page looks at 100,000 entries at most, and says where it stopped.
pub async fn audits(
    database: &Database,
    filter: &AuditFilter,
    after: Option<i64>,
    limit: u32,
) -> Result<AuditPage, DeskError> {
    page(database, filter, after, limit).await.map_err(while_doing("reading the audit"))
}

async fn page(database: &Database, filter: &AuditFilter, after: Option<i64>, limit: u32) -> sqlx::Result<AuditPage> {
    let mut transaction = AnyTransaction::to_read(database).await?;
    let mut connection = transaction.connection();
    let now_us = match (filter.since, filter.until) {
        (None, None) => 0,
        (Some(_), _) | (_, Some(_)) => connection.now_us().await?,
    };
    let in_us = |moment: Option<Moment>| Value::Number(moment.map(|moment| moment.in_us(now_us)));
    let after = Value::Number(after);
    // One more than the limit tells whether there is a next page.
    let most = i64::from(limit) + 1;
    let values = [
        Value::Number(filter.message),
        after,
        i64::from(LOOKED_AT).into(),
        in_us(filter.since),
        in_us(filter.until),
        filter.who.as_deref().into(),
        filter.action.map(AuditAction::as_str).into(),
        most.into(),
        Value::Number(filter.part_of),
    ];
    let mut entries: Vec<ListedAudit> = connection.rows(&AUDITS, &values).await?;
    let more = entries.len() > limit as usize;
    entries.truncate(limit as usize);
    let next = if more {
        entries.last().map(|last| last.entry.id)
    } else if filter.message.is_none() && filter.part_of.is_none() {
        // None where fewer entries were there to be looked at.
        let end: Vec<(i64,)> = connection.rows(&AUDITS_END, &[after, i64::from(LOOKED_AT - 1).into()]).await?;
        end.first().map(|(id,)| *id)
    } else {
        None
    };
    transaction.commit().await?;
    Ok(AuditPage { entries, next })
}

impl AuditAction {
    /// Every action that the audit names.
    pub const ALL: [Self; 15] = [
        Self::Redrive,
        Self::Undo,
        Self::Edit,
        Self::Cancel,
        Self::Retry,
        Self::Replay,
        Self::Purge,
        Self::Prune,
        Self::Pause,
        Self::Resume,
        Self::Clear,
        Self::Stop,
        Self::Fire,
        Self::Release,
        Self::Failover,
    ];

    /// The action in the column `action`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Redrive => "redrive",
            Self::Undo => "undo",
            Self::Edit => "edit",
            Self::Cancel => "cancel",
            Self::Retry => "retry",
            Self::Replay => "replay",
            Self::Purge => "purge",
            Self::Prune => "prune",
            Self::Pause => "pause",
            Self::Resume => "resume",
            Self::Clear => "clear",
            Self::Stop => "stop",
            Self::Fire => "fire",
            Self::Release => "release",
            Self::Failover => "failover",
        }
    }
}

impl AuditFilter {
    /// The filter for the parts of an entry.
    pub fn parts_of(entry: i64) -> Self {
        Self { part_of: Some(entry), ..Self::default() }
    }

    /// The filter for what was done to one message.
    pub fn of(message: MessageId) -> Self {
        Self { message: Some(message.0), ..Self::default() }
    }
}
