//! Recurring messages, on each of the databases. The statements differ by dialect; the steps and their order do not.

use async_trait::async_trait;
use outbox_schema::{EnqueueError, NewMessage, enqueue_all};

use super::{RecurringNow, RecurringStep, RecurringStore};
use crate::sql::{AnyConnection, AnyTransaction, Value};
use crate::statement::Statement;
use crate::store::steps::failed;
use crate::store::term::hold;
use crate::{Database, StoreError, TermId};

const ALL: Statement = statement!("recurring/all");
const KNOW: Statement = statement!("recurring/know");
const FIRE: Statement = statement!("recurring/fire");
const ASKED: Statement = statement!("recurring/asked");

#[async_trait]
impl RecurringStore for Database {
    async fn recurring_now(&self) -> Result<RecurringNow, StoreError> {
        now(self).await.map_err(failed("reading what is kept of recurring messages"))
    }

    async fn take_step(&self, term: &TermId, step: &RecurringStep) -> Result<bool, StoreError> {
        let doing = "writing a recurring message";
        let mut transaction = hold(self, doing, term).await?;
        let mut connection = transaction.connection();
        let changed = connection.changed(step.statement(), &step.values()).await.map_err(failed(doing))? > 0;
        let messages = step.messages();
        let writes = changed && !messages.is_empty();
        if writes {
            enqueue(&mut connection, messages).await.map_err(|error| refused(doing, error))?;
        }
        transaction.commit().await.map_err(failed(doing))?;
        Ok(writes)
    }
}

impl RecurringStep {
    fn statement(&self) -> &'static Statement {
        match self {
            Self::Know { .. } => &KNOW,
            // The row is locked until the messages are written: a call that got no answer may be under way beside this one.
            Self::Fire { .. } => &FIRE,
            Self::FireAsked { .. } => &ASKED,
        }
    }

    fn values(&self) -> Vec<Value<'_>> {
        match self {
            Self::Know { name, cron, timezone, next_ms } => {
                vec![name.into(), cron.into(), timezone.into(), Value::Number(*next_ms)]
            }
            Self::Fire { name, times_ms: (first, last), next_ms, .. } => {
                vec![name.into(), (*first).into(), (*last).into(), Value::Number(*next_ms)]
            }
            Self::FireAsked { name, asked_ms, .. } => vec![name.into(), (*asked_ms).into()],
        }
    }

    fn messages(&self) -> &[NewMessage] {
        match self {
            Self::Know { .. } => &[],
            Self::Fire { messages, .. } => messages,
            Self::FireAsked { message, .. } => std::slice::from_ref(message.as_ref()),
        }
    }
}

async fn now(database: &Database) -> sqlx::Result<RecurringNow> {
    let mut transaction = AnyTransaction::to_read(database).await?;
    let mut connection = transaction.connection();
    // The clock first: nobody is late by a time that comes between the two.
    let now_us = connection.now_us().await?;
    let states = connection.rows(&ALL, &[]).await?;
    transaction.commit().await?;
    Ok(RecurringNow { now_us, states })
}

async fn enqueue(connection: &mut AnyConnection<'_>, messages: &[NewMessage]) -> Result<(), EnqueueError> {
    match connection {
        AnyConnection::Postgres(connection) => enqueue_all(&mut **connection, messages).await,
        AnyConnection::MySql(connection) => enqueue_all(&mut **connection, messages).await,
        AnyConnection::Sqlite(connection) => enqueue_all(&mut **connection, messages).await,
    }
    .map(drop)
}

fn refused(doing: &'static str, error: EnqueueError) -> StoreError {
    match error {
        EnqueueError::Invalid { .. } => StoreError::Refused { doing, source: error.into() },
        EnqueueError::Missing(source) | EnqueueError::Database(source) => failed(doing)(source),
    }
}
