//! Snapshots that keep the database from removing dead rows: each poll has to step over those rows.

use std::time::Duration;

use outbox_store::sql::read;
use outbox_store::{Database, Dialect};
use serde::Serialize;
use sqlx::FromRow;
use sqlx::error::DatabaseError;

use super::error::{DeskError, while_doing};
use super::statements::HELD_BACK;

/// The SQLSTATE of `ER_SPECIFIC_ACCESS_DENIED_ERROR`.
const NO_RIGHT: &str = "42000";

/// Dead rows that the database keeps, and the snapshot that keeps them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct HeldBack {
    /// Dead rows of `outbox` (PostgreSQL), or transactions whose old rows are kept (MySQL); 0 on SQLite.
    pub dead_rows: i64,
    /// The snapshot that has kept them for longest. None where there is none, or this role may not see it.
    pub holder: Option<Snapshot>,
    /// The right that would tell more.
    pub missing_right: Option<&'static str>,
}

/// A snapshot, or something with the same effect.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Snapshot {
    /// What it is, for people: a session with its number, a prepared transaction, a replication slot.
    pub what: String,
    /// Who holds it: application, role and state, as far as this role may see them.
    pub who: String,
    /// Since when it is held, RFC 3339. None where this role may not see that.
    pub since: Option<String>,
    /// For how many milliseconds it has been held.
    pub age_ms: Option<i64>,
    /// Transactions that have begun since it is held (PostgreSQL).
    pub transactions: Option<i64>,
    /// The statement that ends the snapshot.
    pub end: String,
}

impl Snapshot {
    /// How long the snapshot has been held. None where this role may not see that.
    pub fn age(&self) -> Option<Duration> {
        Some(Duration::from_millis(self.age_ms?.try_into().unwrap_or(0)))
    }
}

#[derive(Debug, FromRow)]
struct Row {
    sees_all: i64,
    dead_rows: i64,
    kind: Option<String>,
    name: Option<String>,
    pub(super) who: Option<String>,
    since: Option<String>,
    age_ms: Option<i64>,
    transactions: Option<i64>,
}

/// Dead rows that the database keeps for an old snapshot, as far as this role may see them.
pub async fn held_back(database: &Database) -> Result<HeldBack, DeskError> {
    found(database).await.map_err(while_doing("looking for old snapshots"))
}

/// Reads what the database keeps, as far as this role may see it.
async fn found(database: &Database) -> sqlx::Result<HeldBack> {
    let dialect = database.dialect();
    let rows: Vec<Row> = match read(database, &HELD_BACK, &[]).await {
        Err(error) if is_for_want_of_a_right(&error, dialect) => {
            return Ok(HeldBack { missing_right: missing_right(dialect), ..HeldBack::default() });
        }
        answer => answer?,
    };
    Ok(rows.into_iter().next().map(|row| row.into_held_back(dialect)).unwrap_or_default())
}

/// Whether MySQL does not show transactions to this account.
pub(super) fn is_for_want_of_a_right(error: &sqlx::Error, dialect: Dialect) -> bool {
    dialect == Dialect::MySql
        && error.as_database_error().and_then(DatabaseError::code).is_some_and(|code| code == NO_RIGHT)
}

fn missing_right(dialect: Dialect) -> Option<&'static str> {
    match dialect {
        Dialect::Postgres => Some("GRANT pg_read_all_stats"),
        Dialect::MySql => Some("GRANT PROCESS ON *.*"),
        Dialect::Sqlite => None,
    }
}

impl Row {
    fn into_held_back(self, dialect: Dialect) -> HeldBack {
        let missing_right = if self.sees_all == 0 { missing_right(dialect) } else { None };
        HeldBack { dead_rows: self.dead_rows, missing_right, holder: self.into_snapshot(dialect) }
    }

    fn into_snapshot(self, dialect: Dialect) -> Option<Snapshot> {
        let (kind, name) = (self.kind?, self.name.unwrap_or_default());
        let quoted = name.replace('\'', "''");
        let (what, end) = match (kind.as_str(), dialect) {
            ("prepared", _) => (format!("the prepared transaction {name:?}"), format!("ROLLBACK PREPARED '{quoted}'")),
            ("slot", _) => {
                (format!("the replication slot {name:?}"), format!("SELECT pg_drop_replication_slot('{quoted}')"))
            }
            (_, Dialect::MySql) => (format!("the session {name}"), format!("KILL {name}")),
            (_, Dialect::Postgres | Dialect::Sqlite) => {
                (format!("the session {name}"), format!("SELECT pg_terminate_backend({name})"))
            }
        };
        Some(Snapshot {
            what,
            who: self.who.unwrap_or_default(),
            since: self.since,
            age_ms: self.age_ms,
            transactions: self.transactions,
            end,
        })
    }
}
