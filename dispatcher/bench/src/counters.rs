//! The counts that a database server keeps of itself: bytes of its log, commits, statements.
//!
//! The counts are those of the whole server. On PostgreSQL, commits and statements are those of the database. So the
//! work of other clients is counted too.

use std::time::{Duration, Instant};

use outbox_store::Database;
use serde::Serialize;
use sqlx::{MySqlPool, PgPool};

use super::number::float;

/// The longest wait for the report of a server process.
const REPORTED: Duration = Duration::from_secs(5);

/// Totals, or the difference between two totals. None where the server does not report the count.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub(super) struct Counters {
    /// The bytes written to the write-ahead log.
    pub(super) log_bytes: Option<f64>,
    /// The transactions that committed.
    pub(super) commits: Option<f64>,
    /// The statements. On PostgreSQL, None unless `pg_stat_statements` is installed.
    pub(super) statements: Option<f64>,
}

impl Counters {
    /// The present totals.
    pub(super) async fn of(database: &Database) -> Self {
        match database {
            Database::Postgres(pool) => Self::of_postgres(pool).await,
            Database::MySql(pool) => Self::of_mysql(pool).await,
            Database::Sqlite(_) => Self::default(),
        }
    }

    /// The totals after work that committed something since `before`. A server process of PostgreSQL reports its commits when it
    /// ends, or up to a second later: <https://www.postgresql.org/docs/current/monitoring-stats.html>.
    pub(super) async fn after(database: &Database, before: Self) -> Self {
        let began = Instant::now();
        loop {
            let now = Self::of(database).await;
            if now.commits.is_none() || now.commits > before.commits || began.elapsed() > REPORTED {
                return now;
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// The counts since `before`, divided by the number of `messages`.
    pub(super) fn per_message(self, before: Self, messages: u64) -> Self {
        self.since(before, float(messages.max(1)))
    }

    /// The counts since `before`, divided by `by`.
    pub(super) fn since(self, before: Self, by: f64) -> Self {
        let spent = |after: Option<f64>, before: Option<f64>| Some((after? - before?) / by);
        Self {
            log_bytes: spent(self.log_bytes, before.log_bytes),
            commits: spent(self.commits, before.commits),
            statements: spent(self.statements, before.statements),
        }
    }

    async fn of_postgres(pool: &PgPool) -> Self {
        let one = async |sql: &'static str| sqlx::query_scalar::<_, f64>(sql).fetch_one(pool).await.ok();
        Self {
            log_bytes: one("SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::float8").await,
            commits: one("SELECT xact_commit::float8 FROM pg_stat_database WHERE datname = current_database()").await,
            statements: one("SELECT sum(s.calls)::float8 FROM public.pg_stat_statements s \
                             JOIN pg_database d ON d.oid = s.dbid WHERE d.datname = current_database()")
            .await,
        }
    }

    async fn of_mysql(pool: &MySqlPool) -> Self {
        let one = async |name: &str| {
            let sql = sqlx::AssertSqlSafe(format!("SHOW GLOBAL STATUS LIKE '{name}'"));
            let (_, value) = sqlx::query_as::<_, (String, String)>(sql).fetch_optional(pool).await.ok()??;
            value.parse::<f64>().ok()
        };
        Self {
            log_bytes: one("Innodb_os_log_written").await,
            commits: one("Com_commit").await,
            statements: one("Questions").await,
        }
    }
}

/// How often the bench looks how many messages were delivered.
pub(super) const LOOK: Duration = Duration::from_millis(20);
