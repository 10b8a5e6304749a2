//! The row of an operation, and who carries it out.

use std::time::Duration;

use uuid::Uuid;

use super::{OperationStatus, Work};
use crate::Database;
use crate::desk::edit::not_json;
use crate::desk::operation::{Operation, audit, lock_terms, who};
use crate::desk::{Author, Progress};
use crate::rights::lacks_rights;
use crate::sql::{AnyConnection, AnyTransaction, Value, read, write};
use crate::statement::Statement;
use crate::store::wire::millis_i64;

const BEGIN: Statement = statement!("operations/begin");
const FORGET: Statement = statement!("operations/forget");
const LOCK: Statement = statement!("operations/lock");
const KEEP: Statement = statement!("operations/keep");
const TAKE: Statement = statement!("operations/take");
const LEAVE: Statement = statement!("operations/leave");
const END: Statement = statement!("operations/end");
const STATE: Statement = statement!("operations/state");

/// How long a carrier may be silent before the poller goes on in his place.
const SILENCE: Duration = Duration::from_secs(10);

/// An operation that this process carries out.
#[derive(Debug)]
pub(super) struct Record<'a> {
    database: &'a Database,
    pub(super) operation: Operation,
    /// The work before its first batch, as the row has it. An order by ids is long, so a batch writes only what it changed.
    order: Fields,
    /// A random name, so that no two processes take each other for themselves.
    carrier: String,
    /// Whether there is a row. An operator's role may lack the right to make one.
    pub(super) written: bool,
}

/// Work, as it is written down: each field by its name.
type Fields = serde_json::Map<String, serde_json::Value>;

/// What a carrier finds before a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    Mine,
    /// Another process carries the operation out.
    Lost,
    /// Somebody stopped the operation.
    Ended,
}

/// The state of an operation, as the row has it.
#[derive(Debug, sqlx::FromRow)]
pub(in crate::desk) struct State {
    pub(super) action: String,
    pub(super) kept: String,
    /// What batches have changed of it.
    place: Option<String>,
    meant: Option<i64>,
    done: i64,
    changed: i64,
    status: String,
    who: Option<String>,
}

impl State {
    pub(in crate::desk) async fn of(database: &Database, id: i64) -> sqlx::Result<Option<Self>> {
        Ok(read(database, &STATE, &[id.into()]).await?.pop())
    }

    pub(in crate::desk) fn is_open(&self) -> bool {
        OperationStatus::of(&self.status) == OperationStatus::Open
    }

    /// The work, as it stands.
    pub(super) fn work<W: Work>(&self) -> sqlx::Result<W> {
        let mut work = fields(&self.kept)?;
        work.extend(self.place.as_deref().map(fields).transpose()?.unwrap_or_default());
        serde_json::from_value(work.into()).map_err(unread)
    }

    pub(in crate::desk) fn progress(&self, id: i64) -> Progress {
        Progress {
            audit_id: id,
            of: self.meant.and_then(|meant| meant.try_into().ok()),
            done: self.done.try_into().unwrap_or(0),
            changed: self.changed.try_into().unwrap_or(0),
            has_row: true,
        }
    }
}

impl<'a> Record<'a> {
    /// Writes the entry of the audit, and the row, while it locks all terms. Claims that were being made have then committed, and
    /// later claims take no dead letters. So a change of dead letters needs only the locks of their rows.
    pub(super) async fn begin<W: Work>(
        database: &'a Database,
        work: &mut W,
        meant: Option<u64>,
        author: &Author,
    ) -> sqlx::Result<Self> {
        let mut transaction = AnyTransaction::to_write(database).await?;
        let mut connection = transaction.connection();
        lock_terms(&mut connection).await?;
        let details = work.said().to_string();
        let audit_id = audit(&mut connection, W::ACTION, None, &details, author).await?;
        work.begun(audit_id);
        let operation = Operation { audit_id, action: W::ACTION, who: who(author) };
        let order = serde_json::to_value(&*work).map_err(not_json)?;
        let order = order.as_object().cloned().unwrap_or_default();
        let mut record = Self { database, operation, order, carrier: Uuid::new_v4().to_string(), written: false };
        record.written = record.write::<W>(&mut connection, meant).await?;
        transaction.commit().await?;
        Ok(record)
    }

    /// Takes an operation that waits. None where somebody was faster.
    pub(super) async fn take<W: Work>(database: &'a Database, id: i64, state: &State) -> sqlx::Result<Option<Self>> {
        let operation = Operation { audit_id: id, action: W::ACTION, who: state.who.clone().unwrap_or_default() };
        // What cannot be read is told by who reads the work.
        let order = fields(&state.kept).unwrap_or_default();
        let record = Self { database, operation, order, carrier: Uuid::new_v4().to_string(), written: true };
        let values = [id.into(), (&record.carrier).into(), millis_i64(SILENCE).into()];
        let mut transaction = AnyTransaction::to_write(database).await?;
        let taken = transaction.connection().changed(&TAKE, &values).await?;
        transaction.commit().await?;
        Ok((taken == 1).then_some(record))
    }

    /// Writes the row. False where the role may not.
    async fn write<W: Work>(&self, connection: &mut AnyConnection<'_>, meant: Option<u64>) -> sqlx::Result<bool> {
        let state = serde_json::to_string(&self.order).map_err(not_json)?;
        let values = [
            self.operation.audit_id.into(),
            W::ACTION.into(),
            (&state).into(),
            number(meant),
            (&self.carrier).into(),
            millis_i64(SILENCE).into(),
        ];
        // PostgreSQL ends a transaction in which a statement was refused.
        connection.script("SAVEPOINT operation".to_owned()).await?;
        match connection.changed(&BEGIN, &values).await {
            Ok(_) => {
                connection.changed(&FORGET, &[]).await?;
                Ok(true)
            }
            Err(error) if lacks_rights(&error) => {
                connection.script("ROLLBACK TO SAVEPOINT operation".to_owned()).await?;
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    /// Locks the row until the transaction ends.
    pub(super) async fn lock(&self, connection: &mut AnyConnection<'_>) -> sqlx::Result<Standing> {
        if !self.written {
            return Ok(Standing::Mine);
        }
        let row: Vec<(String, Option<String>)> = connection.rows(&LOCK, &[self.operation.audit_id.into()]).await?;
        Ok(match row.first() {
            Some((status, _)) if OperationStatus::of(status) != OperationStatus::Open => Standing::Ended,
            Some((_, Some(carrier))) if *carrier == self.carrier => Standing::Mine,
            Some(_) => Standing::Lost,
            None => Standing::Ended,
        })
    }

    /// Writes down where the work stands, in the transaction of its batch. `rest` is how long the carrier means to pause.
    pub(super) async fn keep<W: Work>(
        &self,
        connection: &mut AnyConnection<'_>,
        work: &W,
        progress: Progress,
        (status, rest): (OperationStatus, Duration),
    ) -> sqlx::Result<()> {
        if !self.written {
            return Ok(());
        }
        let place = serde_json::to_string(&self.changed_in(work)?).map_err(not_json)?;
        let values = [
            self.operation.audit_id.into(),
            (&place).into(),
            number(Some(progress.done)),
            number(Some(progress.changed)),
            number(progress.of),
            status.as_str().into(),
            millis_i64(rest.saturating_add(SILENCE)).into(),
        ];
        connection.changed(&KEEP, &values).await.map(drop)
    }

    /// The fields of the work that are not as they were ordered.
    fn changed_in<W: Work>(&self, work: &W) -> sqlx::Result<Fields> {
        let serde_json::Value::Object(mut work) = serde_json::to_value(work).map_err(not_json)? else {
            return Ok(Fields::new());
        };
        work.retain(|name, value| self.order.get(name) != Some(value));
        Ok(work)
    }

    /// Leaves the operation to the poller.
    pub(super) async fn leave(&self) -> sqlx::Result<()> {
        write(self.database, &LEAVE, &[self.operation.audit_id.into(), (&self.carrier).into()]).await
    }

    /// Ends the operation before its end.
    pub(super) async fn end(&self, status: OperationStatus, failure: Option<&str>) -> sqlx::Result<()> {
        if !self.written {
            return Ok(());
        }
        let mut transaction = AnyTransaction::to_write(self.database).await?;
        end(&mut transaction.connection(), self.operation.audit_id, status, failure).await?;
        transaction.commit().await
    }
}

/// Ends an operation that is open. False where it had ended.
pub(super) async fn end(
    connection: &mut AnyConnection<'_>,
    id: i64,
    status: OperationStatus,
    failure: Option<&str>,
) -> sqlx::Result<bool> {
    Ok(connection.changed(&END, &[id.into(), status.as_str().into(), failure.into()]).await? == 1)
}

fn number(count: Option<u64>) -> Value<'static> {
    Value::Number(count.map(|count| i64::try_from(count).unwrap_or(i64::MAX)))
}

fn fields(text: &str) -> sqlx::Result<Fields> {
    serde_json::from_str(text).map_err(unread)
}

fn unread(error: serde_json::Error) -> sqlx::Error {
    sqlx::Error::Decode(Box::new(error))
}
