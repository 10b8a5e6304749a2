//! The changes that an operator asks of a replica. When a message was left as it is, the replica answers with a problem
//! that names it.

use std::fmt::Write as _;
use std::time::Duration;

use async_trait::async_trait;
use outbox_schema::desk::{
    Author, Cancelled, CancelledAll, Cleared, ContentEdit, Edited, EditedAll, InvalidTargetSelection, MessageSelection,
    Pace, Paused, Purged, Redriven, ReplayManner, Replayed, Resumed, Retried, Revised, Selection, Skipped, Stopped,
    Undone, Watch,
};
use outbox_schema::retention::{Pruned, Retention};
use outbox_schema::{ByHand, DeskError, MessageId};
use serde_json::value::RawValue;

use super::{Replica, ReplicaError, if_there};
use outbox_console::admin::api::{
    Authored, ClearBody, EditAllBody, EditBody, PauseBody, PruneBody, PurgeBody, RedriveBody, ReplayBody, WaitingBody,
};

#[async_trait]
impl ByHand for Replica {
    async fn cancel(&self, id: MessageId, author: &Author) -> Result<Cancelled, DeskError> {
        let answer = self.change(&format!("messages/{id}/cancel"), &Authored::from(author)).await;
        unless_refused(answer, Cancelled::Refused)
    }

    async fn cancel_all_watched(
        &self,
        selection: &MessageSelection,
        author: &Author,
        watch: Watch<'_>,
    ) -> Result<CancelledAll, DeskError> {
        let body = WaitingBody { selection: selection.clone(), author: author.into() };
        Ok(self.follow("messages/cancel", &body, (watch, author)).await?)
    }

    async fn retry_watched(
        &self,
        selection: &MessageSelection,
        author: &Author,
        watch: Watch<'_>,
    ) -> Result<Retried, DeskError> {
        let body = WaitingBody { selection: selection.clone(), author: author.into() };
        Ok(self.follow("messages/retry", &body, (watch, author)).await?)
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

    async fn redrive_watched(
        &self,
        selection: &Selection,
        pace: Pace,
        author: &Author,
        watch: Watch<'_>,
    ) -> Result<Redriven, DeskError> {
        let Pace { canary, rate } = pace;
        let body = RedriveBody { selection: selection.clone(), canary, rate, author: author.into() };
        Ok(self.follow("dead-letters/redrive", &body, (watch, author)).await?)
    }

    async fn replay_watched(
        &self,
        selection: &MessageSelection,
        manner: ReplayManner,
        author: &Author,
        watch: Watch<'_>,
    ) -> Result<Replayed, DeskError> {
        let ReplayManner { new_key, again, after, pace: Pace { canary, rate } } = manner;
        let body =
            ReplayBody { selection: selection.clone(), new_key, again, after, canary, rate, author: author.into() };
        Ok(self.follow("messages/replay", &body, (watch, author)).await?)
    }

    async fn edit_all(
        &self,
        selection: &Selection,
        change: &ContentEdit,
        author: &Author,
        watch: Watch<'_>,
    ) -> Result<EditedAll, DeskError> {
        let body = EditAllBody { selection: selection.clone(), change: change.clone(), author: author.into() };
        Ok(self.follow("dead-letters/edit", &body, (watch, author)).await?)
    }

    async fn undo_watched(
        &self,
        operation: i64,
        author: &Author,
        watch: Watch<'_>,
    ) -> Result<Option<Undone>, DeskError> {
        if_there(self.follow(&format!("redrives/{operation}/undo"), &Authored::from(author), (watch, author)).await)
    }

    async fn purge_watched(
        &self,
        selection: &Selection,
        author: &Author,
        watch: Watch<'_>,
    ) -> Result<Purged, DeskError> {
        let body = PurgeBody { selection: selection.clone(), author: author.into() };
        Ok(self.follow("dead-letters/purge", &body, (watch, author)).await?)
    }

    async fn prune(&self, retention: &Retention, author: &Author, watch: Watch<'_>) -> Result<Pruned, DeskError> {
        let body = PruneBody { author: author.into(), ..PruneBody::from(retention) };
        Ok(self.follow("prune", &body, (watch, author)).await?)
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

    async fn clear_invalid_targets(
        &self,
        selection: &InvalidTargetSelection,
        author: &Author,
    ) -> Result<Cleared, DeskError> {
        let body = ClearBody { selection: selection.clone(), author: author.into() };
        Ok(self.change("invalid-targets/clear", &body).await?)
    }
}

/// A name as one segment of a path, <https://www.rfc-editor.org/rfc/rfc3986#section-2.1>.
fn segment(name: &str) -> String {
    let mut segment = String::new();
    for byte in name.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => segment.push(byte.into()),
            byte => drop(write!(segment, "%{byte:02X}")),
        }
    }
    segment
}

fn unless_refused<T>(answer: Result<T, ReplicaError>, refused: impl FnOnce(Skipped) -> T) -> Result<T, DeskError> {
    match answer {
        Err(ReplicaError::Refused { problem, .. }) if problem.refused.is_some() => {
            problem.refused.map(refused).ok_or_else(|| DeskError::Elsewhere(problem))
        }
        answer => Ok(answer?),
    }
}
