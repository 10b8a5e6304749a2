//! Cancelling makes messages that wait dead letters, `cancelled`: one, or all that a selection means.

use async_trait::async_trait;

use super::batches::{Batch, BatchedChange, in_batches};
use super::operation::{Operation, Standing, audit, lock_terms};
use super::progress::Watch;
use super::statements::{CANCEL, MESSAGE};
use super::{Author, Cancelled, CancelledAll, MessageRecord, MessageSelection, Refusal, Skipped};
use crate::sql::{AnyConnection, AnyTransaction};
use crate::store::wire::ids_as_json;
use crate::{Database, MessageId, Status};

pub(super) async fn cancel(database: &Database, id: MessageId, author: &Author) -> sqlx::Result<Cancelled> {
    let mut transaction = AnyTransaction::to_write(database).await?;
    let cancelled = cancel_in(&mut transaction.connection(), id, author).await?;
    transaction.commit().await?;
    Ok(cancelled)
}

async fn cancel_in(connection: &mut AnyConnection<'_>, id: MessageId, author: &Author) -> sqlx::Result<Cancelled> {
    lock_terms(connection).await?;
    let refused = |because| Ok(Cancelled::Refused(Skipped { id, because }));
    if let Some(because) = Standing::lock(connection, &[id]).await?.refusal(id, Status::Pending) {
        return refused(because);
    }
    let Some(before) = connection.rows::<MessageRecord>(&MESSAGE, &[id.0.into()]).await?.pop() else {
        return refused(Refusal::NotThere);
    };
    let details = serde_json::json!({
        "idempotency_key": before.idempotency_key, "channel": before.channel, "revision": before.revision,
    });
    audit(connection, "cancel", Some(id), &details.to_string(), author).await?;
    connection.rows::<()>(&CANCEL, &[ids_as_json(&[id]).as_str().into()]).await?;
    Ok(Cancelled::Done { id })
}

pub(super) async fn cancel_all(
    database: &Database,
    selection: &MessageSelection,
    author: &Author,
    watch: Watch<'_>,
) -> sqlx::Result<CancelledAll> {
    let ids = selection.ids(database, Status::Pending).await?;
    let mut done = CancelledAll { meant: ids.len() as u64, ..CancelledAll::default() };
    if ids.is_empty() {
        return Ok(done);
    }
    let operation = Operation::begin(database, "cancel", &selection.said(done.meant), author).await?;
    done.audit_id = Some(operation.audit_id);

    let mut cancelling = Cancelling(done);
    in_batches(database, &operation, &ids, &mut cancelling, watch).await?;
    Ok(cancelling.0)
}

struct Cancelling(CancelledAll);

#[async_trait]
impl BatchedChange for Cancelling {
    async fn batch(
        &mut self,
        connection: &mut AnyConnection<'_>,
        operation: &Operation,
        batch: &[MessageId],
    ) -> sqlx::Result<Batch> {
        let Self(done) = self;
        // No claim is being made now, so none may take what is cancelled here.
        lock_terms(connection).await?;
        let (fit, skipped) = Standing::lock(connection, batch).await?.split(batch, Status::Pending);
        let gone = ids_as_json(&fit);
        operation.audit_each(connection, &gone).await?;
        connection.rows::<()>(&CANCEL, &[(&gone).into()]).await?;
        done.cancelled += fit.len() as u64;
        done.skipped.extend(skipped);
        Ok(Batch::of(done.cancelled))
    }
}
