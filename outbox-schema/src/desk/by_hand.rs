//! Changes by hand, on each of the databases. The statements differ by dialect; the steps and their order do not.

use std::time::Duration;

use async_trait::async_trait;

use super::cancel::Cancelling;
use super::edit_all::Editing;
use super::operations::carry;
use super::prune::Removing;
use super::redrive::{Purging, Redriving};
use super::replay::Replaying;
use super::retry::Retrying;
use super::undo::Undoing;
use super::{
    Author, ByHand, Cancelled, CancelledAll, Cleared, ContentEdit, DeskError, Edited, EditedAll,
    InvalidTargetSelection, MessageSelection, Pace, Paused, Purged, Redriven, ReplayManner, Replayed, Resumed, Retried,
    Revised, Selection, Stopped, Undone, Watch, cancel, destinations, edit, invalid_targets, operations, prune,
};
use crate::retention::{Pruned, Retention};
use crate::sql::while_doing;
use crate::{Database, MessageId};

#[async_trait]
impl ByHand for Database {
    async fn cancel(&self, id: MessageId, author: &Author) -> Result<Cancelled, DeskError> {
        cancel::cancel(self, id, author).await.map_err(while_doing("cancelling a message"))
    }

    async fn cancel_all_watched(
        &self,
        selection: &MessageSelection,
        author: &Author,
        watch: Watch<'_>,
    ) -> Result<CancelledAll, DeskError> {
        let cancelled = carry(self, Cancelling::of(selection), author, watch).await;
        cancelled.map_err(while_doing("cancelling messages"))
    }

    async fn retry_watched(
        &self,
        selection: &MessageSelection,
        author: &Author,
        watch: Watch<'_>,
    ) -> Result<Retried, DeskError> {
        carry(self, Retrying::of(selection), author, watch).await.map_err(while_doing("retrying messages"))
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
        let redriven = carry(self, Redriving::of(selection, pace), author, watch).await;
        redriven.map_err(while_doing("redriving dead letters"))
    }

    async fn replay_watched(
        &self,
        selection: &MessageSelection,
        manner: ReplayManner,
        author: &Author,
        watch: Watch<'_>,
    ) -> Result<Replayed, DeskError> {
        let replayed = carry(self, Replaying::of(selection, manner), author, watch).await;
        replayed.map_err(while_doing("replaying delivered messages"))
    }

    async fn edit_all(
        &self,
        selection: &Selection,
        change: &ContentEdit,
        author: &Author,
        watch: Watch<'_>,
    ) -> Result<EditedAll, DeskError> {
        let edited = carry(self, Editing::of(selection, change), author, watch).await;
        edited.map_err(while_doing("editing dead letters"))
    }

    async fn undo_watched(
        &self,
        operation: i64,
        author: &Author,
        watch: Watch<'_>,
    ) -> Result<Option<Undone>, DeskError> {
        let undoing = || while_doing("undoing a redrive or a replay");
        match Undoing::of(self, operation).await.map_err(undoing())? {
            Some(work) => carry(self, work, author, watch).await.map(Some).map_err(undoing()),
            None => Ok(None),
        }
    }

    async fn purge_watched(
        &self,
        selection: &Selection,
        author: &Author,
        watch: Watch<'_>,
    ) -> Result<Purged, DeskError> {
        carry(self, Purging::of(selection), author, watch).await.map_err(while_doing("purging dead letters"))
    }

    async fn prune(&self, retention: &Retention, author: &Author, watch: Watch<'_>) -> Result<Pruned, DeskError> {
        // It is counted before, so that whoever follows the removal sees the end of it.
        let of = prune::count(self, retention).await?.total();
        let removing = Removing::of(retention, Some(of));
        carry(self, removing, author, watch).await.map_err(while_doing("removing what is past its retention"))
    }

    async fn stop(&self, operation: i64, author: &Author) -> Result<Option<Stopped>, DeskError> {
        operations::stop(self, operation, author).await.map_err(while_doing("stopping an operation"))
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
