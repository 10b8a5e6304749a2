//! Cancelling makes messages that wait dead letters, `cancelled`: one, or all that a selection means.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::edit::Envelope;
use super::operation::{Operation, Standing, audit, lock_terms};
use super::operations::{Batch, Remaining, Work};
use super::statements::{CANCEL, ENVELOPES};
use super::{Author, Cancelled, CancelledAll, MessageSelection, Refusal, Skipped};
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
    let ids = ids_as_json(&[id]);
    let Some(before) = connection.rows::<Envelope>(&ENVELOPES, &[(&ids).into()]).await?.pop() else {
        return refused(Refusal::NotThere);
    };
    let details = serde_json::json!({
        "idempotency_key": before.idempotency_key, "channel": before.channel, "revision": before.revision,
    });
    audit(connection, "cancel", Some(id), &details.to_string(), author).await?;
    connection.rows::<()>(&CANCEL, &[(&ids).into()]).await?;
    Ok(Cancelled::Done { id })
}

/// A cancellation of many messages.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Cancelling {
    selection: MessageSelection,
    remaining: Remaining,
    done: CancelledAll,
}

impl Cancelling {
    pub(super) fn of(selection: &MessageSelection) -> Self {
        Self { selection: selection.clone(), remaining: Remaining::default(), done: CancelledAll::default() }
    }
}

#[async_trait]
impl Work for Cancelling {
    const ACTION: &'static str = "cancel";
    type Done = CancelledAll;

    fn said(&self) -> serde_json::Value {
        self.selection.said(self.done.meant)
    }

    async fn find(&mut self, database: &Database) -> sqlx::Result<Option<u64>> {
        let meant = self.selection.ids(database, Status::Pending, &mut self.remaining.as_of_us).await?;
        self.done.meant = self.done.meant.max(meant.len() as u64);
        Ok(Some(self.remaining.keep(meant, None)))
    }

    fn begun(&mut self, audit_id: i64) {
        self.done.audit_id = Some(audit_id);
    }

    async fn batch(&mut self, connection: &mut AnyConnection<'_>, operation: &Operation) -> sqlx::Result<Batch> {
        let Self { remaining, done, .. } = self;
        let batch = remaining.next();
        // No claim is being made now, so none may take what is cancelled here.
        lock_terms(connection).await?;
        let (fit, skipped) = Standing::lock(connection, &batch).await?.split(&batch, Status::Pending);
        let gone = ids_as_json(&fit);
        operation.audit_each(connection, &gone).await?;
        connection.rows::<()>(&CANCEL, &[(&gone).into()]).await?;
        done.cancelled += fit.len() as u64;
        done.skipped.extend(skipped);
        Ok(Batch::of(&batch, done.cancelled, remaining))
    }

    fn done(self) -> CancelledAll {
        self.done
    }
}
