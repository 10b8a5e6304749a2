//! The rows that a scenario needs. The bench inserts them quickly, in statements of a bounded size.

use anyhow::Context;
use outbox_console::text::Advance;
use outbox_store::{Database, Dialect};
use sqlx::AssertSqlSafe;

/// The rows of one statement. The statement must end before the server's time limit, also on a slow disk.
const CHUNK: usize = 20_000;

/// The kind of the rows to insert.
#[derive(Debug, Clone, Copy)]
pub(super) enum Rows {
    /// Due now.
    Due,
    /// Due now. The rows take turns with this number of ordering keys.
    Keyed(usize),
    /// Due in a day. Each row has its own ordering key.
    KeyedTomorrow,
    /// Delivered some days ago.
    Delivered {
        /// The number of days.
        days: u32,
    },
    /// Due in a day.
    Tomorrow,
    /// Tried once, and due again in an hour.
    Waiting,
    /// Due, but behind a dead letter of the same ordering key.
    Halted,
    /// The dead letter that stands before the `Halted` rows.
    Halting,
    /// Due now, for the channel `fcm`.
    Push,
    /// Due now, and all of one tenant.
    Noisy,
    /// Due now. The rows take turns with this number of hosts, all of them addresses of loopback.
    Hosts(usize),
}

/// The payload of every webhook: about 250 bytes.
pub(super) fn payload() -> String {
    format!("{{\"order\": 1, \"text\": \"{}\"}}", "x".repeat(225))
}

/// The payload of every push to a device, of a similar size.
fn push_payload() -> String {
    format!("{{\"notification\": {{\"title\": \"Order 1\", \"body\": \"{}\"}}}}", "x".repeat(200))
}

/// Inserts `count` rows of a kind. `target` is the target of the webhooks. A terminal shows how far it is.
pub(super) async fn insert(database: &Database, kind: Rows, count: usize, target: &str) -> anyhow::Result<()> {
    let (columns, values) = kind.columns_and_values(database.dialect());
    let columns = format!("channel, target, payload{columns}");
    let values = match kind {
        Rows::Hosts(hosts) => {
            format!("'http', {}, '{}'{values}", of_hosts(database.dialect(), target, hosts), payload())
        }
        Rows::Push => format!("'fcm', 'token:bench', '{}'{values}", push_payload()),
        Rows::Due
        | Rows::Keyed(_)
        | Rows::KeyedTomorrow
        | Rows::Delivered { .. }
        | Rows::Tomorrow
        | Rows::Waiting
        | Rows::Halted
        | Rows::Halting
        | Rows::Noisy => format!("'http', '{}', '{}'{values}", target.replace('\'', "''"), payload()),
    };
    let mut advance = Advance::on_terminal("rows inserted");
    for first in (0..count).step_by(CHUNK) {
        let rows = CHUNK.min(count - first);
        insert_some(database, &columns, &values, first, rows).await.context("the rows of the scenario")?;
        advance.tell((first + rows) as u64, Some(count as u64));
    }
    Ok(())
}

/// Does at once the upkeep that the database does by itself within a minute or so. Otherwise it would do that upkeep
/// during a measurement.
pub(super) async fn tidy(database: &Database) -> anyhow::Result<()> {
    match database {
        Database::Postgres(pool) => {
            let mut connection = pool.acquire().await?;
            sqlx::raw_sql("SET statement_timeout = 0").execute(&mut *connection).await?;
            sqlx::raw_sql("VACUUM ANALYZE outbox").execute(&mut *connection).await?;
            // Few roles have the right to do this. Without it the server chooses its own time.
            let _ = sqlx::raw_sql("CHECKPOINT").execute(&mut *connection).await;
            sqlx::raw_sql("RESET statement_timeout").execute(&mut *connection).await?;
        }
        Database::MySql(pool) => {
            sqlx::raw_sql("ANALYZE TABLE outbox").execute(pool).await?;
        }
        Database::Sqlite(pool) => {
            sqlx::raw_sql("ANALYZE; PRAGMA wal_checkpoint(TRUNCATE)").execute(pool).await?;
        }
    }
    Ok(())
}

/// The number of rows with a status, counted exactly.
pub(super) async fn count(database: &Database, status: &str) -> sqlx::Result<usize> {
    let sql = AssertSqlSafe(format!("SELECT count(*) FROM outbox WHERE status = '{status}'"));
    let count: i64 = match database {
        Database::Postgres(pool) => sqlx::query_scalar(sql).fetch_one(pool).await?,
        Database::MySql(pool) => sqlx::query_scalar(sql).fetch_one(pool).await?,
        Database::Sqlite(pool) => sqlx::query_scalar(sql).fetch_one(pool).await?,
    };
    Ok(usize::try_from(count).unwrap_or_default())
}

impl Rows {
    /// The further columns and values of a row, after channel, target and payload. `i` is the number of the row.
    fn columns_and_values(self, dialect: Dialect) -> (&'static str, String) {
        match self {
            Self::Due | Self::Push | Self::Hosts(_) => ("", String::new()),
            Self::Noisy => (", tenant", ", 'noisy'".to_owned()),
            Self::Keyed(keys) => (", ordering_key", format!(", {}", concatenated(dialect, &format!("i % {keys}")))),
            Self::KeyedTomorrow => {
                let (key, then) = (concatenated(dialect, "i"), from_now(dialect, 86_400));
                (", ordering_key, available_at", format!(", {key}, {then}"))
            }
            Self::Delivered { days } => {
                let then = from_now(dialect, -i64::from(days) * 86_400);
                let columns = ", status, attempts, revision, available_at, created_at, finished_at";
                (columns, format!(", 'SUCCESS', 1, 1, {then}, {then}, {then}"))
            }
            Self::Tomorrow => (", available_at", format!(", {}", from_now(dialect, 86_400))),
            Self::Waiting => {
                let columns = ", attempts, revision, first_attempt_at, available_at, last_error, last_status_code";
                let (now, then) = (from_now(dialect, 0), from_now(dialect, 3_600));
                (columns, format!(", 1, 1, {now}, {then}, 'HTTP 503', 503"))
            }
            Self::Halted => (", ordering_key", ", 'halted'".to_owned()),
            Self::Halting => {
                let columns = ", ordering_key, status, dead_reason, attempts, revision, finished_at";
                (columns, format!(", 'halted', 'DEAD', 'permanent', 1, 1, {}", from_now(dialect, 0)))
            }
        }
    }
}

fn concatenated(dialect: Dialect, number: &str) -> String {
    match dialect {
        Dialect::Postgres | Dialect::MySql => format!("concat('key ', {number})"),
        Dialect::Sqlite => format!("'key ' || ({number})"),
    }
}

/// The host in the address of a receiver, in whose place others come.
pub(super) const LOOPBACK: &str = "127.0.0.1";

/// The host of this number, an address of loopback.
pub(super) fn host(number: usize) -> String {
    format!("127.{}.{}.{}", 1 + number / 62_500, number / 250 % 250, 1 + number % 250)
}

/// The same in SQL, in place of the address in `target`.
fn of_hosts(dialect: Dialect, target: &str, hosts: usize) -> String {
    let (before, after) = target.split_once(LOOPBACK).unwrap_or((target, ""));
    let (number, quotient) = (format!("i % {hosts}"), if matches!(dialect, Dialect::MySql) { "DIV" } else { "/" });
    let parts = [
        format!("1 + ({number}) {quotient} 62500"),
        format!("(({number}) {quotient} 250) % 250"),
        format!("1 + ({number}) % 250"),
    ];
    match dialect {
        Dialect::Postgres | Dialect::MySql => {
            format!("concat('{before}127.', {}, '.', {}, '.', {}, '{after}')", parts[0], parts[1], parts[2])
        }
        Dialect::Sqlite => {
            format!("'{before}127.' || ({}) || '.' || ({}) || '.' || ({}) || '{after}'", parts[0], parts[1], parts[2])
        }
    }
}

fn from_now(dialect: Dialect, seconds: i64) -> String {
    match dialect {
        Dialect::Postgres => format!("now() + interval '{seconds} seconds'"),
        Dialect::MySql => format!("UTC_TIMESTAMP(6) + INTERVAL {seconds} SECOND"),
        Dialect::Sqlite => {
            format!("CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) + {}", seconds * 1_000)
        }
    }
}

async fn insert_some(
    database: &Database,
    columns: &str,
    values: &str,
    first: usize,
    rows: usize,
) -> Result<(), sqlx::Error> {
    let (begin, last) = (first + 1, first + rows);
    let series = format!("WITH RECURSIVE n (i) AS (SELECT {begin} UNION ALL SELECT i + 1 FROM n WHERE i < {last})");
    match database {
        Database::Postgres(pool) => {
            let series = format!("generate_series({begin}, {last}) AS n (i)");
            let sql = format!("INSERT INTO outbox ({columns}) SELECT {values} FROM {series}");
            sqlx::raw_sql(AssertSqlSafe(sql)).execute(pool).await?;
        }
        Database::MySql(pool) => {
            // MariaDB and MySQL name the limit of a recursion differently.
            let limits = "/*M! max_recursive_iterations = 100000000 */ /*!80000 cte_max_recursion_depth = 100000000 */";
            let sql = format!("SET SESSION {limits}; INSERT INTO outbox ({columns}) {series} SELECT {values} FROM n");
            sqlx::raw_sql(AssertSqlSafe(sql)).execute(pool).await?;
        }
        Database::Sqlite(pool) => {
            let sql = format!("{series} INSERT INTO outbox ({columns}) SELECT {values} FROM n");
            sqlx::raw_sql(AssertSqlSafe(sql)).execute(pool).await?;
        }
    }
    Ok(())
}
