//! What all changes by hand share: each is audited, and leaves rows alone that may be in flight.

use std::collections::{HashMap, HashSet};
use std::time::Instant;

use outbox_schema::MessageId;
use outbox_store::Status;
use outbox_store::sql::{AnyConnection, Value};
use outbox_store::statement::Statement;
use outbox_store::store::{ids_as_json, storable};
use serde::Serialize;

use super::statements::{AUDIT, AUDIT_EACH, AUDIT_PART, LOCK_TERMS, NAMED, STANDING, THERE};
use super::{Author, Refusal, Selection, Skipped};

/// Rows of one transaction.
pub(super) const BATCH: usize = 500;

/// A pause is this many times as long as the batch before it: the database has other work.
pub(super) const PAUSES: u32 = 3;

/// The longest name of an author, in characters.
const WHO_CHARS: usize = 255;

/// An operation on many messages. It has an entry of its own in `outbox_audit`, and one for each message.
#[derive(Debug)]
pub(super) struct Operation {
    pub(super) audit_id: i64,
    pub(super) action: &'static str,
    pub(super) who: String,
}

impl Operation {
    /// Writes an entry for each of `parts`, a JSON array of objects with an `id` and `details`.
    pub(super) async fn audit_parts(&self, connection: &mut AnyConnection<'_>, parts: &str) -> sqlx::Result<()> {
        let values = [Value::from(&self.who), self.action.into(), self.audit_id.into(), parts.into()];
        connection.rows::<()>(&AUDIT_PART, &values).await.map(drop)
    }

    /// Writes the entries of `ids`, before they are changed.
    pub(super) async fn audit_each(&self, connection: &mut AnyConnection<'_>, ids: &str) -> sqlx::Result<()> {
        let values = [Value::from(&self.who), self.action.into(), self.audit_id.into(), ids.into()];
        connection.rows::<()>(&AUDIT_EACH, &values).await.map(drop)
    }
}

/// Waits for the claims that are being made, and keeps others from being made until the transaction ends.
pub(super) async fn lock_terms(connection: &mut AnyConnection<'_>) -> sqlx::Result<()> {
    connection.rows::<(i32,)>(&LOCK_TERMS, &[]).await.map(drop)
}

/// Writes one entry, and returns its id.
pub(super) async fn audit(
    connection: &mut AnyConnection<'_>,
    action: &'static str,
    message: Option<MessageId>,
    details: &str,
    author: &Author,
) -> sqlx::Result<i64> {
    let (who, why) = (who(author), storable(&author.why));
    let why = Some(why.as_ref()).filter(|why| !why.is_empty());
    let message = Value::Number(message.map(|id| id.0));
    connection.inserted_id(&AUDIT, &[Value::from(&who), action.into(), why.into(), message, details.into()]).await
}

pub(super) fn who(author: &Author) -> String {
    storable(&author.who).chars().take(WHO_CHARS).collect()
}

/// What the audit says of a selection that means so many messages. Ids are in the entries of their messages.
pub(super) fn said_of(selection: &Selection, meant: u64) -> serde_json::Value {
    match selection {
        Selection::Ids(ids) => said_of_ids(ids, meant),
        Selection::Filter(filter) => said_of_filter(filter, meant),
    }
}

pub(super) fn said_of_ids(ids: &[MessageId], meant: u64) -> serde_json::Value {
    serde_json::json!({ "ids": ids.len(), "meant": meant })
}

pub(super) fn said_of_filter(filter: &impl Serialize, meant: u64) -> serde_json::Value {
    serde_json::json!({ "filter": filter, "meant": meant })
}

/// The states of messages, locked until the transaction ends.
pub(super) struct Standing {
    statuses: HashMap<i64, String>,
    /// Those that a transaction of somebody else holds.
    held: HashSet<i64>,
    named: HashSet<i64>,
}

impl Standing {
    /// Locks the rows, and then reads which of them a claim names. `ids` are in ascending order. It waits for no row: the
    /// transaction that holds one may be an application's that sits idle, and claims may wait for the caller.
    pub(super) async fn lock(connection: &mut AnyConnection<'_>, ids: &[MessageId]) -> sqlx::Result<Self> {
        let asked = ids_as_json(ids);
        let statuses: Vec<(i64, String)> = connection.rows(&STANDING, &[(&asked).into()]).await?;
        let statuses: HashMap<_, _> = statuses.into_iter().collect();
        let named = ids_of(connection, &NAMED, &asked).await?;
        let others: Vec<_> = ids.iter().copied().filter(|id| !statuses.contains_key(&id.0)).collect();
        let held = match others[..] {
            [] => HashSet::new(),
            _ => ids_of(connection, &THERE, &ids_as_json(&others)).await?,
        };
        Ok(Self { statuses, held, named })
    }

    /// The status in the table. None where the message is not there, or is held.
    pub(super) fn status(&self, id: MessageId) -> Option<&str> {
        self.statuses.get(&id.0).map(String::as_str)
    }

    /// Whether a transaction of somebody else holds the message, which may change or remove it.
    pub(super) fn is_held(&self, id: MessageId) -> bool {
        self.held.contains(&id.0)
    }

    pub(super) fn in_flight(&self, id: MessageId) -> bool {
        self.named.contains(&id.0)
    }

    /// Why the message may not be changed as a message in `status`.
    pub(super) fn refusal(&self, id: MessageId, status: Status) -> Option<Refusal> {
        match self.status(id) {
            None if self.in_flight(id) => Some(Refusal::InFlight),
            None if self.is_held(id) => Some(Refusal::Held),
            None => Some(Refusal::NotThere),
            Some(found) if found != status.as_str() => Some(match status {
                Status::Dead => Refusal::NotDead,
                Status::Pending => Refusal::NotPending,
                Status::Success => Refusal::NotDelivered,
            }),
            // A claim that is not over yet may name what it has delivered.
            Some(_) if status != Status::Success && self.in_flight(id) => Some(Refusal::InFlight),
            Some(_) => None,
        }
    }

    /// Splits the messages into those that may be changed and those that may not.
    pub(super) fn split(&self, ids: &[MessageId], status: Status) -> (Vec<MessageId>, Vec<Skipped>) {
        let (mut fit, mut skipped) = (Vec::new(), Vec::new());
        for id in ids.iter().copied() {
            match self.refusal(id, status) {
                None => fit.push(id),
                Some(because) => skipped.push(Skipped { id, because }),
            }
        }
        (fit, skipped)
    }
}

/// The ids that a statement answers which takes ids.
async fn ids_of(
    connection: &mut AnyConnection<'_>,
    statement: &'static Statement,
    ids: &str,
) -> sqlx::Result<HashSet<i64>> {
    let ids: Vec<(i64,)> = connection.rows(statement, &[ids.into()]).await?;
    Ok(ids.into_iter().map(|(id,)| id).collect())
}

/// Leaves the database to others after a batch that began at `began`: for so many times as long.
pub(super) async fn pause(began: Instant, times: u32) {
    tokio::time::sleep(began.elapsed() * times).await;
}
