//! The row of an operation, and who carries it out.

use std::time::Duration;

use outbox_store::Database;
use outbox_store::lacks_rights;
use outbox_store::sql::{AnyConnection, AnyTransaction, Value, write};
use outbox_store::statement;
use outbox_store::statement::Statement;
use outbox_store::store::millis_i64;
use uuid::Uuid;

use super::state::{Fields, State};
use super::work::Work;
use super::{Action, OperationStatus};
use crate::edit::not_json;
use crate::operation::{Operation, audit, lock_terms, who};
use crate::{Author, Progress};

const BEGIN: Statement = statement!("operations/begin");
const FORGET: Statement = statement!("operations/forget");
const LOCK: Statement = statement!("operations/lock");
const KEEP: Statement = statement!("operations/keep");
const TAKE: Statement = statement!("operations/take");
const LEAVE: Statement = statement!("operations/leave");
const END: Statement = statement!("operations/end");

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

/// What a carrier finds before a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    Mine,
    /// Another process carries the operation out.
    Lost,
    /// Somebody stopped the operation.
    Ended,
}

impl<'a> Record<'a> {
    /// Writes the entry of the audit, and the row, while it locks all terms. Claims that were being made have then committed, and
    /// later claims take no dead letters. So a change of dead letters needs only the locks of their rows.
    pub(super) async fn begin(
        database: &'a Database,
        work: &mut Work,
        meant: Option<u64>,
        author: &Author,
    ) -> sqlx::Result<Self> {
        let mut transaction = AnyTransaction::to_write(database).await?;
        let mut connection = transaction.connection();
        lock_terms(&mut connection).await?;
        let (action, details) = (work.action().as_str(), work.said().to_string());
        let audit_id = audit(&mut connection, action, None, &details, author).await?;
        work.begun(audit_id);
        let operation = Operation { audit_id, action, who: who(author) };
        let order = work.fields().map_err(not_json)?;
        let mut record = Self { database, operation, order, carrier: Uuid::new_v4().to_string(), written: false };
        record.written = record.write(&mut connection, meant).await?;
        transaction.commit().await?;
        Ok(record)
    }

    /// Takes an operation that waits. None where somebody was faster.
    pub(super) async fn take(
        database: &'a Database,
        id: i64,
        (action, state): (Action, &State),
    ) -> sqlx::Result<Option<Self>> {
        let who = state.who.clone().unwrap_or_default();
        let operation = Operation { audit_id: id, action: action.as_str(), who };
        // What cannot be read is told by who reads the work.
        let order = state.ordered().unwrap_or_default();
        let record = Self { database, operation, order, carrier: Uuid::new_v4().to_string(), written: true };
        let values = [id.into(), (&record.carrier).into(), millis_i64(SILENCE).into()];
        let mut transaction = AnyTransaction::to_write(database).await?;
        let taken = transaction.connection().changed(&TAKE, &values).await?;
        transaction.commit().await?;
        Ok((taken == 1).then_some(record))
    }

    /// Writes the row. False where the role may not.
    async fn write(&self, connection: &mut AnyConnection<'_>, meant: Option<u64>) -> sqlx::Result<bool> {
        let state = serde_json::to_string(&self.order).map_err(not_json)?;
        let values = [
            self.operation.audit_id.into(),
            self.operation.action.into(),
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
    pub(super) async fn keep(
        &self,
        connection: &mut AnyConnection<'_>,
        work: &Work,
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
    fn changed_in(&self, work: &Work) -> sqlx::Result<Fields> {
        let mut work = work.fields().map_err(not_json)?;
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
