//! What the tables of an outbox say, the same for each database.

use std::time::{Duration, SystemTime};

use outbox_store::{ConnectOptions, Database};
use sqlx::mysql::MySqlRow;
use sqlx::postgres::PgRow;
use sqlx::sqlite::SqliteRow;
use sqlx::{AssertSqlSafe, FromRow};

use crate::eventually::{PATIENCE, eventually};

/// Reads the tables of one outbox, as its owner.
#[derive(Debug, Clone)]
pub struct Tables {
    database: Database,
}

/// A row of `outbox`.
#[derive(Debug, Clone, FromRow)]
pub struct MessageRow {
    /// `id`.
    pub id: i64,
    /// `idempotency_key`.
    pub idempotency_key: String,
    /// `status`.
    pub status: String,
    /// `dead_reason`.
    pub dead_reason: Option<String>,
    /// `attempts`.
    pub attempts: i64,
    /// `ordering_key`.
    pub ordering_key: Option<String>,
}

/// A row of `outbox_attempt`.
#[derive(Debug, Clone, FromRow)]
pub struct AttemptRow {
    /// `message_id`.
    pub message_id: i64,
    /// `epoch`.
    pub epoch: i64,
    /// `holder`.
    pub holder: String,
    /// `outcome`.
    pub outcome: String,
    /// 1 where a later term had to decide it: nobody lived to say when it began.
    pub settled: i64,
}

/// A row of `outbox_term_log`.
#[derive(Debug, Clone, FromRow)]
pub struct TermRow {
    /// `epoch`.
    pub epoch: i64,
    /// `holder`.
    pub holder: String,
    /// `ended_because`.
    pub ended_because: Option<String>,
    /// `claimed`; none until the term has ended in good order, as with the next two.
    pub claimed: Option<i64>,
    /// `delivered`.
    pub delivered: Option<i64>,
    /// `failed`.
    pub failed: Option<i64>,
}

impl TermRow {
    /// The process that led it.
    pub fn instance(&self) -> &str {
        self.holder.split('.').next().unwrap_or_default()
    }

    /// Messages that were claimed and not yet sent to their end when the term ended.
    pub fn in_flight_at_end(&self) -> i64 {
        self.claimed.unwrap_or_default() - self.delivered.unwrap_or_default() - self.failed.unwrap_or_default()
    }
}

/// A claim that was made, whatever has become of it.
#[derive(Debug, Clone)]
pub struct ClaimRow {
    /// `epoch`.
    pub epoch: i64,
    /// `holder`.
    pub holder: String,
    /// `message_ids`.
    pub message_ids: Vec<i64>,
    /// When it was written, by the wall clock; it was committed after that.
    pub written: SystemTime,
}

/// The newest term.
#[derive(Debug, Clone, PartialEq, Eq, FromRow)]
pub struct Newest {
    /// Its epoch; 0 before the first.
    pub epoch: i64,
    /// Its holder.
    pub holder: String,
}

impl Tables {
    /// Connects, and makes the tables of an outbox whose environment is `default` where they are not there yet.
    pub async fn migrated(url: &str) -> Self {
        let tables = Self::connected(url).await;
        tables.database.migrate("default").await.unwrap();
        tables
    }

    /// Connects to an outbox that is there.
    pub async fn connected(url: &str) -> Self {
        let database = Database::connect(&ConnectOptions { url, schema: None, connections: 4 }).await.unwrap();
        Self { database }
    }

    /// The connections to it.
    pub fn database(&self) -> &Database {
        &self.database
    }

    /// Every message.
    pub async fn messages(&self) -> Vec<MessageRow> {
        self.rows(
            "SELECT id, idempotency_key, status, dead_reason, CAST(attempts AS {integer}) AS attempts, ordering_key \
             FROM outbox ORDER BY id",
        )
        .await
    }

    /// From now on keeps a copy of each claim, for [`Self::claims`]: a claim goes with its last row.
    pub async fn keep_claims(&self) {
        let table = "CREATE TABLE kept_claim (epoch bigint NOT NULL, holder varchar(255) NOT NULL, \
                     message_ids text NOT NULL, written_ms bigint NOT NULL)";
        let copy = "INSERT INTO kept_claim (epoch, holder, message_ids, written_ms) VALUES (NEW.epoch, NEW.holder, ";
        let row = "CREATE TRIGGER keep_claim AFTER INSERT ON outbox_claim FOR EACH ROW";
        // A claim that is born closed was made before a failover that lost it.
        let written = |now| format!("CASE WHEN NEW.gate_closed_at IS NULL THEN {now} ELSE NEW.claimed_at END");
        let trigger = match &self.database {
            Database::Postgres(_) => format!(
                "CREATE FUNCTION keep_claim() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
                 {copy} array_to_json(NEW.message_ids), floor(1000 * extract(epoch FROM {written}))); \
                 RETURN NULL; END $$; \
                 {row} EXECUTE FUNCTION keep_claim()",
                written = written("clock_timestamp()")
            ),
            Database::MySql(_) => {
                let written = written("sysdate(3)");
                format!("{row} {copy} NEW.message_ids, floor(1000 * unix_timestamp({written})))")
            }
            // In days since the noon of long ago.
            Database::Sqlite(_) => {
                format!("{row} BEGIN {copy} NEW.message_ids, round(86400000 * (julianday('now') - 2440587.5))); END")
            }
        };
        for statement in [table, &trigger] {
            self.execute(statement).await;
        }
    }

    /// Every claim since [`Self::keep_claims`].
    pub async fn claims(&self) -> Vec<ClaimRow> {
        let rows: Vec<(i64, String, String, i64)> =
            self.rows("SELECT epoch, holder, message_ids, written_ms FROM kept_claim").await;
        let claim = |(epoch, holder, ids, written_ms): (i64, String, String, i64)| ClaimRow {
            epoch,
            holder,
            message_ids: serde_json::from_str(&ids).unwrap(),
            written: SystemTime::UNIX_EPOCH + Duration::from_millis(written_ms.unsigned_abs()),
        };
        rows.into_iter().map(claim).collect()
    }

    /// Runs statements.
    pub async fn execute(&self, sql: &str) {
        let statement = sqlx::raw_sql(AssertSqlSafe(sql.to_owned()));
        match &self.database {
            Database::Postgres(pool) => statement.execute(pool).await.map(drop),
            Database::MySql(pool) => statement.execute(pool).await.map(drop),
            Database::Sqlite(pool) => statement.execute(pool).await.map(drop),
        }
        .unwrap();
    }

    /// Every attempt that was not a plain success.
    pub async fn attempts(&self) -> Vec<AttemptRow> {
        self.rows(
            "SELECT message_id, epoch, holder, outcome, \
             CAST(CASE WHEN started_at IS NULL THEN 1 ELSE 0 END AS {integer}) AS settled \
             FROM outbox_attempt ORDER BY id",
        )
        .await
    }

    /// Every term, in the order in which they began.
    pub async fn terms(&self) -> Vec<TermRow> {
        self.rows(
            "SELECT epoch, holder, ended_because, claimed, delivered, failed \
             FROM outbox_term_log ORDER BY started_at, epoch",
        )
        .await
    }

    /// Who was elected last.
    pub async fn newest_term(&self) -> Newest {
        self.rows("SELECT epoch, holder FROM outbox_term WHERE shard = 0").await.remove(0)
    }

    /// Whether some message has no outcome yet.
    pub async fn has_pending(&self) -> bool {
        !self.rows::<(i64,)>("SELECT id FROM outbox WHERE status = 'PENDING' LIMIT 1").await.is_empty()
    }

    /// The rows of a query that all three understand, with `{integer}` for the widest integer to cast to. A test may have ended
    /// the server's connections: those that it finds cut are made anew.
    pub async fn rows<T>(&self, sql: &str) -> Vec<T>
    where
        T: for<'r> FromRow<'r, PgRow> + for<'r> FromRow<'r, MySqlRow> + for<'r> FromRow<'r, SqliteRow> + Send + Unpin,
    {
        eventually("the tables are read", PATIENCE, async || match self.read(sql).await {
            Err(error) if is_cut(&error) => None,
            rows => Some(rows.unwrap()),
        })
        .await
    }

    async fn read<T>(&self, sql: &str) -> sqlx::Result<Vec<T>>
    where
        T: for<'r> FromRow<'r, PgRow> + for<'r> FromRow<'r, MySqlRow> + for<'r> FromRow<'r, SqliteRow> + Send + Unpin,
    {
        let sql = |integer: &str| AssertSqlSafe(sql.replace("{integer}", integer));
        match &self.database {
            Database::Postgres(pool) => sqlx::query_as(sql("bigint")).fetch_all(pool).await,
            Database::MySql(pool) => sqlx::query_as(sql("SIGNED")).fetch_all(pool).await,
            Database::Sqlite(pool) => sqlx::query_as(sql("INTEGER")).fetch_all(pool).await,
        }
    }
}

/// Whether a connection has ended, or its server ends it: class 08, and "operator intervention" of PostgreSQL.
fn is_cut(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Io(_) => true,
        sqlx::Error::Database(error) => {
            error.code().is_some_and(|state| state.starts_with("08") || state.starts_with("57P"))
        }
        _ => false,
    }
}
