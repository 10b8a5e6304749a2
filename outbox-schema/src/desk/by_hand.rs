//! Changes by hand, on each of the databases. The statements differ by dialect; the steps and their order do not.

use std::time::Duration;

use async_trait::async_trait;

use super::operation::{Standing, audit, lock_terms};
use super::statements::{CANCEL, MESSAGE};
use super::{
    Author, ByHand, Cancelled, Change, Cleared, DeliveredSelection, DeskError, Edited, EditedAll,
    InvalidTargetSelection, MessageRecord, Pace, Paused, Purged, Redriven, Refusal, ReplayManner, Replayed, Resumed,
    Revised, Selection, Skipped, Undone, Watch, destinations, edit, edit_all, invalid_targets, prune, redrive, replay,
    undo,
};
use crate::retention::{Pruned, Retention};
use crate::sql::{AnyConnection, AnyTransaction, while_doing};
use crate::{Database, MessageId, Status};

#[async_trait]
impl ByHand for Database {
    async fn cancel(&self, id: MessageId, author: &Author) -> Result<Cancelled, DeskError> {
        cancel(self, id, author).await.map_err(while_doing("cancelling a message"))
    }

    async fn edit(
        &self,
        id: MessageId,
        revision: i32,
        revised: &Revised,
        author: &Author,
    ) -> Result<Edited, DeskError> {
        edit::edit(self, id, revision, revised, author).await.map_err(while_doing("editing a dead letter"))
    }

    async fn redrive_watched(
        &self,
        selection: &Selection,
        pace: Pace,
        author: &Author,
        watch: Watch<'_>,
    ) -> Result<Redriven, DeskError> {
        let redriven = redrive::redrive(self, selection, pace, author, watch).await;
        redriven.map_err(while_doing("redriving dead letters"))
    }

    async fn replay_watched(
        &self,
        selection: &DeliveredSelection,
        manner: ReplayManner,
        author: &Author,
        watch: Watch<'_>,
    ) -> Result<Replayed, DeskError> {
        let replayed = replay::replay(self, selection, manner, author, watch).await;
        replayed.map_err(while_doing("replaying delivered messages"))
    }

    async fn edit_all(
        &self,
        selection: &Selection,
        change: &Change,
        author: &Author,
        watch: Watch<'_>,
    ) -> Result<EditedAll, DeskError> {
        let edited = edit_all::edit_all(self, selection, change, author, watch).await;
        edited.map_err(while_doing("editing dead letters"))
    }

    async fn undo_watched(
        &self,
        operation: i64,
        author: &Author,
        watch: Watch<'_>,
    ) -> Result<Option<Undone>, DeskError> {
        undo::undo(self, operation, author, watch).await.map_err(while_doing("undoing a redrive or a replay"))
    }

    async fn purge_watched(
        &self,
        selection: &Selection,
        author: &Author,
        watch: Watch<'_>,
    ) -> Result<Purged, DeskError> {
        redrive::purge(self, selection, author, watch).await.map_err(while_doing("purging dead letters"))
    }

    async fn prune(&self, retention: &Retention, author: &Author, watch: Watch<'_>) -> Result<Pruned, DeskError> {
        prune::prune(self, retention, author, watch).await
    }

    async fn pause(&self, destination: &str, lasting: Option<Duration>, author: &Author) -> Result<Paused, DeskError> {
        destinations::pause(self, destination, lasting, author).await.map_err(while_doing("pausing a destination"))
    }

    async fn resume(&self, destination: &str, author: &Author) -> Result<Resumed, DeskError> {
        destinations::resume(self, destination, author).await.map_err(while_doing("resuming a destination"))
    }

    async fn clear_invalid_targets(
        &self,
        selection: &InvalidTargetSelection,
        author: &Author,
    ) -> Result<Cleared, DeskError> {
        let cleared = invalid_targets::clear(self, selection, author).await;
        cleared.map_err(while_doing("forgetting targets that are gone"))
    }
}

async fn cancel(database: &Database, id: MessageId, author: &Author) -> sqlx::Result<Cancelled> {
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
    connection.rows::<()>(&CANCEL, &[id.0.into()]).await?;
    Ok(Cancelled::Done { id })
}
