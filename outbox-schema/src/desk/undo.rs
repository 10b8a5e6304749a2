//! Undoing a redrive: messages that have not been claimed or attempted since become dead letters again, as before.

use std::time::Instant;

use super::operation::{BATCH, Operation, Standing, lock_terms, pause};
use super::progress::{Progress, Watch};
use super::statements::{OPERATION, OPERATION_PAGE, UNDO, UNDOABLE};
use super::{AuditEntry, Author, Undone};
use crate::sql::{AnyConnection, AnyTransaction, read};
use crate::store::wire::ids_as_json;
use crate::{Database, MessageId, Status};

/// The ids of an audit entry and of its message.
type Entry = (i64, i64);

/// Undoes a redrive. None where `redrive` is not the entry of a redrive.
pub(super) async fn undo(
    database: &Database,
    redrive: i64,
    author: &Author,
    watch: Watch<'_>,
) -> sqlx::Result<Option<Undone>> {
    let asked: Option<AuditEntry> = read(database, &OPERATION, &[redrive.into()]).await?.pop();
    let Some(asked) = asked.filter(|entry| entry.action == "redrive" && entry.part_of.is_none()) else {
        return Ok(None);
    };
    let operation = Operation::begin(database, "undo", &serde_json::json!({ "redrive": redrive }), author).await?;
    let mut done = Undone { audit_id: Some(operation.audit_id), ..Undone::default() };
    let mut progress = Progress { audit_id: operation.audit_id, of: redriven_at_most(&asked), done: 0, changed: 0 };
    let mut after = 0;
    loop {
        if watch(progress).is_break() {
            break;
        }
        let began = Instant::now();
        let batch = i64::try_from(BATCH).unwrap_or(i64::MAX);
        let entries: Vec<Entry> =
            read(database, &OPERATION_PAGE, &[redrive.into(), after.into(), batch.into()]).await?;
        let Some((last, _)) = entries.last() else { break };
        after = *last;

        let mut transaction = AnyTransaction::to_write(database).await?;
        undo_batch(&mut transaction.connection(), &operation, &entries, &mut done).await?;
        transaction.commit().await?;
        progress = Progress { done: progress.done + entries.len() as u64, changed: done.returned, ..progress };
        pause(began).await;
    }
    Ok(Some(done))
}

/// How many messages a redrive was about, as its entry says.
fn redriven_at_most(entry: &AuditEntry) -> Option<u64> {
    let details: serde_json::Value = serde_json::from_str(entry.details.as_deref()?).ok()?;
    let meant = details["meant"].as_u64()?;
    Some(details["canary"].as_u64().map_or(meant, |canary| canary.min(meant)))
}

/// Undoes a batch. The pending rows among it stay locked, so no poller may claim them until the transaction ends.
async fn undo_batch(
    connection: &mut AnyConnection<'_>,
    operation: &Operation,
    entries: &[Entry],
    done: &mut Undone,
) -> sqlx::Result<()> {
    lock_terms(connection).await?;
    let messages: Vec<_> = entries.iter().map(|(_, message)| MessageId(*message)).collect();
    let standing = Standing::lock(connection, &messages).await?;
    let waiting: Vec<_> =
        entries.iter().filter(|(_, id)| standing.refusal(MessageId(*id), Status::Pending).is_none()).collect();
    let waiting: Vec<_> = waiting.iter().map(|(entry, _)| MessageId(*entry)).collect();
    let undoable: Vec<Entry> = connection.rows(&UNDOABLE, &[ids_as_json(&waiting).as_str().into()]).await?;

    let (entries_back, mut back): (Vec<_>, Vec<_>) =
        undoable.iter().map(|(entry, id)| (MessageId(*entry), MessageId(*id))).unzip();
    back.sort_unstable();
    operation.audit_each(connection, &ids_as_json(&back)).await?;
    connection.rows::<()>(&UNDO, &[ids_as_json(&entries_back).as_str().into()]).await?;

    done.returned += back.len() as u64;
    for id in messages.into_iter().filter(|id| back.binary_search(id).is_err()) {
        match standing.status(id) {
            None => done.gone += 1,
            Some(status) if status == Status::Success.as_str() => done.delivered += 1,
            Some(status) if status == Status::Dead.as_str() => done.dead_again += 1,
            Some(_) => done.under_way += 1,
        }
    }
    Ok(())
}
