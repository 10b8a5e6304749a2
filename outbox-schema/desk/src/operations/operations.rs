//! Operations as they are listed, and going on with those that wait.

use std::time::Duration;

use async_trait::async_trait;
use outbox_store::Database;
use outbox_store::sql::{AnyTransaction, Value, read};
use outbox_store::statement;
use outbox_store::statement::Statement;

use super::entry::{OperationEntry, OperationPage, OperationStatus, Ordered, Row, Stopped};
use super::state::State;
use super::work::Work;
use super::{Action, Change, Outcome, carry, record};
use crate::error::while_doing;
use crate::operation::audit;
use crate::{Author, DeskError};

const WAITING: Statement = statement!("operations/waiting");
const LIST: Statement = statement!("operations/list");

/// Goes on with operations in place of whoever ordered them. [`Database`] does it for each of the three dialects.
#[async_trait]
pub trait Operations: Send + Sync + std::fmt::Debug {
    /// Operations that nobody carries out and this release can, the oldest first: at most `limit`.
    async fn waiting(&self, limit: u32) -> Result<Vec<i64>, DeskError>;

    /// Goes on with one of them, to its end or for as long as `goes_on` says. Whoever comes second does nothing.
    ///
    /// # Cancel safety
    /// Safe: a batch is done whole or not at all, and another process goes on some seconds later.
    async fn go_on(&self, id: i64, goes_on: &(dyn Fn() -> bool + Sync)) -> Result<(), DeskError>;
}

#[async_trait]
impl Operations for Database {
    async fn waiting(&self, limit: u32) -> Result<Vec<i64>, DeskError> {
        let waiting: Vec<(i64, String)> =
            read(self, &WAITING, &[]).await.map_err(while_doing("looking for operations that wait"))?;
        // Those that only another release can carry out must not stand before the others.
        let known = waiting.into_iter().filter(|(_, action)| Action::named(action).is_some()).map(|(id, _)| id);
        Ok(known.take(limit as usize).collect())
    }

    async fn go_on(&self, id: i64, goes_on: &(dyn Fn() -> bool + Sync)) -> Result<(), DeskError> {
        carry::go_on(self, id, goes_on).await.map_err(while_doing("going on with an operation"))
    }
}

/// The result of an operation, or what it has done so far. None where it is of another release.
async fn result(database: &Database, id: i64) -> sqlx::Result<Option<Outcome>> {
    let Some(state) = State::of(database, id).await? else { return Ok(None) };
    Ok(Action::named(&state.action).and_then(|action| Work::standing(action, &state).ok()).map(Work::done))
}

/// Begins a change of many messages, and carries it out for so long. Then the poller goes on with it.
///
/// # Errors
/// The database did not answer, or refused. There is nothing to undo under that id.
pub async fn begin(
    database: &Database,
    change: &Change,
    author: &Author,
    within: Duration,
) -> Result<Ordered, DeskError> {
    let begun = carry::carry_for(database, change, author, within).await;
    change.found(begun.map_err(while_doing(change.action().doing()))?)
}

/// Operations, the newest first: at most `limit`, with ids below `after`.
///
/// # Errors
/// The database did not answer, or refused.
pub async fn operations(database: &Database, after: Option<i64>, limit: u32) -> Result<OperationPage, DeskError> {
    let most = i64::from(limit) + 1;
    let rows: Vec<Row> = read(database, &LIST, &[Value::Number(after), most.into()])
        .await
        .map_err(while_doing("reading the operations"))?;
    let more = rows.len() > limit as usize;
    let operations: Vec<_> = rows.into_iter().take(limit as usize).map(OperationEntry::from).collect();
    let next = operations.last().filter(|_| more).map(|last| last.id);
    Ok(OperationPage { operations, next })
}

/// One operation, with what it did.
///
/// # Errors
/// The database did not answer, or refused.
pub async fn operation(database: &Database, id: i64) -> Result<Option<OperationEntry>, DeskError> {
    let doing = || while_doing("reading an operation");
    let rows: Vec<Row> = read(database, &LIST, &[id.saturating_add(1).into(), 1.into()]).await.map_err(doing())?;
    let Some(row) = rows.into_iter().find(|row| row.id == id) else { return Ok(None) };
    Ok(Some(OperationEntry { result: result(database, id).await.map_err(doing())?, ..row.into() }))
}

/// Stops an operation that is open. None where there is no such operation.
pub(crate) async fn stop(database: &Database, id: i64, author: &Author) -> sqlx::Result<Option<Stopped>> {
    if State::of(database, id).await?.is_none() {
        return Ok(None);
    }
    let mut transaction = AnyTransaction::to_write(database).await?;
    let mut connection = transaction.connection();
    let stopped = record::end(&mut connection, id, OperationStatus::Stopped, None).await?;
    if stopped {
        let details = serde_json::json!({ "operation": id }).to_string();
        audit(&mut connection, "stop", None, &details, author).await?;
    }
    transaction.commit().await?;
    Ok(Some(Stopped { stopped }))
}
