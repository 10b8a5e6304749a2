//! Recurring messages for operators: when each is due, and pausing, resuming and firing one by hand.

use outbox_store::Database;
use outbox_store::sql::{AnyConnection, AnyTransaction, Value, read};
use serde::{Deserialize, Serialize};
use sqlx::FromRow;

use super::Author;
use super::operation::{audit, who};
use super::statements::{RECURRING, RECURRING_ASK, RECURRING_PAUSE, RECURRING_RESUME};

/// A recurring message that a poller knows. Times are texts of the database.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, FromRow)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RecurringEntry {
    /// The name.
    pub name: String,
    /// The pattern of cron.
    pub cron: String,
    /// The time zone.
    pub timezone: String,
    /// The last time for which a message was written.
    pub fired_for: Option<String>,
    /// The next time. None while it is paused, and until a poller has found it.
    pub next_at: Option<String>,
    /// When somebody asked for a message by hand that is not written yet.
    pub asked_at: Option<String>,
    /// Since when it is paused.
    pub paused_at: Option<String>,
    /// Who paused the name.
    pub paused_by: Option<String>,
}

/// What people do to a recurring message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecurringAction {
    /// Its times pass without a message.
    Pause,
    /// Its next time has a message again.
    Resume,
    /// A message is written at once, also while it is paused.
    Fire,
}

/// What was done to a recurring message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RecurringDone {
    /// The id of the entry in `outbox_audit`. None where nothing changed: it was so already.
    pub audit_id: Option<i64>,
    /// The message as it is now.
    pub recurring: RecurringEntry,
}

impl RecurringAction {
    /// The action as the audit and the API name it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pause => "pause",
            Self::Resume => "resume",
            Self::Fire => "fire",
        }
    }
}

/// All that pollers have known, by name.
pub(super) async fn list(database: &Database) -> sqlx::Result<Vec<RecurringEntry>> {
    read(database, &RECURRING, &[Value::Text(None)]).await
}

/// The recurring message whose key is that of a message. None where it is of none that pollers have known.
pub(super) async fn of_key(connection: &mut AnyConnection<'_>, key: &str) -> sqlx::Result<Option<RecurringEntry>> {
    let Some((name, _)) = key.strip_prefix("recurring:").and_then(|rest| rest.split_once(':')) else { return Ok(None) };
    Ok(connection.rows(&RECURRING, &[name.into()]).await?.pop())
}

/// The poller learns of it within a second. None where no poller has known the name.
pub(super) async fn change(
    database: &Database,
    name: &str,
    action: RecurringAction,
    author: &Author,
) -> sqlx::Result<Option<RecurringDone>> {
    let mut transaction = AnyTransaction::to_write(database).await?;
    let mut connection = transaction.connection();
    let who = who(author);
    let changed = match action {
        RecurringAction::Pause => connection.changed(&RECURRING_PAUSE, &[name.into(), (&who).into()]).await?,
        RecurringAction::Resume => connection.changed(&RECURRING_RESUME, &[name.into()]).await?,
        RecurringAction::Fire => connection.changed(&RECURRING_ASK, &[name.into()]).await?,
    };
    let mut audit_id = None;
    if changed > 0 {
        let details = serde_json::json!({ "recurring": name }).to_string();
        audit_id = Some(audit(&mut connection, action.as_str(), None, &details, author).await?);
    }
    let found: Vec<RecurringEntry> = connection.rows(&RECURRING, &[name.into()]).await?;
    transaction.commit().await?;
    Ok(found.into_iter().next().map(|recurring| RecurringDone { audit_id, recurring }))
}
