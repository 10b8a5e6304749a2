//! The questions that an operator asks of a replica.

use async_trait::async_trait;
use outbox_admin::api::{
    ByKey, CountBody, DestinationQuery, InvalidTargetFilter, MessageCountBody, OrderingKeyFilter, Page, PruneBody,
};
use outbox_desk::{
    Action, Cursor, DeadGroup, DeadLetterFilter, DeadLetterPage, Desk, DeskError, DestinationEntry, FiguresFilter,
    FiguresSeries, HaltedKeyPage, InvalidTargetPage, InvalidTargetSelection, JobEntry, JobRunEntry, JobRunPage,
    KeyCursor, MessageFilter, MessageGroup, MessagePage, MessageRecord, MessageSelection, RecurringEntry, Selection,
    TermEntry, Vitals,
};
use outbox_schema::MessageId;
use outbox_store::retention::{Pruned, Retention};

use super::filtered::Filtered;
use super::{Replica, if_there, segment};

#[async_trait]
impl Desk for Replica {
    async fn vitals(&self, _: &[String]) -> Result<Vitals, DeskError> {
        Ok(self.status().await?.vitals)
    }

    async fn terms(&self, limit: u32) -> Result<Vec<TermEntry>, DeskError> {
        Ok(self.ask("terms", &[("limit", limit)]).await?)
    }

    async fn message(&self, id: MessageId) -> Result<Option<MessageRecord>, DeskError> {
        if_there(self.ask(&format!("messages/{id}"), &()).await)
    }

    async fn message_by_key(&self, key: &str) -> Result<Option<MessageRecord>, DeskError> {
        if_there(self.ask("messages/by-key", &ByKey { key: key.to_owned() }).await)
    }

    async fn messages(
        &self,
        filter: &MessageFilter,
        after: Option<MessageId>,
        limit: u32,
    ) -> Result<MessagePage, DeskError> {
        let page = Page { after: after.map(|id| id.to_string()), limit: Some(limit) };
        Ok(self.ask("messages", &Filtered { filter, page }).await?)
    }

    async fn dead_letters(
        &self,
        filter: &DeadLetterFilter,
        _: &[String],
        after: Option<Cursor>,
        limit: u32,
    ) -> Result<DeadLetterPage, DeskError> {
        let page = Page { after: after.map(|cursor| cursor.to_string()), limit: Some(limit) };
        Ok(self.ask("dead-letters", &Filtered { filter, page }).await?)
    }

    async fn halted_keys(
        &self,
        _: &[String],
        channel: Option<&str>,
        after: Option<&KeyCursor>,
        limit: u32,
    ) -> Result<HaltedKeyPage, DeskError> {
        let filter = &OrderingKeyFilter { halted: true, channel: channel.map(str::to_owned) };
        let page = Page { after: after.map(KeyCursor::to_string), limit: Some(limit) };
        Ok(self.ask("ordering-keys", &Filtered { filter, page }).await?)
    }

    async fn dead_groups(&self, selection: &Selection) -> Result<Vec<DeadGroup>, DeskError> {
        Ok(self.ask_of("dead-letters/groups", selection).await?)
    }

    async fn message_groups(
        &self,
        action: Action,
        selection: &MessageSelection,
        after: Option<MessageId>,
    ) -> Result<Vec<MessageGroup>, DeskError> {
        let body = MessageCountBody { selection: selection.clone(), after };
        Ok(self.ask_of(&format!("messages/{}/count", action.as_str()), &body).await?)
    }

    async fn past_retention(&self, retention: &Retention) -> Result<Pruned, DeskError> {
        Ok(self.ask_of("prune/count", &PruneBody::from(retention)).await?)
    }

    async fn destinations(&self, all: bool) -> Result<Vec<DestinationEntry>, DeskError> {
        Ok(self.ask("destinations", &DestinationQuery { all, destination: None }).await?)
    }

    async fn recurring(&self) -> Result<Vec<RecurringEntry>, DeskError> {
        Ok(self.ask("recurring", &()).await?)
    }

    async fn jobs(&self) -> Result<Vec<JobEntry>, DeskError> {
        Ok(self.ask("jobs", &()).await?)
    }

    async fn job_runs(&self, job: &str, after: Option<i64>, limit: u32) -> Result<Option<JobRunPage>, DeskError> {
        let page = Page { after: after.map(|token| token.to_string()), limit: Some(limit) };
        if_there(self.ask(&format!("jobs/{}/runs", segment(job)), &page).await)
    }

    async fn job_run(&self, job: &str, token: i64) -> Result<Option<JobRunEntry>, DeskError> {
        if_there(self.ask(&format!("jobs/{}/runs/{token}", segment(job)), &()).await)
    }

    async fn figures(&self, filter: &FiguresFilter) -> Result<FiguresSeries, DeskError> {
        Ok(self.ask("figures", filter).await?)
    }

    async fn invalid_targets(
        &self,
        selection: &InvalidTargetSelection,
        after: Option<i64>,
        limit: u32,
    ) -> Result<InvalidTargetPage, DeskError> {
        let InvalidTargetSelection { targets, channel, older_than } = selection.clone();
        if targets.len() > 1 {
            let body = CountBody { selection: selection.clone(), after, limit: Some(limit) };
            return Ok(self.ask_of("invalid-targets/count", &body).await?);
        }
        let filter = &InvalidTargetFilter { target: targets.into_iter().next(), channel, older_than };
        let page = Page { after: after.map(|id| id.to_string()), limit: Some(limit) };
        Ok(self.ask("invalid-targets", &Filtered { filter, page }).await?)
    }
}
