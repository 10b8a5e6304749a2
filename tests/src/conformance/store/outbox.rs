//! An outbox in a database of its own, and what a test asks of it by plain SQL.

use std::sync::Arc;
use std::time::Duration;

use outbox_schema::MessageId;
use outbox_store::destination::DestinationStore as _;
use outbox_store::store::due::DueRows;
use outbox_store::{ChannelTerms, ConnectOptions, DEFAULT_ENVIRONMENT, Database, Epoch, Holder, Shard, Store, TermId};
use sqlx::{AssertSqlSafe, Row};
use uuid::Uuid;

use crate::application;
use crate::servers;

use super::watched::Watched;

/// Which SQL is spoken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// PostgreSQL.
    Postgres,
    /// MySQL and MariaDB.
    MySql,
    /// SQLite.
    Sqlite,
}

/// A new outbox.
#[derive(Debug)]
pub struct Outbox {
    /// Where it is.
    pub dialect: Dialect,
    /// What is tested.
    pub store: Arc<dyn Store>,
    due: Arc<dyn DueRows>,
    database: Database,
    url: String,
}

/// A message as its row says it. Times are milliseconds from now; those in the past are negative.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageRow {
    pub status: String,
    pub revision: i64,
    pub attempts: i64,
    pub dead_reason: Option<String>,
    pub last_error: Option<String>,
    pub last_status_code: Option<String>,
    pub receipt: Option<String>,
    pub available_in: i64,
    pub deferred_from: Option<i64>,
    pub first_attempt: Option<i64>,
    pub finished: Option<i64>,
}

/// A row of `outbox_attempt`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttemptRow {
    pub number: i64,
    pub epoch: i64,
    pub holder: String,
    pub outcome: String,
    pub status_code: Option<String>,
    pub error: Option<String>,
    pub excerpt: Option<String>,
    pub claimed: Option<i64>,
    pub started: Option<i64>,
    pub duration_ms: Option<String>,
}

impl Outbox {
    /// A database of its own, migrated.
    pub async fn fresh(dialect: Dialect) -> Self {
        let url = match dialect {
            Dialect::Postgres => servers::postgres().await.database().await.url,
            Dialect::MySql => servers::mariadb().await.database().await.url,
            Dialect::Sqlite => servers::sqlite().url,
        };
        let options = ConnectOptions { url: &url, schema: None, connections: 5 };
        let database = Database::connect(&options).await.unwrap();
        database.migrate(DEFAULT_ENVIRONMENT).await.unwrap();
        Self { dialect, store: database.store(), due: Watched::of(database.store()), database, url }
    }

    /// Its due rows.
    pub fn due(&self) -> Arc<dyn DueRows> {
        self.due.clone()
    }

    /// For the message of a test that fails.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The same outbox, for people.
    pub fn database(&self) -> &Database {
        &self.database
    }

    /// Ends its connections.
    pub async fn close(&self) {
        self.database.close().await;
    }

    /// Begins a term of shard 0 for a new holder, and brings back what waited for these channels to be configured.
    pub async fn term(&self, channels: &[ChannelTerms]) -> TermId {
        let holder = Holder::new("test", &Uuid::new_v4().to_string());
        let opened = self.store.begin_term(Shard(0), &holder, Epoch(0)).await.unwrap();
        let term = TermId { shard: Shard(0), epoch: opened.epoch, holder };
        let channels: Vec<_> = channels.iter().map(|channel| channel.name.as_str()).collect();
        self.database.bring_back_configured(&term, &channels, 1_000).await.unwrap();
        term
    }

    /// Runs statements.
    pub async fn execute(&self, sql: &str) {
        self.try_execute(sql).await.unwrap();
    }

    /// Runs statements that may fail, as an application does.
    pub async fn try_execute(&self, sql: &str) -> sqlx::Result<()> {
        application::execute(&self.database, sql).await
    }

    /// Inserts a message for `http` with further columns, given as SQL, as an application would; the last column of
    /// a name counts.
    pub async fn insert(&self, columns: &[(&str, &str)]) -> MessageId {
        self.try_insert(columns).await.unwrap()
    }

    /// Inserts a message that may be refused.
    pub async fn try_insert(&self, columns: &[(&str, &str)]) -> sqlx::Result<MessageId> {
        let key = format!("'{}'", Uuid::new_v4());
        let mut all =
            vec![("channel", "'http'"), ("target", "'/hook'"), ("payload", "'{}'"), ("idempotency_key", key.as_str())];
        // A row with an outcome was decided about.
        if columns.iter().any(|(name, value)| *name == "status" && *value != "'PENDING'") {
            all.push(("revision", "1"));
        }
        for (name, value) in columns {
            all.retain(|(known, _)| known != name);
            all.push((name, value));
        }
        let names: Vec<_> = all.iter().map(|(name, _)| *name).collect();
        let values: Vec<_> = all.iter().map(|(_, value)| *value).collect();
        self.try_execute(&format!("INSERT INTO outbox ({}) VALUES ({})", names.join(", "), values.join(", "))).await?;
        let key = values[names.iter().position(|name| *name == "idempotency_key").unwrap()];
        let row = self.strings(&["id"], &format!("outbox WHERE idempotency_key = {key}")).await.remove(0);
        Ok(MessageId(number(row[0].as_ref()).unwrap()))
    }

    /// A moment so many milliseconds from now, as SQL.
    pub fn moment(&self, ms: i64) -> String {
        match self.dialect {
            Dialect::Postgres => format!("clock_timestamp() + {ms} * interval '1 ms'"),
            Dialect::MySql => format!("UTC_TIMESTAMP(6) + INTERVAL {ms} * 1000 MICROSECOND"),
            Dialect::Sqlite => format!("CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) + {ms}"),
        }
    }

    /// A column's time in milliseconds from now, as SQL.
    fn ms_until(&self, column: &str) -> String {
        match self.dialect {
            Dialect::Postgres => format!("round(extract(epoch FROM {column} - clock_timestamp()) * 1000)::bigint"),
            Dialect::MySql => format!("TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), {column}) DIV 1000"),
            Dialect::Sqlite => format!("{column} - ({})", self.moment(0)),
        }
    }

    /// Values of expressions as text, row by row.
    pub async fn strings(&self, expressions: &[&str], from: &str) -> Vec<Vec<Option<String>>> {
        let text = match self.dialect {
            Dialect::Postgres | Dialect::Sqlite => "TEXT",
            Dialect::MySql => "CHAR",
        };
        let cast: Vec<_> = expressions.iter().map(|expression| format!("CAST({expression} AS {text})")).collect();
        // As text: no two are the same, so that to keep them would only take time.
        let query = sqlx::raw_sql(AssertSqlSafe(format!("SELECT {} FROM {from}", cast.join(", "))));
        match &self.database {
            Database::Postgres(pool) => texts(query.fetch_all(pool).await.unwrap()),
            Database::MySql(pool) => texts(query.fetch_all(pool).await.unwrap()),
            Database::Sqlite(pool) => texts(query.fetch_all(pool).await.unwrap()),
        }
    }

    /// How many rows there are.
    pub async fn count(&self, from: &str) -> i64 {
        number(self.strings(&["count(*)"], from).await[0][0].as_ref()).unwrap()
    }

    /// A message's row.
    pub async fn message(&self, id: MessageId) -> MessageRow {
        let [available, deferred, first, finished] =
            ["available_at", "deferred_from", "first_attempt_at", "finished_at"].map(|column| self.ms_until(column));
        let expressions = [
            "status",
            "revision",
            "attempts",
            "dead_reason",
            "last_error",
            "last_status_code",
            "receipt",
            &available,
            &deferred,
            &first,
            &finished,
        ];
        let mut row = self.strings(&expressions, &format!("outbox WHERE id = {id}")).await.remove(0);
        MessageRow {
            status: row[0].take().unwrap(),
            revision: number(row[1].as_ref()).unwrap(),
            attempts: number(row[2].as_ref()).unwrap(),
            dead_reason: row[3].take(),
            last_error: row[4].take(),
            last_status_code: row[5].take(),
            receipt: row[6].take(),
            available_in: number(row[7].as_ref()).unwrap(),
            deferred_from: number(row[8].as_ref()),
            first_attempt: number(row[9].as_ref()),
            finished: number(row[10].as_ref()),
        }
    }

    /// A message's recorded attempts, the oldest first.
    pub async fn attempts(&self, id: MessageId) -> Vec<AttemptRow> {
        let [claimed, started] = ["claimed_at", "started_at"].map(|column| self.ms_until(column));
        let expressions = [
            "number",
            "epoch",
            "holder",
            "outcome",
            "status_code",
            "error",
            "excerpt",
            &claimed,
            &started,
            "duration_ms",
        ];
        let rows = self.strings(&expressions, &format!("outbox_attempt WHERE message_id = {id} ORDER BY id")).await;
        rows.into_iter()
            .map(|mut row| AttemptRow {
                number: number(row[0].as_ref()).unwrap(),
                epoch: number(row[1].as_ref()).unwrap(),
                holder: row[2].take().unwrap(),
                outcome: row[3].take().unwrap(),
                status_code: row[4].take(),
                error: row[5].take(),
                excerpt: row[6].take(),
                claimed: number(row[7].as_ref()),
                started: number(row[8].as_ref()),
                duration_ms: row[9].take(),
            })
            .collect()
    }

    /// Moves the moment from which settling times count into the past.
    pub async fn age_claims(&self, by: Duration) {
        let past = self.moment(-i64::try_from(by.as_millis()).unwrap());
        self.execute(&format!("UPDATE outbox_claim SET superseded_at = {past} WHERE superseded_at IS NOT NULL")).await;
    }
}

fn number(text: Option<&String>) -> Option<i64> {
    text.map(|text| text.parse().unwrap())
}

fn texts<R: Row>(rows: Vec<R>) -> Vec<Vec<Option<String>>>
where
    usize: sqlx::ColumnIndex<R>,
    Option<String>: for<'r> sqlx::Decode<'r, R::Database> + sqlx::Type<R::Database>,
{
    rows.into_iter().map(|row| (0..row.len()).map(|column| row.get(column)).collect()).collect()
}
