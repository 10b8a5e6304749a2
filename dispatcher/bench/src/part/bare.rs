//! Raw database: claims and marks in a table of two columns, by the simplest statements. Its rate is D.
//!
//! As in the product, the next claim is written while the last batch is marked, on two connections. SQLite has one
//! writer, so two connections would only wait for each other there.

use std::time::Instant;

use outbox_store::{ConnectOptions, Database, Dialect};
use serde::{Deserialize, Serialize};
use sqlx::{AssertSqlSafe, MySql, QueryBuilder, Sqlite};
use tokio::sync::mpsc;
use uuid::Uuid;

use crate::number::float;
use crate::usage::Usage;

/// The database and the number of rows. No `Debug`: a password must not get into a log.
#[derive(Serialize, Deserialize)]
pub(crate) struct Orders {
    /// The database, with its password.
    pub(crate) url: String,
    /// The schema, on PostgreSQL.
    pub(crate) schema: Option<String>,
    /// The number of rows to claim and mark.
    pub(crate) rows: usize,
    /// The number of rows of one claim.
    pub(crate) batch: usize,
}

/// The result.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Measured {
    /// Rows a second.
    pub(crate) rate: f64,
    /// The usage of the client.
    pub(crate) usage: Usage,
}

pub(super) async fn measure(orders: Orders) -> anyhow::Result<Measured> {
    let Orders { url, schema, rows, batch } = orders;
    let connections = if url.starts_with("sqlite") { 1 } else { 2 };
    let database = Database::connect(&ConnectOptions { url: &url, schema: schema.as_deref(), connections }).await?;
    make_tables(&database, rows).await?;
    let batches: Vec<Vec<i64>> =
        (1..=i64::try_from(rows)?).collect::<Vec<_>>().chunks(batch).map(<[i64]>::to_vec).collect();
    // Both connections are open before the clock starts.
    tokio::try_join!(run(&database, "SELECT 1"), run(&database, "SELECT 1"))?;
    let before = Usage::own();
    let began = Instant::now();
    let (claimed, mut to_mark) = mpsc::channel(1);
    tokio::try_join!(
        async {
            for batch in batches {
                claim(&database, &batch).await?;
                claimed.send(batch).await?;
            }
            drop(claimed);
            anyhow::Ok(())
        },
        async {
            while let Some(batch) = to_mark.recv().await {
                mark(&database, &batch).await?;
            }
            anyhow::Ok(())
        }
    )?;
    let rate = float(rows) / began.elapsed().as_secs_f64();
    let mut usage = Usage::own();
    usage.cpu_micros = usage.cpu_micros.zip(before.cpu_micros).map(|(after, before)| after - before);
    database.close().await;
    Ok(Measured { rate, usage })
}

async fn make_tables(database: &Database, rows: usize) -> sqlx::Result<()> {
    let series = format!("WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {rows})");
    for sql in [
        "CREATE TABLE bench_row (id bigint PRIMARY KEY, state smallint NOT NULL)".to_owned(),
        match database.dialect() {
            Dialect::Postgres => "CREATE TABLE bench_claim (id varchar(36) PRIMARY KEY, ids bigint[] NOT NULL)",
            Dialect::MySql | Dialect::Sqlite => {
                "CREATE TABLE bench_claim (id varchar(36) PRIMARY KEY, ids text NOT NULL)"
            }
        }
        .to_owned(),
        match database.dialect() {
            Dialect::Postgres | Dialect::Sqlite => format!("{series} INSERT INTO bench_row SELECT i, 0 FROM n"),
            Dialect::MySql => format!(
                "SET SESSION /*M! max_recursive_iterations = 100000000 */ /*!80000 cte_max_recursion_depth = 100000000 */; \
                 INSERT INTO bench_row {series} SELECT i, 0 FROM n"
            ),
        },
        match database.dialect() {
            Dialect::Postgres => "VACUUM ANALYZE bench_row",
            Dialect::MySql => "ANALYZE TABLE bench_row",
            Dialect::Sqlite => "ANALYZE bench_row",
        }
        .to_owned(),
    ] {
        run(database, &sql).await?;
    }
    Ok(())
}

async fn run(database: &Database, sql: &str) -> sqlx::Result<()> {
    let sql = AssertSqlSafe(sql.to_owned());
    match database {
        Database::Postgres(pool) => sqlx::raw_sql(sql).execute(pool).await.map(drop),
        Database::MySql(pool) => sqlx::raw_sql(sql).execute(pool).await.map(drop),
        Database::Sqlite(pool) => sqlx::raw_sql(sql).execute(pool).await.map(drop),
    }
}

async fn claim(database: &Database, batch: &[i64]) -> anyhow::Result<()> {
    let id = Uuid::now_v7().to_string();
    match database {
        Database::Postgres(pool) => {
            let sql = "INSERT INTO bench_claim (id, ids) VALUES ($1, $2)";
            sqlx::query(sql).bind(id).bind(batch).execute(pool).await?;
        }
        Database::MySql(pool) => {
            let sql = "INSERT INTO bench_claim (id, ids) VALUES (?, ?)";
            sqlx::query(sql).bind(id).bind(serde_json::to_string(batch)?).execute(pool).await?;
        }
        Database::Sqlite(pool) => {
            let sql = "INSERT INTO bench_claim (id, ids) VALUES (?, ?)";
            sqlx::query(sql).bind(id).bind(serde_json::to_string(batch)?).execute(pool).await?;
        }
    }
    Ok(())
}

async fn mark(database: &Database, batch: &[i64]) -> sqlx::Result<()> {
    const MARK: &str = "UPDATE bench_row SET state = 1 WHERE id IN (";
    match database {
        Database::Postgres(pool) => {
            let sql = "UPDATE bench_row SET state = 1 WHERE id = ANY ($1)";
            sqlx::query(sql).bind(batch).execute(pool).await?;
        }
        Database::MySql(pool) => {
            let mut sql = QueryBuilder::<MySql>::new(MARK);
            let mut ids = sql.separated(", ");
            for id in batch {
                ids.push_bind(*id);
            }
            ids.push_unseparated(")");
            sql.build().execute(pool).await?;
        }
        Database::Sqlite(pool) => {
            let mut sql = QueryBuilder::<Sqlite>::new(MARK);
            let mut ids = sql.separated(", ");
            for id in batch {
                ids.push_bind(*id);
            }
            ids.push_unseparated(")");
            sql.build().execute(pool).await?;
        }
    }
    Ok(())
}
