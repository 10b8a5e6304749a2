//! Changes by hand, on each of the databases. The statements differ by dialect; the steps and their order do not.

use std::time::Duration;

use async_trait::async_trait;
use outbox_schema::MessageId;
use outbox_store::Database;

use super::error::while_doing;
use super::operations::carry;
use super::{
    Author, ByHand, Cancelled, Change, Cleared, DeskError, Edited, InvalidTargetSelection, JobAction, JobDone, Outcome,
    Paused, RecurringAction, RecurringDone, Resumed, Revised, Stopped, Watch, cancel, destinations, edit,
    invalid_targets, jobs, operations, prune, recurring,
};

#[async_trait]
impl ByHand for Database {
    async fn cancel(&self, id: MessageId, author: &Author) -> Result<Cancelled, DeskError> {
        cancel::cancel(self, id, author).await.map_err(while_doing("cancelling a message"))
    }

    async fn apply(&self, change: &Change, author: &Author, watch: Watch<'_>) -> Result<Outcome, DeskError> {
        let counted;
        let change = match change {
            // It is counted before, so that whoever follows the removal sees the end of it.
            Change::Prune { retention, of: None } => {
                let of = Some(prune::count(self, retention).await?.total());
                counted = Change::Prune { retention: retention.clone(), of };
                &counted
            }
            change => change,
        };
        let done = carry(self, change, author, watch).await;
        change.found(done.map_err(while_doing(change.action().doing()))?)
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

    async fn stop(&self, operation: i64, author: &Author) -> Result<Option<Stopped>, DeskError> {
        operations::stop(self, operation, author).await.map_err(while_doing("stopping an operation"))
    }

    async fn pause(&self, destination: &str, lasting: Option<Duration>, author: &Author) -> Result<Paused, DeskError> {
        destinations::pause(self, destination, lasting, author).await.map_err(while_doing("pausing a destination"))
    }

    async fn resume(&self, destination: &str, author: &Author) -> Result<Resumed, DeskError> {
        destinations::resume(self, destination, author).await.map_err(while_doing("resuming a destination"))
    }

    async fn change_recurring(
        &self,
        name: &str,
        action: RecurringAction,
        author: &Author,
    ) -> Result<Option<RecurringDone>, DeskError> {
        recurring::change(self, name, action, author).await.map_err(while_doing("changing a recurring message"))
    }

    async fn change_job(&self, name: &str, action: JobAction, author: &Author) -> Result<Option<JobDone>, DeskError> {
        jobs::change(self, name, action, author).await.map_err(while_doing("changing a job"))
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
