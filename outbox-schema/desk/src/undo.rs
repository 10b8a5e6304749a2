//! Undoing takes back what an operation did to messages that have not been claimed or attempted since. After a redrive they are dead
//! letters again, as before. The rows of a replay are removed.

use outbox_schema::MessageId;
use outbox_store::retention::{PURGE, PURGE_ATTEMPTS};
use outbox_store::sql::{AnyConnection, read};
use outbox_store::statement::Statement;
use outbox_store::store::ids_as_json;
use outbox_store::{Database, Status};

use super::operation::{BATCH, Operation, Standing, lock_terms};
use super::operations::{Outcome, State};
use super::statements::{OPERATION, OPERATION_PAGE, REPLAY_PAGE, UNDO, UNDOABLE, UNDOABLE_REPLAYS};
use super::{AuditEntry, Undoable};

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

    pub(super) fn name(self) -> &'static str {
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

/// What an undo of this entry of the audit takes back, and of how many messages at the most. None where it is not the entry of an
/// operation that can be undone.
pub(super) async fn undoable(database: &Database, asked: i64) -> sqlx::Result<Option<(Undoable, Option<u64>)>> {
    let entry: Option<AuditEntry> = read(database, &OPERATION, &[asked.into()]).await?.pop();
    let Some(entry) = entry else { return Ok(None) };
    let Some(undone) = Undoable::of(&entry) else { return Ok(None) };
    let of = changed_by(database, asked).await?.or_else(|| changed_at_most(&entry));
    Ok(Some((undone, of)))
}

/// Takes back what the next entries of an operation did, those after `after`. Gives how many entries those were, and whether they were
/// the last. The pending rows of the batch stay locked, so no poller may claim them until the transaction ends.
pub(super) async fn batch(
    connection: &mut AnyConnection<'_>,
    operation: &Operation,
    (asked, after): (i64, &mut MessageId),
    done: &mut Outcome,
) -> sqlx::Result<(u64, bool)> {
    let most = i64::try_from(BATCH).unwrap_or(i64::MAX);
    let values = [asked.into(), after.0.into(), most.into()];
    let entries: Vec<Entry> = connection.rows(done.undone.page(), &values).await?;
    if let Some((last, _)) = entries.last() {
        *after = MessageId(*last);
        take_back(connection, operation, &entries, done).await?;
    }
    Ok((entries.len() as u64, entries.len() < BATCH))
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

async fn take_back(
    connection: &mut AnyConnection<'_>,
    operation: &Operation,
    entries: &[Entry],
    done: &mut Outcome,
) -> sqlx::Result<()> {
    lock_terms(connection).await?;
    let mut rows: Vec<_> = entries.iter().map(|(_, row)| MessageId(*row)).collect();
    rows.sort_unstable();
    let standing = Standing::lock(connection, &rows).await?;
    let waiting = entries.iter().filter(|(_, row)| standing.refusal(MessageId(*row), Status::Pending).is_none());
    let waiting: Vec<_> = waiting.map(|(entry, _)| MessageId(*entry)).collect();
    let back = done.undone.take_back(connection, operation, &waiting).await?;

    done.changed += back.len() as u64;
    for row in rows.into_iter().filter(|row| back.binary_search(row).is_err()) {
        match standing.status(row) {
            None if !standing.is_held(row) => done.add("gone", 1),
            Some(status) if status == Status::Success.as_str() => done.add("delivered", 1),
            Some(status) if status == Status::Dead.as_str() => done.add("dead_again", 1),
            None | Some(_) => done.add("under_way", 1),
        }
    }
    Ok(())
}
