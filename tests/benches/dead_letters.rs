//! How an outbox of many dead letters does: how long its lists take, and what a redrive of all of them costs deliveries.
//!
//! ```text
//! cargo bench --bench dead_letters -- postgres 1000000
//! ```
//!
//! Each list is asked for five times; the median is printed, and the longest. Deliveries are those of `outbox run` over
//! due rows of their own, first alone and then with the redrive beside it. What is redriven comes due
//! at one message a second: it is the redrive that is measured, not the deliveries that it brings about.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    missing_docs,
    reason = "a bench prints, and stops where it cannot go on"
)]

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::process::Stdio;
use std::time::{Duration, Instant};

use outbox_desk::{Author, ByHand, Change, ContentEdit, DeadLetterFilter, Desk, Moment, Pace, Selection, UNWATCHED};
use outbox_store::{ConnectOptions, Database, DeadReason};
use outbox_tests::changes::Unfollowed;
use outbox_tests::receiver::Receiver;
use outbox_tests::{outbox_binary, servers};
use rustix::process::{Pid, Signal, kill_process};
use sqlx::AssertSqlSafe;

const TIMES: usize = 5;

/// Rows of one statement: it must end before the limit of statements does.
const CHUNK: usize = 50_000;

/// Rows that are delivered in each of the two runs.
const DELIVERIES: usize = 40_000;

#[tokio::main]
async fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    let which = words.first().map_or("postgres", String::as_str).to_owned();
    let rows: usize = words.get(1).map_or(1_000_000, |rows| rows.parse().unwrap());
    let url = match which.as_str() {
        "postgres" => servers::postgres().await.durable().await.database().await.url,
        "mariadb" => servers::mariadb().await.database().await.url,
        "sqlite" => servers::sqlite().url,
        other => panic!("no database {other}: postgres, mariadb or sqlite"),
    };
    let database = Database::connect(&ConnectOptions { url: &url, schema: None, connections: 8 }).await.unwrap();
    database.migrate("default").await.unwrap();
    for first in (0..rows).step_by(CHUNK) {
        insert(&database, &dead(&database, first, CHUNK.min(rows - first))).await;
    }
    if let Database::Postgres(pool) = &database {
        // What autovacuum does within a minute.
        let mut connection = pool.acquire().await.unwrap();
        for sql in ["SET statement_timeout = 0", "VACUUM ANALYZE outbox", "RESET statement_timeout"] {
            sqlx::raw_sql(sql).execute(&mut *connection).await.unwrap();
        }
    }
    println!("{which}: {rows} dead letters of 5 causes and 101 destinations, median and longest of {TIMES}");
    lists(&database).await;
    changes(&database).await;
    deliveries(&database, &url, rows).await;
}

async fn lists(database: &Database) {
    let any = DeadLetterFilter::default;
    let rare = || Some("https://rare.example:443".to_owned());
    let fingerprint = database.dead_groups(&Selection::Filter(any())).await.unwrap()[0].fingerprint.clone();
    let filters = [
        ("all", any()),
        ("--channel", DeadLetterFilter { channel: Some("http".to_owned()), ..any() }),
        ("--reason", DeadLetterFilter { reason: Some(DeadReason::Exhausted), ..any() }),
        ("--status-code", DeadLetterFilter { status_code: Some(422), ..any() }),
        ("--fingerprint", DeadLetterFilter { fingerprint: Some(fingerprint), ..any() }),
        ("--destination, common", DeadLetterFilter { destination: Some("https://h7.example:443".to_owned()), ..any() }),
        ("--destination, 1 in 10,000", DeadLetterFilter { destination: rare(), ..any() }),
        ("--since 1h", DeadLetterFilter { since: Some(Moment::Ago(Duration::from_hours(1))), ..any() }),
        ("--until 20h", DeadLetterFilter { until: Some(Moment::Ago(Duration::from_hours(20))), ..any() }),
        ("--error-contains, common", DeadLetterFilter { error_contains: Some("ANSWERED".to_owned()), ..any() }),
        ("--error-contains, one", DeadLetterFilter { error_contains: Some("order 77 ".to_owned()), ..any() }),
    ];
    for (name, filter) in filters {
        let (mut grouped, mut plain) = (Vec::new(), Vec::new());
        let selection = Selection::Filter(filter.clone());
        for _ in 0..TIMES {
            let began = Instant::now();
            database.dead_groups(&selection).await.unwrap();
            grouped.push(began.elapsed());
            let began = Instant::now();
            assert!(!database.dead_letters(&filter, &[], None, 100).await.unwrap().letters.is_empty(), "{name}");
            plain.push(began.elapsed());
        }
        let [grouped, plain] = [grouped, plain].map(in_words);
        println!("{name:<28} 100 letters {plain:>16}   groups {grouped:>16}");
    }
}

/// How fast the letters of one cause are edited, and then redriven and taken back.
async fn changes(database: &Database) {
    let refused = DeadLetterFilter { status_code: Some(400), ..DeadLetterFilter::default() };
    let (refused, author) = (Selection::Filter(refused), Author { who: "bench".to_owned(), why: String::new() });
    let headers = BTreeMap::from([("X-Tenant".to_owned(), "7".to_owned())]);
    let change = ContentEdit { headers, ..ContentEdit::default() };
    let began = Instant::now();
    let edit = Change::Edit { selection: refused.clone(), change };
    let edited = database.apply(&edit, &author, UNWATCHED).await.unwrap().changed;
    println!("edited {edited} in {:.1} s", began.elapsed().as_secs_f64());
    let began = Instant::now();
    let pace = Pace { canary: None, rate: NonZeroU32::new(1) };
    let done = database.redrive(&refused, pace, &author).await.unwrap();
    println!("redrove {} in {:.1} s", done.changed, began.elapsed().as_secs_f64());
    let began = Instant::now();
    let undone = database.undo(done.audit_id.unwrap(), &author).await.unwrap();
    println!("took {} back in {:.1} s", undone.changed, began.elapsed().as_secs_f64());
}

fn in_words(mut times: Vec<Duration>) -> String {
    times.sort_unstable();
    format!("{} ms, {} ms", times[TIMES / 2].as_millis(), times[TIMES - 1].as_millis())
}

async fn deliveries(database: &Database, url: &str, rows: usize) {
    let receiver = Receiver::start(Duration::ZERO);
    let before = deliver(database, url, &receiver).await;
    let outbox = database.clone();
    let everything = Selection::Filter(DeadLetterFilter::default());
    let began = Instant::now();
    let redriving = tokio::spawn(async move {
        let pace = Pace { canary: None, rate: NonZeroU32::new(1) };
        let author = Author { who: "bench".to_owned(), why: String::new() };
        outbox.redrive(&everything, pace, &author).await.map(|done| done.changed)
    });
    let beside = deliver(database, url, &receiver).await;
    assert!(!redriving.is_finished(), "the redrive of {rows} ended before the deliveries: more rows are needed");
    let after = deliver(database, url, &receiver).await;
    redriving.abort();
    let (done, seconds) = (redriven(database).await, began.elapsed().as_secs());
    println!("deliveries alone {before:.0}/s, beside a redrive {beside:.0}/s, and again {after:.0}/s");
    println!("of {rows} were redriven {done} in {seconds} s");
}

async fn redriven(database: &Database) -> i64 {
    let sql = "SELECT count(*) FROM outbox_audit WHERE part_of IS NOT NULL";
    match database {
        Database::Postgres(pool) => sqlx::query_scalar(sql).fetch_one(pool).await,
        Database::MySql(pool) => sqlx::query_scalar(sql).fetch_one(pool).await,
        Database::Sqlite(pool) => sqlx::query_scalar(sql).fetch_one(pool).await,
    }
    .unwrap()
}

/// Inserts due rows, and gives how many a second are delivered of them.
async fn deliver(database: &Database, url: &str, receiver: &Receiver) -> f64 {
    let one = format!("'http', '{}', '{{\"order\": 1}}'", receiver.url());
    insert(database, &numbers(database, "(channel, target, payload)", &one, 0, DELIVERIES)).await;
    let arrived = receiver.count();
    let home = tempfile::tempdir().unwrap();
    let mut outbox = tokio::process::Command::new(outbox_binary());
    outbox.args(["run", "--set", "admin.listen=127.0.0.1:0", "--database", url]);
    let child = outbox.current_dir(home.path()).stderr(Stdio::null()).kill_on_drop(true).spawn();
    let mut child = child.unwrap();
    while receiver.count() == arrived {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let began = Instant::now();
    while receiver.count() < arrived + DELIVERIES {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    #[allow(clippy::cast_precision_loss, reason = "a rate is rounded anyhow")]
    let rate = DELIVERIES as f64 / began.elapsed().as_secs_f64();
    let pid = Pid::from_raw(child.id().unwrap().cast_signed()).unwrap();
    kill_process(pid, Signal::TERM).unwrap();
    assert!(child.wait().await.unwrap().success());
    rate
}

/// An insert of dead letters that died in the course of the last day.
fn dead(database: &Database, first: usize, count: usize) -> String {
    // Every division is one of integers on all three, where it is written so.
    let (floor, died, text) = match database {
        Database::Postgres(_) => ("i / 2", "now() - (i % 86400) * interval '1 second'", "i::text"),
        Database::MySql(_) => ("i DIV 2", "UTC_TIMESTAMP(6) - INTERVAL (i % 86400) SECOND", "i"),
        Database::Sqlite(_) => {
            ("i / 2", "CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) - (i % 86400) * 1000", "i")
        }
    };
    let joined = |parts: &[&str]| match database {
        Database::MySql(_) => format!("CONCAT({})", parts.join(", ")),
        Database::Postgres(_) | Database::Sqlite(_) => parts.join(" || "),
    };
    let host = joined(&["'https://h'", &format!("CAST(({floor}) % 100 AS CHAR(2))"), "'.example/hook'"]);
    let host = host.replace("CHAR(2)", if matches!(database, Database::MySql(_)) { "CHAR" } else { "VARCHAR" });
    let error = joined(&["'https://shop.example/hook answered 422: no order '", text, "' at all'"]);
    let columns = "(channel, target, payload, status, dead_reason, revision, attempts, last_status_code, last_error, \
                   error_hash, first_attempt_at, finished_at)";
    let values = format!(
        "'http', CASE WHEN i % 10000 = 77 THEN 'https://rare.example/hook' ELSE {host} END, '{{\"order\": 1}}', 'DEAD', \
         CASE i % 5 WHEN 0 THEN 'exhausted' WHEN 1 THEN 'in_doubt' ELSE 'permanent' END, 1, 1, \
         CASE i % 5 WHEN 0 THEN 503 WHEN 1 THEN NULL WHEN 2 THEN 400 ELSE 422 END, {error}, \
         CASE i % 5 WHEN 3 THEN 'aaaaaaaaaaaa' ELSE 'bbbbbbbbbbbb' END, {died}, {died}"
    );
    numbers(database, columns, &values, first, count)
}

/// An insert of a row for each number `i`.
fn numbers(database: &Database, columns: &str, values: &str, first: usize, count: usize) -> String {
    let last = first + count;
    let series = format!("WITH RECURSIVE n (i) AS (SELECT {first} + 1 UNION ALL SELECT i + 1 FROM n WHERE i < {last})");
    match database {
        Database::MySql(_) => format!("INSERT INTO outbox {columns} {series} SELECT {values} FROM n"),
        Database::Postgres(_) | Database::Sqlite(_) => {
            format!("{series} INSERT INTO outbox {columns} SELECT {values} FROM n")
        }
    }
}

async fn insert(database: &Database, sql: &str) {
    match database {
        Database::Postgres(pool) => drop(sqlx::raw_sql(AssertSqlSafe(sql)).execute(pool).await.unwrap()),
        Database::MySql(pool) => {
            let mut connection = pool.acquire().await.unwrap();
            // MariaDB's name for what MySQL calls cte_max_recursion_depth.
            sqlx::raw_sql("SET SESSION max_recursive_iterations = 100000000").execute(&mut *connection).await.unwrap();
            sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut *connection).await.unwrap();
        }
        Database::Sqlite(pool) => drop(sqlx::raw_sql(AssertSqlSafe(sql)).execute(pool).await.unwrap()),
    }
}
