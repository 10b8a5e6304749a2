//! Operations: changes of many messages, each a row of `outbox_operation`. Whoever is asked for one carries it out while he
//! lives. Then the poller goes on with it, from where the row says that it stands.

mod carry;
mod order;
mod record;
mod remaining;
mod said;
mod work;

use async_trait::async_trait;
use serde::{Deserialize, Serialize, Serializer};
use sqlx::FromRow;

pub(super) use self::record::State;
use super::cancel::Cancelling;
use super::edit_all::Editing;
use super::messages::among;
use super::operation::audit;
use super::prune::Removing;
use super::redrive::{Purging, Redriving};
use super::replay::Replaying;
use super::retry::Retrying;
use super::undo::Undoing;
use super::{
    AuditEntry, Author, CancelledAll, DeskError, EditedAll, MessageFilter, MessageSummary, Purged, Redriven, Replayed,
    Retried, Undone,
};
use crate::retention::Pruned;
use crate::sql::{AnyTransaction, Statement, Value, read, while_doing};
use crate::store::lossy::Lossy;
use crate::{Database, MessageId};

const WAITING: Statement = statement!("operations/waiting");
const LIST: Statement = statement!("operations/list");

pub(super) use carry::carry;
use carry::carry_for;
pub use order::Order;
pub(super) use remaining::Remaining;
pub(super) use work::{Batch, Work};

/// An operation, as its row says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct OperationEntry {
    /// The id of the operation, which is that of its entry in `outbox_audit`.
    pub id: i64,
    /// What it does: `redrive`, `replay`, `cancel`, `retry`, `edit`, `undo`, `purge` or `prune`.
    pub action: String,
    /// The name of who ordered the operation.
    pub who: Option<String>,
    /// Why, in their words.
    pub why: Option<String>,
    /// The order, as the audit has it: its filter or the number of ids, the pace, the change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Object>))]
    pub order: Option<serde_json::Value>,
    /// Where it stands.
    pub status: OperationStatus,
    /// Whether it is open and waits for the poller: nobody carries it out now.
    pub waits: bool,
    /// How many messages it is about. None where nobody has counted them.
    pub meant: Option<u64>,
    /// How many of them it has come to.
    pub done: u64,
    /// How many of them it has changed.
    pub changed: u64,
    /// When it began.
    pub began_at: String,
    /// When it ended. None: it is open.
    pub ended_at: Option<String>,
    /// How long it has lasted, in milliseconds.
    pub lasted_ms: u64,
    /// Why it failed.
    pub failure: Option<String>,
    /// The result, or what was done so far. Only of an operation that is asked for by its id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<OperationResult>,
}

/// Where an operation stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum OperationStatus {
    /// It goes on, or waits for the poller.
    Open,
    /// It has come to all its messages.
    Done,
    /// Somebody stopped it. What it had changed by then stays so.
    Stopped,
    /// The database refused a batch. What it had changed by then stays so.
    Failed,
}

/// The result of an operation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum OperationResult {
    /// Of a redrive.
    Redrive(Redriven),
    /// Of a replay.
    Replay(Replayed),
    /// Of a cancellation.
    Cancel(CancelledAll),
    /// Of a retry.
    Retry(Retried),
    /// Of an edit of many.
    Edit(EditedAll),
    /// Of an undo.
    Undo(Undone),
    /// Of a purge.
    Purge(Purged),
    /// Of a removal by hand of what is past its retention.
    Prune(Pruned),
}

impl OperationResult {
    /// The result alone, without the name of its kind.
    pub fn alone(&self) -> Alone<'_> {
        Alone(self)
    }
}

/// A result without the name of its kind.
#[derive(Debug, Clone, Copy)]
pub struct Alone<'a>(&'a OperationResult);

impl Serialize for Alone<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            OperationResult::Redrive(done) => done.serialize(serializer),
            OperationResult::Replay(done) => done.serialize(serializer),
            OperationResult::Cancel(done) => done.serialize(serializer),
            OperationResult::Retry(done) => done.serialize(serializer),
            OperationResult::Edit(done) => done.serialize(serializer),
            OperationResult::Undo(done) => done.serialize(serializer),
            OperationResult::Purge(done) => done.serialize(serializer),
            OperationResult::Prune(done) => done.serialize(serializer),
        }
    }
}

/// The answer to an order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ordered<T> {
    /// There was nothing to do, or there is no row, and it was carried out at once.
    Over(T),
    /// The operation with this id has begun.
    Begun(i64),
}

/// A page of operations.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct OperationPage {
    /// The operations, the newest first.
    pub operations: Vec<OperationEntry>,
    /// The `after` of the next page, which has lower ids. None on the last page.
    pub next: Option<i64>,
}

/// The answer to whoever stops an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Stopped {
    /// Whether the operation was open until now. It had ended otherwise.
    pub stopped: bool,
}

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

impl AuditEntry {
    /// The order of a change in words, where the entry is of one: which messages, what becomes of them, and how fast.
    pub fn order_in_words(&self) -> Option<String> {
        said::in_words(&serde_json::from_str(self.details.as_deref()?).ok()?)
    }
}

impl OperationEntry {
    /// The order in words: which messages, what becomes of them, and how fast.
    pub fn order_in_words(&self) -> Option<String> {
        self.order.as_ref().and_then(said::in_words)
    }

    /// How many messages it has come to a second. None before the first.
    pub fn rate(&self) -> Option<u64> {
        (self.done > 0).then(|| self.done.saturating_mul(1_000) / self.lasted_ms.max(1))
    }

    /// How long it will last yet at its pace, in milliseconds. None where that is not known, and where it has ended.
    pub fn left_ms(&self) -> Option<u64> {
        let left = self.meant?.saturating_sub(self.done);
        (self.status == OperationStatus::Open && self.done > 0).then(|| left.saturating_mul(self.lasted_ms) / self.done)
    }
}

impl OperationStatus {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Open, Self::Done, Self::Stopped, Self::Failed];

    /// The value of the `status` column.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Done => "done",
            Self::Stopped => "stopped",
            Self::Failed => "failed",
        }
    }

    fn of(text: &str) -> Self {
        Self::ALL.into_iter().find(|status| status.as_str() == text).unwrap_or(Self::Failed)
    }
}

/// Does what is the same for the work of an action, whatever its type. An action of another release is no work of this one.
macro_rules! work_of {
    ($action:expr, $do:ident ! ( $($more:expr),* ), else $otherwise:expr) => {
        match $action {
            Redriving::ACTION => $do!(Redriving, Redrive $(, $more)*),
            Replaying::ACTION => $do!(Replaying, Replay $(, $more)*),
            Cancelling::ACTION => $do!(Cancelling, Cancel $(, $more)*),
            Retrying::ACTION => $do!(Retrying, Retry $(, $more)*),
            Editing::ACTION => $do!(Editing, Edit $(, $more)*),
            Undoing::ACTION => $do!(Undoing, Undo $(, $more)*),
            Purging::ACTION => $do!(Purging, Purge $(, $more)*),
            Removing::ACTION => $do!(Removing, Prune $(, $more)*),
            _ => $otherwise,
        }
    };
}

#[async_trait]
impl Operations for Database {
    async fn waiting(&self, limit: u32) -> Result<Vec<i64>, DeskError> {
        let waiting: Vec<(i64, String)> =
            read(self, &WAITING, &[]).await.map_err(while_doing("looking for operations that wait"))?;
        // Those that only another release can carry out must not stand before the others.
        let known = waiting.into_iter().filter(|(_, action)| is_known(action)).map(|(id, _)| id);
        Ok(known.take(limit as usize).collect())
    }

    async fn go_on(&self, id: i64, goes_on: &(dyn Fn() -> bool + Sync)) -> Result<(), DeskError> {
        go_on(self, id, goes_on).await.map_err(while_doing("going on with an operation"))
    }
}

/// Whether this release can carry out operations of that action.
fn is_known(action: &str) -> bool {
    macro_rules! known {
        ($work:ty, $result:ident) => {
            true
        };
    }
    work_of!(action, known!(), else false)
}

async fn go_on(database: &Database, id: i64, goes_on: &(dyn Fn() -> bool + Sync)) -> sqlx::Result<()> {
    let Some(state) = State::of(database, id).await? else { return Ok(()) };
    macro_rules! carried {
        ($work:ty, $result:ident) => {
            carry::go_on::<$work>(database, id, &state, goes_on).await
        };
    }
    // It waits for a poller that knows what it is.
    work_of!(state.action.as_str(), carried!(), else Ok(()))
}

/// The result of an operation, or what it has done so far.
async fn result(database: &Database, id: i64) -> sqlx::Result<Option<OperationResult>> {
    let Some(state) = State::of(database, id).await? else { return Ok(None) };
    macro_rules! told {
        ($work:ty, $result:ident) => {
            state.work::<$work>().ok().map(|work| OperationResult::$result(work.done()))
        };
    }
    Ok(work_of!(state.action.as_str(), told!(), else None))
}

impl Database {
    /// Operations, the newest first: at most `limit`, with ids below `after`.
    ///
    /// # Errors
    /// The database did not answer, or refused.
    pub async fn operations(&self, after: Option<i64>, limit: u32) -> Result<OperationPage, DeskError> {
        let most = i64::from(limit) + 1;
        let rows: Vec<Row> = read(self, &LIST, &[Value::Number(after), most.into()])
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
    pub async fn operation(&self, id: i64) -> Result<Option<OperationEntry>, DeskError> {
        let doing = || while_doing("reading an operation");
        let rows: Vec<Row> = read(self, &LIST, &[id.saturating_add(1).into(), 1.into()]).await.map_err(doing())?;
        let Some(row) = rows.into_iter().find(|row| row.id == id) else { return Ok(None) };
        Ok(Some(OperationEntry { result: result(self, id).await.map_err(doing())?, ..row.into() }))
    }
}

impl Database {
    /// The messages with these ids as they are now, without their bodies. Those that are not there any more are left out.
    ///
    /// # Errors
    /// The database did not answer, or refused.
    pub async fn summaries(&self, ids: &[MessageId]) -> Result<Vec<MessageSummary>, DeskError> {
        let found = among(self, ids, &MessageFilter::default()).await;
        found.map_err(while_doing("reading messages"))
    }
}

/// Stops an operation that is open. None where there is no such operation.
pub(super) async fn stop(database: &Database, id: i64, author: &Author) -> sqlx::Result<Option<Stopped>> {
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

#[derive(Debug, FromRow)]
struct Row {
    id: i64,
    action: String,
    #[sqlx(try_from = "Lossy<Option<String>>")]
    who: Option<String>,
    #[sqlx(try_from = "Lossy<Option<String>>")]
    why: Option<String>,
    #[sqlx(try_from = "Lossy<Option<String>>")]
    details: Option<String>,
    status: String,
    waits: i64,
    meant: Option<i64>,
    done: i64,
    changed: i64,
    began_at: String,
    ended_at: Option<String>,
    lasted_ms: i64,
    #[sqlx(try_from = "Lossy<Option<String>>")]
    failure: Option<String>,
}

impl From<Row> for OperationEntry {
    fn from(row: Row) -> Self {
        let count = |number: i64| number.try_into().unwrap_or(0);
        Self {
            id: row.id,
            action: row.action,
            who: row.who,
            why: row.why,
            order: row.details.and_then(|details| serde_json::from_str(&details).ok()),
            status: OperationStatus::of(&row.status),
            waits: row.waits != 0,
            meant: row.meant.map(count),
            done: count(row.done),
            changed: count(row.changed),
            began_at: row.began_at,
            ended_at: row.ended_at,
            lasted_ms: count(row.lasted_ms),
            failure: row.failure,
            result: None,
        }
    }
}
