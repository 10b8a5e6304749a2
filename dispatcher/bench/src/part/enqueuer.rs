//! An application that enqueues through the library, and then by bare inserts of the same rows into the same table.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use outbox_schema::{NewMessage, OutboxConnection, enqueue, enqueue_all};
use outbox_store::{ConnectOptions, Database};
use serde::{Deserialize, Serialize};
use sqlx::{AssertSqlSafe, MySqlConnection, PgConnection, SqliteConnection};
use tracing::Subscriber;
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;

use crate::number::{Percentiles, float};
use crate::rows::payload;

/// The messages of one batch.
const AT_ONCE: usize = 1_000;

/// For this many messages that are enqueued in batches, one message is enqueued alone.
const ALONE: usize = 100;

/// The outbox and the number of messages. No `Debug`: a password must not get into a log.
#[derive(Serialize, Deserialize)]
pub(crate) struct Orders {
    /// The database, with its password.
    pub(crate) url: String,
    /// The schema, on PostgreSQL.
    pub(crate) schema: Option<String>,
    /// The target of the messages.
    pub(crate) target: String,
    /// The number of messages for each of the two ways.
    pub(crate) messages: usize,
}

/// The result.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Enqueued {
    /// The statements that the library needs to enqueue one message.
    pub(crate) statements: f64,
    /// The time to enqueue one message in an open transaction.
    pub(crate) one: Percentiles,
    /// The time of a bare insert of one row in an open transaction.
    pub(crate) one_bare: Percentiles,
    /// Messages a second through the library, in batches. Each batch has its own commit.
    pub(crate) many: f64,
    /// Messages a second by bare inserts of as many rows.
    pub(crate) many_bare: f64,
}

pub(super) async fn measure(orders: Orders) -> anyhow::Result<Enqueued> {
    let Orders { url, schema, target, messages } = orders;
    let sent = Arc::new(AtomicUsize::new(0));
    tracing_subscriber::registry().with(Statements(sent.clone())).init();
    let options = ConnectOptions { url: &url, schema: schema.as_deref(), connections: 1 };
    let database = Database::connect(&options).await?;
    let work = Work { target, batches: messages.div_ceil(AT_ONCE), singles: messages.div_ceil(ALONE), sent };
    match database {
        Database::Postgres(pool) => work.on(&mut *pool.acquire().await?).await,
        Database::MySql(pool) => work.on(&mut *pool.acquire().await?).await,
        Database::Sqlite(pool) => work.on(&mut *pool.acquire().await?).await,
    }
}

/// Counts the statements that sqlx sends, by the events that sqlx logs.
struct Statements(Arc<AtomicUsize>);

impl<S: Subscriber> Layer<S> for Statements {
    fn on_event(&self, event: &tracing::Event<'_>, _: Context<'_, S>) {
        if event.metadata().target() == "sqlx::query" {
            self.0.fetch_add(1, Relaxed);
        }
    }
}

/// A connection that runs statements as they are written.
trait Bare: OutboxConnection {
    async fn order(&mut self, sql: String) -> sqlx::Result<()>;
    async fn put(&mut self, sql: &str, values: Vec<&str>) -> sqlx::Result<()>;
    fn place(number: usize) -> String;
    /// The cast for a payload.
    const JSON: &'static str = "";
}

impl Bare for PgConnection {
    const JSON: &'static str = "::jsonb";

    async fn order(&mut self, sql: String) -> sqlx::Result<()> {
        sqlx::raw_sql(AssertSqlSafe(sql)).execute(self).await.map(drop)
    }

    async fn put(&mut self, sql: &str, values: Vec<&str>) -> sqlx::Result<()> {
        let query = sqlx::query(AssertSqlSafe(sql.to_owned()));
        values.into_iter().fold(query, |query, value| query.bind(value.to_owned())).execute(self).await.map(drop)
    }

    fn place(number: usize) -> String {
        format!("${number}::text")
    }
}

impl Bare for MySqlConnection {
    async fn order(&mut self, sql: String) -> sqlx::Result<()> {
        sqlx::raw_sql(AssertSqlSafe(sql)).execute(self).await.map(drop)
    }

    async fn put(&mut self, sql: &str, values: Vec<&str>) -> sqlx::Result<()> {
        let query = sqlx::query(AssertSqlSafe(sql.to_owned()));
        values.into_iter().fold(query, |query, value| query.bind(value.to_owned())).execute(self).await.map(drop)
    }

    fn place(_: usize) -> String {
        "?".to_owned()
    }
}

impl Bare for SqliteConnection {
    async fn order(&mut self, sql: String) -> sqlx::Result<()> {
        sqlx::raw_sql(AssertSqlSafe(sql)).execute(self).await.map(drop)
    }

    async fn put(&mut self, sql: &str, values: Vec<&str>) -> sqlx::Result<()> {
        let query = sqlx::query(AssertSqlSafe(sql.to_owned()));
        values.into_iter().fold(query, |query, value| query.bind(value.to_owned())).execute(self).await.map(drop)
    }

    fn place(_: usize) -> String {
        "?".to_owned()
    }
}

struct Work {
    target: String,
    batches: usize,
    singles: usize,
    /// The number of statements so far.
    sent: Arc<AtomicUsize>,
}

impl Work {
    async fn on<C: Bare>(&self, connection: &mut C) -> anyhow::Result<Enqueued> {
        let (one, one_bare, statements) = self.singly(connection).await?;
        let (many, many_bare) = self.at_once(connection).await?;
        Ok(Enqueued { statements, one: Percentiles::of(one), one_bare: Percentiles::of(one_bare), many, many_bare })
    }

    /// Enqueues one message in each way, in turn. The times leave out the begin and the commit of the transaction.
    async fn singly<C: Bare>(&self, connection: &mut C) -> anyhow::Result<(Vec<u32>, Vec<u32>, f64)> {
        let (message, body, insert) = (self.message(), payload(), insert_of::<C>(1));
        let (mut ours, mut bare, mut sent) = (Vec::new(), Vec::new(), 0);
        for _ in 0..self.singles {
            connection.order("BEGIN".to_owned()).await?;
            let before = self.sent.load(Relaxed);
            ours.push(micros(timed(enqueue(connection, &message)).await?));
            sent += self.sent.load(Relaxed) - before;
            connection.order("COMMIT".to_owned()).await?;
            connection.order("BEGIN".to_owned()).await?;
            bare.push(micros(timed(connection.put(&insert, vec![&self.target, &body])).await?));
            connection.order("COMMIT".to_owned()).await?;
        }
        Ok((ours, bare, float(sent) / float(self.singles)))
    }

    /// Enqueues batches in each way, in turn. Returns messages a second for the library and for the bare inserts.
    async fn at_once<C: Bare>(&self, connection: &mut C) -> anyhow::Result<(f64, f64)> {
        let (body, insert) = (payload(), insert_of::<C>(AT_ONCE));
        let messages: Vec<_> = (0..AT_ONCE).map(|_| self.message()).collect();
        let (mut ours, mut bare) = (Duration::ZERO, Duration::ZERO);
        for _ in 0..self.batches {
            let began = Instant::now();
            connection.order("BEGIN".to_owned()).await?;
            enqueue_all(connection, &messages).await?;
            connection.order("COMMIT".to_owned()).await?;
            ours += began.elapsed();
            let values = (0..AT_ONCE).flat_map(|_| [self.target.as_str(), body.as_str()]).collect();
            let began = Instant::now();
            connection.order("BEGIN".to_owned()).await?;
            connection.put(&insert, values).await?;
            connection.order("COMMIT".to_owned()).await?;
            bare += began.elapsed();
        }
        let rate = |took: Duration| float(self.batches * AT_ONCE) / took.as_secs_f64();
        Ok((rate(ours), rate(bare)))
    }

    fn message(&self) -> NewMessage {
        NewMessage::new("http", &self.target, payload())
    }
}

fn insert_of<C: Bare>(rows: usize) -> String {
    let row =
        |number: usize| format!("('http', {}, {}{})", C::place(number * 2 + 1), C::place(number * 2 + 2), C::JSON);
    let rows: Vec<_> = (0..rows).map(row).collect();
    format!("INSERT INTO outbox (channel, target, payload) VALUES {}", rows.join(", "))
}

async fn timed<T, E: Into<anyhow::Error>>(work: impl Future<Output = Result<T, E>>) -> anyhow::Result<Duration> {
    let began = Instant::now();
    work.await.map_err(Into::into)?;
    Ok(began.elapsed())
}

fn micros(took: Duration) -> u32 {
    u32::try_from(took.as_micros()).unwrap_or(u32::MAX)
}
