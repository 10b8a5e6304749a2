//! Undoing takes back what an operation did to messages that have not been claimed or attempted since. After a redrive they are dead
//! letters again, as before. The rows of a replay are removed.

use std::time::Duration;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::operation::{BATCH, Operation, Standing, lock_terms};
use super::operations::{Batch, State, Work};
use super::statements::{OPERATION, OPERATION_PAGE, REPLAY_PAGE, UNDO, UNDOABLE, UNDOABLE_REPLAYS};
use super::{AuditEntry, Undoable, Undone};
use crate::retention::{PURGE, PURGE_ATTEMPTS};
use crate::sql::{AnyConnection, read};
use crate::statement::Statement;
use crate::store::wire::ids_as_json;
use crate::{Database, MessageId, Status};

/// The ids of an audit entry and of the row that it is about.
type Entry = (i64, i64);

impl Undoable {
    fn of(entry: &AuditEntry) -> Option<Self> {
        match entry.action.as_str() {
            "redrive" if entry.part_of.is_none() => Some(Self::Redrive),
            "replay" if entry.part_of.is_none() => Some(Self::Replay),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Redrive => "redrive",
            Self::Replay => "replay",
        }
    }

    /// The statement that reads the entries of the operation, a page at a time.
    fn page(self) -> &'static Statement {
        match self {
            Self::Redrive => &OPERATION_PAGE,
            Self::Replay => &REPLAY_PAGE,
        }
    }

    /// Takes back those of the `waiting` entries whose row waits as the operation left it. Returns these rows.
    async fn take_back(
        self,
        connection: &mut AnyConnection<'_>,
        operation: &Operation,
        waiting: &[MessageId],
    ) -> sqlx::Result<Vec<MessageId>> {
        let waiting = ids_as_json(waiting);
        match self {
            Self::Redrive => {
                let undoable: Vec<Entry> = connection.rows(&UNDOABLE, &[(&waiting).into()]).await?;
                let (entries, mut back): (Vec<_>, Vec<_>) =
                    undoable.iter().map(|(entry, id)| (MessageId(*entry), MessageId(*id))).unzip();
                back.sort_unstable();
                operation.audit_each(connection, &ids_as_json(&back)).await?;
                connection.rows::<()>(&UNDO, &[(&ids_as_json(&entries)).into()]).await?;
                Ok(back)
            }
            Self::Replay => {
                let undoable: Vec<(i64, i64, i64)> = connection.rows(&UNDOABLE_REPLAYS, &[(&waiting).into()]).await?;
                let parts = undoable.iter().map(|(_, replay, first)| {
                    let details = serde_json::json!({ "replay": replay });
                    serde_json::json!({ "id": first, "details": details.to_string() })
                });
                let parts = serde_json::Value::Array(parts.collect());
                operation.audit_parts(connection, &parts.to_string()).await?;
                let mut back: Vec<_> = undoable.iter().map(|(_, replay, _)| MessageId(*replay)).collect();
                back.sort_unstable();
                let gone = ids_as_json(&back);
                // A deferral counts no attempt, and may be on record all the same.
                connection.rows::<()>(&PURGE_ATTEMPTS, &[(&gone).into()]).await?;
                connection.rows::<()>(&PURGE, &[(&gone).into()]).await?;
                Ok(back)
            }
        }
    }
}

/// An undo of a redrive or of a replay.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Undoing {
    /// The operation that is undone, and how many messages it was about at the most.
    asked: i64,
    of: Option<u64>,
    /// The last entry of the operation that the undo has come to.
    after: i64,
    done: Undone,
}

impl Undoing {
    /// None where `asked` is not the entry of an operation that can be undone.
    pub(super) async fn of(database: &Database, asked: i64) -> sqlx::Result<Option<Self>> {
        let entry: Option<AuditEntry> = read(database, &OPERATION, &[asked.into()]).await?.pop();
        let Some(entry) = entry else { return Ok(None) };
        let Some(undone) = Undoable::of(&entry) else { return Ok(None) };
        let of = changed_by(database, asked).await?.or_else(|| changed_at_most(&entry));
        Ok(Some(Self { asked, of, after: 0, done: Undone { undone, ..Undone::default() } }))
    }
}

#[async_trait]
impl Work for Undoing {
    const ACTION: &'static str = "undo";
    type Done = Undone;

    fn said(&self) -> serde_json::Value {
        serde_json::json!({ (self.done.undone.name()): self.asked })
    }

    /// Its messages are read in each batch.
    async fn find(&mut self, _: &Database) -> sqlx::Result<Option<u64>> {
        Ok(self.of)
    }

    fn begun(&mut self, audit_id: i64) {
        self.done.audit_id = Some(audit_id);
    }

    /// The pending rows of the batch stay locked, so no poller may claim them until the transaction ends.
    async fn batch(&mut self, connection: &mut AnyConnection<'_>, operation: &Operation) -> sqlx::Result<Batch> {
        let Self { asked, after, done, .. } = self;
        let most = i64::try_from(BATCH).unwrap_or(i64::MAX);
        let values = [(*asked).into(), (*after).into(), most.into()];
        let entries: Vec<Entry> = connection.rows(done.undone.page(), &values).await?;
        if let Some((last, _)) = entries.last() {
            *after = *last;
            undo_batch(connection, operation, &entries, done).await?;
        }
        let come_to = entries.len() as u64;
        Ok(Batch { come_to, changed: done.returned, idle: Duration::ZERO, last: entries.len() < BATCH })
    }

    fn done(self) -> Undone {
        self.done
    }
}

/// How many messages an operation changed that is over. None where it goes on, or where no row tells of it any more.
async fn changed_by(database: &Database, operation: i64) -> sqlx::Result<Option<u64>> {
    let state = State::of(database, operation).await?;
    Ok(state.filter(|state| !state.is_open()).map(|state| state.progress(operation).changed))
}

/// How many messages an operation was about, as its entry says.
fn changed_at_most(entry: &AuditEntry) -> Option<u64> {
    let details: serde_json::Value = serde_json::from_str(entry.details.as_deref()?).ok()?;
    let meant = details["meant"].as_u64()?;
    Some(details["canary"].as_u64().map_or(meant, |canary| canary.min(meant)))
}

async fn undo_batch(
    connection: &mut AnyConnection<'_>,
    operation: &Operation,
    entries: &[Entry],
    done: &mut Undone,
) -> sqlx::Result<()> {
    lock_terms(connection).await?;
    let mut rows: Vec<_> = entries.iter().map(|(_, row)| MessageId(*row)).collect();
    rows.sort_unstable();
    let standing = Standing::lock(connection, &rows).await?;
    let waiting = entries.iter().filter(|(_, row)| standing.refusal(MessageId(*row), Status::Pending).is_none());
    let waiting: Vec<_> = waiting.map(|(entry, _)| MessageId(*entry)).collect();
    let back = done.undone.take_back(connection, operation, &waiting).await?;

    done.returned += back.len() as u64;
    for row in rows.into_iter().filter(|row| back.binary_search(row).is_err()) {
        match standing.status(row) {
            None if !standing.is_held(row) => done.gone += 1,
            Some(status) if status == Status::Success.as_str() => done.delivered += 1,
            Some(status) if status == Status::Dead.as_str() => done.dead_again += 1,
            None | Some(_) => done.under_way += 1,
        }
    }
    Ok(())
}
