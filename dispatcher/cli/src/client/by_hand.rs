//! The changes that an operator asks of a replica. When a message was left as it is, the replica answers with a problem
//! that names it.

use std::time::Duration;

use async_trait::async_trait;
use outbox_admin::api::{Authored, ClearBody, EditBody, PauseBody, request_for};
use outbox_desk::{
    Author, ByHand, Cancelled, Change, Cleared, DeskError, Edited, InvalidTargetSelection, JobAction, JobDone, Outcome,
    Paused, RecurringAction, RecurringDone, Resumed, Revised, Skipped, Stopped, Watch,
};
use outbox_schema::MessageId;
use serde_json::value::RawValue;

use super::{Replica, ReplicaError, if_there, segment};

#[async_trait]
impl ByHand for Replica {
    async fn cancel(&self, id: MessageId, author: &Author) -> Result<Cancelled, DeskError> {
        let answer = self.change(&format!("messages/{id}/cancel"), &Authored::from(author)).await;
        unless_refused(answer, Cancelled::Refused)
    }

    async fn apply(&self, change: &Change, author: &Author, watch: Watch<'_>) -> Result<Outcome, DeskError> {
        let (path, body) = request_for(change, author).map_err(|error| DeskError::Elsewhere(Box::new(error)))?;
        let done = self.follow(change.action(), (&path, &body), (watch, author)).await;
        match (change, done) {
            (Change::Undo { asked, .. }, done) => if_there(done)?.ok_or(DeskError::NothingToUndo(*asked)),
            (_, done) => Ok(done?),
        }
    }

    async fn edit(
        &self,
        id: MessageId,
        revision: i32,
        revised: &Revised,
        author: &Author,
    ) -> Result<Edited, DeskError> {
        let payload = RawValue::from_string(revised.payload().to_owned());
        let body = EditBody {
            revision,
            target: revised.target().to_owned(),
            payload: payload.map_err(|error| DeskError::Elsewhere(Box::new(error)))?,
            headers: revised.headers().clone(),
            keep_key: revised.keeps_key(),
            author: author.into(),
        };
        unless_refused(self.change(&format!("messages/{id}/edit"), &body).await, Edited::Refused)
    }

    async fn stop(&self, operation: i64, author: &Author) -> Result<Option<Stopped>, DeskError> {
        if_there(self.change(&format!("operations/{operation}/stop"), &Authored::from(author)).await)
    }

    async fn pause(&self, destination: &str, lasting: Option<Duration>, author: &Author) -> Result<Paused, DeskError> {
        let lasting = lasting.map(|lasting| humantime::format_duration(lasting).to_string());
        let body = PauseBody { lasting, author: author.into() };
        Ok(self.change(&format!("destinations/{}/pause", segment(destination)), &body).await?)
    }

    async fn resume(&self, destination: &str, author: &Author) -> Result<Resumed, DeskError> {
        let path = format!("destinations/{}/resume", segment(destination));
        Ok(self.change(&path, &Authored::from(author)).await?)
    }

    async fn change_recurring(
        &self,
        name: &str,
        action: RecurringAction,
        author: &Author,
    ) -> Result<Option<RecurringDone>, DeskError> {
        let path = format!("recurring/{}/{}", segment(name), action.as_str());
        if_there(self.change(&path, &Authored::from(author)).await)
    }

    async fn change_job(&self, name: &str, action: JobAction, author: &Author) -> Result<Option<JobDone>, DeskError> {
        let path = format!("jobs/{}/{}", segment(name), action.as_str());
        if_there(self.change(&path, &Authored::from(author)).await)
    }

    async fn clear_invalid_targets(
        &self,
        selection: &InvalidTargetSelection,
        author: &Author,
    ) -> Result<Cleared, DeskError> {
        let body = ClearBody { selection: selection.clone(), author: author.into() };
        Ok(self.change("invalid-targets/clear", &body).await?)
    }
}

fn unless_refused<T>(answer: Result<T, ReplicaError>, refused: impl FnOnce(Skipped) -> T) -> Result<T, DeskError> {
    match answer {
        Err(ReplicaError::Refused { problem, .. }) if problem.refused.is_some() => {
            problem.refused.map(refused).ok_or_else(|| DeskError::Elsewhere(problem))
        }
        answer => Ok(answer?),
    }
}
