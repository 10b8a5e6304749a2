//! Undoing takes back what an operation did to messages that have not been claimed or attempted since. After a redrive they are dead
//! letters again, as before. The rows of a replay are removed.

use std::time::Instant;

use super::operation::{BATCH, Operation, PAUSES, Standing, lock_terms, pause};
use super::progress::{Progress, Watch};
use super::statements::{OPERATION, OPERATION_PAGE, REPLAY_PAGE, UNDO, UNDOABLE, UNDOABLE_REPLAYS};
use super::{AuditEntry, Author, Undoable, Undone};
use crate::retention::{PURGE, PURGE_ATTEMPTS};
use crate::sql::{AnyConnection, AnyTransaction, Statement, read};
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

/// Undoes an operation. None where `asked` is not the entry of one that can be undone.
pub(super) async fn undo(
    database: &Database,
    asked: i64,
    author: &Author,
    watch: Watch<'_>,
) -> sqlx::Result<Option<Undone>> {
    let entry: Option<AuditEntry> = read(database, &OPERATION, &[asked.into()]).await?.pop();
    let Some((entry, undoable)) = entry.and_then(|entry| Undoable::of(&entry).map(|undoable| (entry, undoable))) else {
        return Ok(None);
    };
    let details = serde_json::json!({ (undoable.name()): asked });
    let operation = Operation::begin(database, "undo", &details, author).await?;
    let mut done = Undone { undone: undoable, audit_id: Some(operation.audit_id), ..Undone::default() };
    let mut progress = Progress { audit_id: operation.audit_id, of: changed_at_most(&entry), done: 0, changed: 0 };
    let mut after = 0;
    loop {
        if watch(progress).is_break() {
            break;
        }
        let began = Instant::now();
        let batch = i64::try_from(BATCH).unwrap_or(i64::MAX);
        let entries: Vec<Entry> = read(database, undoable.page(), &[asked.into(), after.into(), batch.into()]).await?;
        let Some((last, _)) = entries.last() else { break };
        after = *last;

        let mut transaction = AnyTransaction::to_write(database).await?;
        undo_batch(&mut transaction.connection(), undoable, &operation, &entries, &mut done).await?;
        transaction.commit().await?;
        progress = Progress { done: progress.done + entries.len() as u64, changed: done.returned, ..progress };
        pause(began, PAUSES).await;
    }
    Ok(Some(done))
}

/// How many messages an operation was about, as its entry says.
fn changed_at_most(entry: &AuditEntry) -> Option<u64> {
    let details: serde_json::Value = serde_json::from_str(entry.details.as_deref()?).ok()?;
    let meant = details["meant"].as_u64()?;
    Some(details["canary"].as_u64().map_or(meant, |canary| canary.min(meant)))
}

/// Undoes a batch. The pending rows among it stay locked, so no poller may claim them until the transaction ends.
async fn undo_batch(
    connection: &mut AnyConnection<'_>,
    undoable: Undoable,
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
    let back = undoable.take_back(connection, operation, &waiting).await?;

    done.returned += back.len() as u64;
    for row in rows.into_iter().filter(|row| back.binary_search(row).is_err()) {
        match standing.status(row) {
            None => done.gone += 1,
            Some(status) if status == Status::Success.as_str() => done.delivered += 1,
            Some(status) if status == Status::Dead.as_str() => done.dead_again += 1,
            Some(_) => done.under_way += 1,
        }
    }
    Ok(())
}
