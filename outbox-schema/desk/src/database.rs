//! The desk, on each of the databases. The statements differ by dialect; the questions and their order do not.

use async_trait::async_trait;
use outbox_schema::MessageId;
use outbox_store::retention::{Pruned, Retention};
use outbox_store::sql::{AnyTransaction, Value, read};
use outbox_store::{Database, Shard};

use super::error::while_doing;
use super::message::whole_message;
use super::statements::{
    CHANNELS, CURRENT_TERMS, FORMER_KEY, MESSAGE_ID, PAUSED_COUNT, PAUSED_DESTINATIONS, TENANTS, UNSETTLED_CLAIMS,
};
use super::{
    Action, Cursor, DeadGroup, DeadLetterFilter, DeadLetterPage, Desk, DeskError, DestinationEntry, FiguresFilter,
    FiguresSeries, HaltedKeyPage, InvalidTargetPage, InvalidTargetSelection, JobEntry, JobRunEntry, JobRunPage,
    KeyCursor, MessageFilter, MessageGroup, MessagePage, MessageRecord, MessageSelection, PausedDestination,
    RecurringEntry, Selection, TermEntry, TermFilter, Vitals, dead, destinations, figures, halted, invalid_targets,
    jobs, message_selection, messages, prune, recurring, term_page,
};

/// The entries of the audit among which a former key of a message is looked for.
const FORMER_KEYS: i64 = 100_000;

#[async_trait]
impl Desk for Database {
    async fn vitals(&self, halting: &[String]) -> Result<Vitals, DeskError> {
        vitals(self, halting).await.map_err(while_doing("counting messages"))
    }

    async fn terms(&self, limit: u32) -> Result<Vec<TermEntry>, DeskError> {
        Ok(term_page(self, TermFilter::default(), None, limit).await?.terms)
    }

    async fn message(&self, id: MessageId) -> Result<Option<MessageRecord>, DeskError> {
        message(self, id).await.map_err(while_doing("reading a message"))
    }

    async fn message_by_key(&self, key: &str) -> Result<Option<MessageRecord>, DeskError> {
        let looking = || while_doing("looking for a message");
        let mut ids: Vec<(i64,)> = read(self, &MESSAGE_ID, &[key.into()]).await.map_err(looking())?;
        if ids.is_empty() {
            ids = read(self, &FORMER_KEY, &[key.into(), FORMER_KEYS.into()]).await.map_err(looking())?;
        }
        match ids.first() {
            Some((id,)) => self.message(MessageId(*id)).await,
            None => Ok(None),
        }
    }

    async fn messages(
        &self,
        filter: &MessageFilter,
        after: Option<MessageId>,
        limit: u32,
    ) -> Result<MessagePage, DeskError> {
        messages::page(self, filter, after, limit).await.map_err(while_doing("reading messages"))
    }

    async fn dead_letters(
        &self,
        filter: &DeadLetterFilter,
        halting: &[String],
        after: Option<Cursor>,
        limit: u32,
    ) -> Result<DeadLetterPage, DeskError> {
        dead::page(self, filter, halting, after, limit).await.map_err(while_doing("reading dead letters"))
    }

    async fn halted_keys(
        &self,
        halting: &[String],
        channel: Option<&str>,
        after: Option<&KeyCursor>,
        limit: u32,
    ) -> Result<HaltedKeyPage, DeskError> {
        let asked: Vec<_> =
            halting.iter().filter(|name| channel.is_none_or(|channel| *name == channel)).cloned().collect();
        let page = halted::page(self, &asked, after, limit).await;
        page.map_err(while_doing("looking for halted ordering keys"))
    }

    async fn dead_groups(&self, selection: &Selection) -> Result<Vec<DeadGroup>, DeskError> {
        let groups = match selection {
            Selection::Ids(ids) => dead::groups_of(self, ids).await,
            Selection::Filter(filter) => dead::groups(self, filter).await,
        };
        groups.map_err(while_doing("counting dead letters"))
    }

    async fn message_groups(
        &self,
        action: Action,
        selection: &MessageSelection,
        after: Option<MessageId>,
    ) -> Result<Vec<MessageGroup>, DeskError> {
        let counted = message_selection::groups(self, action, (selection, after), None).await;
        counted.map(|counted| counted.groups).map_err(while_doing("counting messages"))
    }

    async fn past_retention(&self, retention: &Retention) -> Result<Pruned, DeskError> {
        prune::count(self, retention).await
    }

    async fn destinations(&self, all: bool) -> Result<Vec<DestinationEntry>, DeskError> {
        destinations::list(self, all).await.map_err(while_doing("reading destinations"))
    }

    async fn recurring(&self) -> Result<Vec<RecurringEntry>, DeskError> {
        recurring::list(self).await.map_err(while_doing("reading recurring messages"))
    }

    async fn jobs(&self) -> Result<Vec<JobEntry>, DeskError> {
        jobs::list(self).await.map_err(while_doing("reading jobs"))
    }

    async fn job_runs(&self, job: &str, after: Option<i64>, limit: u32) -> Result<Option<JobRunPage>, DeskError> {
        jobs::runs(self, job, after, limit).await.map_err(while_doing("reading the runs of a job"))
    }

    async fn job_run(&self, job: &str, token: i64) -> Result<Option<JobRunEntry>, DeskError> {
        jobs::run(self, job, token).await.map_err(while_doing("reading a run of a job"))
    }

    async fn figures(&self, filter: &FiguresFilter) -> Result<FiguresSeries, DeskError> {
        figures::series(self, filter).await.map_err(while_doing("reading the figures over time"))
    }

    async fn invalid_targets(
        &self,
        selection: &InvalidTargetSelection,
        after: Option<i64>,
        limit: u32,
    ) -> Result<InvalidTargetPage, DeskError> {
        let page = invalid_targets::page(self, selection, after, limit).await;
        page.map_err(while_doing("reading targets that are gone"))
    }
}

async fn vitals(database: &Database, halting: &[String]) -> sqlx::Result<Vitals> {
    let mut transaction = AnyTransaction::to_read(database).await?;
    let mut connection = transaction.connection();
    let unsettled: Vec<(i64,)> = connection.rows(&UNSETTLED_CLAIMS, &[]).await?;
    let paused: Vec<(i64,)> = connection.rows(&PAUSED_COUNT, &[]).await?;
    let vitals = Vitals {
        channels: connection.rows_from_index(&CHANNELS, &[]).await?,
        tenants: connection.rows_from_index(&TENANTS, &[i64::from(Shard::default().0).into()]).await?,
        terms: connection.rows(&CURRENT_TERMS, &[]).await?,
        paused: connection.rows(&PAUSED_DESTINATIONS, &[Value::Text(None), PausedDestination::SHOWN.into()]).await?,
        paused_count: paused.first().map_or(0, |(count,)| *count),
        halted: halted::vitals(&mut connection, halting).await?,
        unsettled_claims: unsettled.first().map_or(0, |(count,)| *count),
        jobs: Vec::new(),
    };
    transaction.commit().await?;
    Ok(Vitals { jobs: jobs::first(database).await?, ..vitals })
}

pub(super) async fn message(database: &Database, id: MessageId) -> sqlx::Result<Option<MessageRecord>> {
    let mut transaction = AnyTransaction::to_read(database).await?;
    let found = whole_message(&mut transaction.connection(), id).await?;
    transaction.commit().await?;
    Ok(found)
}
