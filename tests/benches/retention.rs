//! What removing old messages takes, and what it costs deliveries:
//!
//! ```text
//! cargo bench --bench retention -- postgres 200000
//! ```
//!
//! Each is measured three times, in turn, on so many delivered messages of 500 bytes: a walk over them that finds nothing
//! old; their removal by `outbox prune`, and without its pauses; and deliveries of `outbox run`, of rows of their own, with
//! nothing to remove and while it removes. The medians are printed.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    missing_docs,
    reason = "a bench prints, and stops where it cannot go on"
)]

use std::process::Stdio;
use std::time::{Duration, Instant};

use outbox_desk::{Author, ByHand, Change, UNWATCHED};
use outbox_store::retention::BEGINNING;
use outbox_store::{ConnectOptions, Database, Pruning, Retention};
use outbox_tests::receiver::Receiver;
use outbox_tests::{outbox_binary, servers};
use rustix::process::{Pid, Signal, kill_process};
use sqlx::AssertSqlSafe;

const ROUNDS: usize = 3;

/// Rows of one statement: it must end before the limit of statements does.
const CHUNK: usize = 50_000;

/// Rows that are delivered in each run.
const DELIVERIES: usize = 20_000;

const DAY: Duration = Duration::from_hours(24);

#[tokio::main]
async fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    let which = words.first().map_or("postgres", String::as_str).to_owned();
    let rows: usize = words.get(1).map_or(200_000, |rows| rows.parse().unwrap());
    let url = match which.as_str() {
        "postgres" => servers::postgres().await.durable().await.database().await.url,
        "mariadb" => servers::mariadb().await.database().await.url,
        "sqlite" => servers::sqlite().url,
        other => panic!("no database {other}: postgres, mariadb or sqlite"),
    };
    let database = Database::connect(&ConnectOptions { url: &url, schema: None, connections: 8 }).await.unwrap();
    database.migrate("default").await.unwrap();
    let receiver = Receiver::start(Duration::ZERO);
    let by_age = Retention { success: Some(DAY), ..Retention::default() };
    // All of them are old enough to be looked at, and none is old enough to go.
    let later = Retention { success: Some(90 * DAY), dead: Some(DAY), ..Retention::default() };
    let everything = Retention { success: Some(Duration::ZERO), ..Retention::default() };
    let author = Author { who: "bench".to_owned(), why: String::new() };
    let [mut look, mut by_hand, mut alone, mut beside, mut meanwhile, mut bare] = std::array::from_fn(|_| Vec::new());
    for _ in 0..ROUNDS {
        old(&database, rows).await;
        look.push(walk(&database, &later).await);
        let began = Instant::now();
        let prune = Change::Prune { retention: by_age.clone(), of: None };
        let removed = database.apply(&prune, &author, UNWATCHED).await.unwrap();
        assert_eq!(removed.count("success"), rows as u64);
        by_hand.push(began.elapsed().as_secs_f64());

        alone.push(deliver(&database, &url, &receiver, "never").await);
        // A walk ends where messages are young, so that the old ones come first, as they do in life.
        walk(&database, &everything).await;
        old(&database, rows).await;
        let before = count(&database).await + number(DELIVERIES);
        beside.push(deliver(&database, &url, &receiver, "1d").await);
        let left = count(&database).await;
        meanwhile.push(precise(before - left));
        bare.push(precise(left) / walk(&database, &everything).await);
        assert_eq!(count(&database).await, 0);
    }
    let [look, by_hand, alone, beside, meanwhile, bare] = [look, by_hand, alone, beside, meanwhile, bare].map(median);
    println!("{which}: {rows} delivered messages of 500 bytes, medians of {ROUNDS}");
    println!("walk over all, nothing is old  {look:.2} s");
    println!("outbox prune                   {by_hand:.1} s");
    println!("removal without its pauses     {bare:.0}/s");
    println!(
        "deliveries alone {alone:.0}/s, while old ones are removed {beside:.0}/s: {meanwhile:.0} of them meanwhile"
    );
}

fn number(rows: usize) -> i64 {
    i64::try_from(rows).unwrap()
}

#[allow(clippy::cast_precision_loss, reason = "far fewer rows than 2^52")]
fn precise(rows: i64) -> f64 {
    rows as f64
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

/// A whole pass without pauses, in seconds.
async fn walk(database: &Database, retention: &Retention) -> f64 {
    let (began, mut after) = (Instant::now(), BEGINNING);
    loop {
        let stretch = database.overdue(retention, after).await.unwrap();
        database.remove(retention, &stretch).await.unwrap();
        if stretch.last {
            return began.elapsed().as_secs_f64();
        }
        after = stretch.through;
    }
}

async fn count(database: &Database) -> i64 {
    let sql = "SELECT count(*) FROM outbox";
    match database {
        Database::Postgres(pool) => sqlx::query_scalar(sql).fetch_one(pool).await,
        Database::MySql(pool) => sqlx::query_scalar(sql).fetch_one(pool).await,
        Database::Sqlite(pool) => sqlx::query_scalar(sql).fetch_one(pool).await,
    }
    .unwrap()
}

/// Inserts messages that were delivered two days ago.
async fn old(database: &Database, rows: usize) {
    let ago = match database {
        Database::Postgres(_) => "now() - interval '2 days'",
        Database::MySql(_) => "UTC_TIMESTAMP(6) - INTERVAL 2 DAY",
        Database::Sqlite(_) => "CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) - 172800000",
    };
    let payload = format!("{{\"text\": \"{}\"}}", "x".repeat(485));
    let columns = "(channel, target, payload, status, revision, created_at, finished_at)";
    let one = format!("'http', 'http://127.0.0.1/', '{payload}', 'SUCCESS', 1, {ago}, {ago}");
    for first in (0..rows).step_by(CHUNK) {
        insert(database, columns, &one, CHUNK.min(rows - first)).await;
    }
    if let Database::Postgres(pool) = database {
        // What autovacuum does within a minute.
        let mut connection = pool.acquire().await.unwrap();
        for sql in ["SET statement_timeout = 0", "VACUUM ANALYZE outbox", "RESET statement_timeout"] {
            sqlx::raw_sql(sql).execute(&mut *connection).await.unwrap();
        }
    }
}

/// Inserts due rows, and gives how many a second are delivered of them.
async fn deliver(database: &Database, url: &str, receiver: &Receiver, retention: &str) -> f64 {
    let one = format!("'http', '{}', '{{\"order\": 1}}'", receiver.url());
    insert(database, "(channel, target, payload)", &one, DELIVERIES).await;
    let arrived = receiver.count();
    let home = tempfile::tempdir().unwrap();
    let mut outbox = tokio::process::Command::new(outbox_binary());
    outbox.args(["run", "--set", "admin.listen=127.0.0.1:0", "--database", url]);
    outbox.args(["--set", &format!("retention.success={retention}")]);
    let child = outbox.current_dir(home.path()).stderr(Stdio::null()).kill_on_drop(true).spawn();
    let mut child = child.unwrap();
    while receiver.count() == arrived {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let began = Instant::now();
    while receiver.count() < arrived + DELIVERIES {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let rate = precise(number(DELIVERIES)) / began.elapsed().as_secs_f64();
    let pid = Pid::from_raw(child.id().unwrap().cast_signed()).unwrap();
    kill_process(pid, Signal::TERM).unwrap();
    assert!(child.wait().await.unwrap().success());
    rate
}

async fn insert(database: &Database, columns: &str, one: &str, rows: usize) {
    let series = format!("WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {rows})");
    match database {
        Database::Postgres(pool) => {
            let sql = AssertSqlSafe(format!("{series} INSERT INTO outbox {columns} SELECT {one} FROM n"));
            sqlx::raw_sql(sql).execute(pool).await.unwrap();
        }
        Database::MySql(pool) => {
            let mut connection = pool.acquire().await.unwrap();
            // MariaDB's name for what MySQL calls cte_max_recursion_depth.
            sqlx::raw_sql("SET SESSION max_recursive_iterations = 100000000").execute(&mut *connection).await.unwrap();
            let sql = AssertSqlSafe(format!("INSERT INTO outbox {columns} {series} SELECT {one} FROM n"));
            sqlx::raw_sql(sql).execute(&mut *connection).await.unwrap();
        }
        Database::Sqlite(pool) => {
            let sql = AssertSqlSafe(format!("{series} INSERT INTO outbox {columns} SELECT {one} FROM n"));
            sqlx::raw_sql(sql).execute(pool).await.unwrap();
        }
    }
}
