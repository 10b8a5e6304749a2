//! Sessions of others whose locks stand in the way of a poller.

use outbox_schema::MessageId;
use outbox_store::sql::{Value, read};
use outbox_store::{Database, Dialect};
use sqlx::FromRow;

use super::error::{DeskError, while_doing};
use super::held_back::is_for_want_of_a_right;
use super::statements::{LOCK_HOLDERS, ROW_LOCKERS};

#[derive(Debug, FromRow)]
struct Row {
    lock: String,
    session: String,
    pub(super) who: String,
}

/// Sessions of others whose locks stand in the way of a poller, as far as this role may see them. Each comes with its
/// remedy. `locked` are messages that a poller has found locked.
pub async fn lock_holders(database: &Database, locked: &[MessageId]) -> Result<Vec<String>, DeskError> {
    sentences(database, locked).await.map_err(while_doing("looking for locks of others"))
}

/// One sentence for each session, with the statement that ends it. None where this role may not see them. PostgreSQL is asked who
/// has locked these messages; MySQL shows all transactions that hold locks on rows.
async fn sentences(database: &Database, locked: &[MessageId]) -> sqlx::Result<Vec<String>> {
    let mut rows: Vec<Row> = match read(database, &LOCK_HOLDERS, &[]).await {
        Err(error) if is_for_want_of_a_right(&error, database.dialect()) => Vec::new(),
        answer => answer?,
    };
    if database.dialect() == Dialect::Postgres && !locked.is_empty() {
        let ids: Vec<String> = locked.iter().map(|id| id.0.to_string()).collect();
        let ids = format!("{{{}}}", ids.join(","));
        rows.extend(read::<Row>(database, &ROW_LOCKERS, &[Value::Text(Some(&ids))]).await?);
    }
    Ok(rows.iter().map(|row| row.in_words(database.dialect())).collect())
}

impl Row {
    fn in_words(&self, dialect: Dialect) -> String {
        let Self { lock, session, who } = self;
        let (held, consequence) = match lock.as_str() {
            "hints" => (
                "the advisory lock by which a poller asks for hints",
                "every commit of messages notifies, and such commits wait for each other",
            ),
            "claims" => (
                "the advisory lock of claims and cancellations",
                "claims lock their rows one by one. An open transaction that called outbox_cancel does so too",
            ),
            _ => ("locks on rows", "claims pass over rows of the outbox among them, and marks wait"),
        };
        let end = match dialect {
            Dialect::MySql => format!("KILL {session}"),
            Dialect::Postgres | Dialect::Sqlite => format!("SELECT pg_terminate_backend({session})"),
        };
        format!("locks: the session {session} ({who}) holds {held}: {consequence}; end it with {end}")
    }
}
