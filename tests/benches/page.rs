//! How long the pages of a replica take, and how large they are, beside a large outbox:
//!
//! ```text
//! cargo bench --bench page -- postgres 1000000
//! ```
//!
//! So many messages wait, as many are dead letters, and five times as many are delivered: 8 channels, 300 destinations, 1,000 tenants,
//! 150 causes, attempts of what failed, and 100,000 terms and entries of the audit. Each page is asked for ten times; its median, its
//! longest time and its size are printed. The replica follows: a lease that nobody releases keeps it from sending.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    missing_docs,
    reason = "a bench prints, and stops where it cannot go on"
)]

use std::process::Stdio;
use std::time::{Duration, Instant};

use outbox_store::{ConnectOptions, Database};
use outbox_tests::{outbox_binary, servers};
use sqlx::AssertSqlSafe;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

const TIMES: usize = 10;

/// Rows of one statement: it must end before the limit of statements does.
const CHUNK: u64 = 20_000;

const TERMS: u64 = 100_000;

/// Delivered messages for each that waits.
const DELIVERED: u64 = 5;

/// What is asked for. `{dead}` and `{pending}` are ids.
const PAGES: [&str; 33] = [
    "/",
    "/api/v1/status",
    "/messages",
    "/api/v1/messages",
    "/messages?status=PENDING",
    "/messages?channel=channel-3",
    "/messages?tenant=tenant-7",
    "/messages?destination=https://host7.example:443",
    "/messages?key_prefix=s-4711",
    "/messages?since=1h",
    "/messages?channel=nobody",
    "/messages/{dead}",
    "/messages/{pending}",
    "/api/v1/messages/{dead}/explain",
    "/api/v1/messages/{pending}/explain",
    "/dead-letters",
    "/api/v1/dead-letters/groups",
    "/api/v1/dead-letters",
    "/dead-letters?channel=channel-3",
    "/dead-letters?destination=https://host7.example:443",
    "/dead-letters?since=1h",
    "/dead-letters?tenant=tenant-7",
    "/ordering-keys",
    "/destinations",
    "/terms",
    "/api/v1/terms",
    "/figures?channel=channel-3&span=1w",
    "/invalid-targets",
    "/audit",
    "/api/v1/audit",
    "/settings",
    "/readyz",
    "/metrics",
];

#[tokio::main]
async fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    let which = words.first().map_or("postgres", String::as_str).to_owned();
    let waiting: u64 = words.get(1).map_or(1_000_000, |rows| rows.parse().unwrap());
    let url = match which.as_str() {
        "postgres" => servers::postgres().await.database().await.url,
        "mariadb" => servers::mariadb().await.database().await.url,
        "sqlite" => servers::sqlite().url,
        other => panic!("no database {other}: postgres, mariadb or sqlite"),
    };
    let database = Database::connect(&ConnectOptions { url: &url, schema: None, connections: 4 }).await.unwrap();
    database.migrate("default").await.unwrap();
    let began = Instant::now();
    fill(&database, waiting).await;
    println!(
        "{which}: {waiting} messages wait, {waiting} are dead, {} are delivered; made in {:?}",
        waiting * DELIVERED,
        began.elapsed()
    );
    let (_replica, listener, _home) = replica(&url).await;
    let [dead, pending] =
        ["DEAD", "PENDING"].map(|status| format!("SELECT max(id) FROM outbox WHERE status = '{status}'"));
    let (dead, pending) = (number(&database, &dead).await, number(&database, &pending).await);
    outbox_adapters::ensure_crypto_provider();
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    for page in PAGES {
        let page = page.replace("{dead}", &dead.to_string()).replace("{pending}", &pending.to_string());
        let (mut times, mut size, mut status) = (Vec::new(), 0, 0);
        for _ in 0..TIMES {
            let began = Instant::now();
            let answer = client.get(format!("{listener}{page}")).send().await.unwrap();
            status = answer.status().as_u16();
            size = answer.bytes().await.unwrap().len();
            times.push(began.elapsed());
            // As somebody who reads it: what is at hand for seconds is not asked for within one.
            tokio::time::sleep(Duration::from_millis(300)).await;
        }
        times.sort_unstable();
        let ms = |time: Duration| time.as_secs_f64() * 1000.0;
        println!(
            "{page:<52} {status} {:>6.0} ms {:>6.0} ms {:>6} KiB",
            ms(times[TIMES / 2]),
            ms(times[TIMES - 1]),
            size.div_ceil(1024)
        );
    }
}

/// Starts a replica, and gives where its listener is.
async fn replica(url: &str) -> (Child, String, TempDir) {
    let home = tempfile::tempdir().unwrap();
    let channels: Vec<_> = (0..8).map(|n| format!("[channels.channel-{n}]\nkind = \"http\"\n")).collect();
    let channels = channels.concat();
    std::fs::write(home.path().join("outbox.toml"), format!("[admin]\nlisten = \"127.0.0.1:0\"\n{channels}")).unwrap();
    let mut outbox = Command::new(outbox_binary());
    outbox.args(["run", "--database", url]).current_dir(home.path()).stderr(Stdio::piped()).kill_on_drop(true);
    let mut child = outbox.spawn().unwrap();
    let mut log = BufReader::new(child.stderr.take().unwrap()).lines();
    let page = loop {
        let line = log.next_line().await.unwrap().expect("it says where it listens");
        if let Some((_, page)) = line.split_once("page=") {
            break page.trim().trim_end_matches('/').to_owned();
        }
    };
    tokio::spawn(async move { while let Ok(Some(_)) = log.next_line().await {} });
    (child, page, home)
}

async fn run(database: &Database, sql: String) {
    let sql = AssertSqlSafe(sql);
    match database {
        Database::Postgres(pool) => sqlx::raw_sql(sql).execute(pool).await.map(drop),
        Database::MySql(pool) => sqlx::raw_sql(sql).execute(pool).await.map(drop),
        Database::Sqlite(pool) => sqlx::raw_sql(sql).execute(pool).await.map(drop),
    }
    .unwrap();
}

async fn number(database: &Database, sql: &str) -> i64 {
    let sql = AssertSqlSafe(sql);
    match database {
        Database::Postgres(pool) => sqlx::query_scalar(sql).fetch_one(pool).await,
        Database::MySql(pool) => sqlx::query_scalar(sql).fetch_one(pool).await,
        Database::Sqlite(pool) => sqlx::query_scalar(sql).fetch_one(pool).await,
    }
    .unwrap()
}

/// What differs by dialect.
struct Words<'a> {
    database: &'a Database,
}

impl Words<'_> {
    /// Texts and numbers, one after the other.
    fn joined(&self, parts: &[&str]) -> String {
        match self.database {
            Database::MySql(_) => format!("CONCAT({})", parts.join(", ")),
            // SQLite's `||` binds before `%`.
            Database::Postgres(_) | Database::Sqlite(_) => format!("({})", parts.join(") || (")),
        }
    }

    /// So many seconds ago.
    fn ago(&self, seconds: &str) -> String {
        match self.database {
            Database::Postgres(_) => format!("now() - ({seconds}) * interval '1 second'"),
            Database::MySql(_) => format!("UTC_TIMESTAMP(6) - INTERVAL CAST({seconds} AS SIGNED) SECOND"),
            Database::Sqlite(_) => format!("(unixepoch() - ({seconds})) * 1000"),
        }
    }

    fn payload(&self) -> String {
        let text = "'{\"order\": 4711, \"state\": \"placed\"}'";
        if matches!(self.database, Database::Postgres(_)) { format!("{text}::jsonb") } else { text.to_owned() }
    }

    /// `INSERT` of a row for each number from `first` to `last`.
    async fn insert(&self, into: &str, values: &str, first: u64, last: u64) {
        let series = format!("WITH RECURSIVE n (i) AS (SELECT {first} UNION ALL SELECT i + 1 FROM n WHERE i < {last})");
        let sql = match self.database {
            // MariaDB's name for what MySQL calls cte_max_recursion_depth.
            Database::MySql(_) => format!(
                "SET SESSION max_recursive_iterations = 100000000; INSERT INTO {into} {series} SELECT {values} FROM n"
            ),
            Database::Postgres(_) | Database::Sqlite(_) => {
                format!("{series} INSERT INTO {into} SELECT {values} FROM n")
            }
        };
        run(self.database, sql).await;
    }

    async fn each(&self, into: &str, values: &str, count: u64) {
        for first in (1..=count).step_by(usize::try_from(CHUNK).unwrap()) {
            self.insert(into, values, first, (first + CHUNK - 1).min(count)).await;
        }
    }
}

async fn fill(database: &Database, waiting: u64) {
    let words = Words { database };
    let columns = "outbox (idempotency_key, channel, target, payload, tenant, ordering_key, created_at, available_at, revision, attempts, \
                   first_attempt_at, status, finished_at, last_status_code, dead_reason, last_error, error_hash)";
    let target = words.joined(&["'https://host'", "i % 300", "'.example/hooks/'", "i % 1000"]);
    let tenant = words.joined(&["'tenant-'", "i * 31 % 1000"]);
    let ordered = words.joined(&["'key-'", "i % 50000"]);
    let channel = |of: &str| words.joined(&["'channel-'", of]);
    let key = |prefix: &str| words.joined(&[prefix, "i"]);
    let common = |prefix: &str, kind: &str, every: u64| {
        format!(
            "{}, {}, {target}, {}, {tenant}, CASE WHEN i % {every} = 0 THEN {ordered} END",
            key(prefix),
            channel(kind),
            words.payload()
        )
    };
    let delivered = waiting * DELIVERED;
    let then = words.ago(&format!("({delivered} - i) * 604800.0 / {delivered}"));
    let values = format!(
        "{}, {then}, {then}, 2, 1, {then}, 'SUCCESS', {then}, 200, NULL, NULL, NULL",
        common("'s-'", "i % 8", 10)
    );
    words.each(columns, &values, delivered).await;
    // A cause is as frequent as its number is small; most died lately.
    let by = if matches!(database, Database::MySql(_)) { "DIV" } else { "/" };
    let cause = format!("(i * (i % 997) {by} 997 * 150 {by} {waiting})");
    let died = words.ago(&format!("({waiting} - i) * 7776000.0 / {waiting} * ({waiting} - i) / {waiting}"));
    let reason = format!(
        "CASE {cause} % 4 WHEN 0 THEN 'permanent' WHEN 1 THEN 'exhausted' WHEN 2 THEN 'expired' ELSE 'in_doubt' END"
    );
    let code = format!("CASE {cause} % 3 WHEN 0 THEN 404 WHEN 1 THEN 503 END");
    let error = words.joined(&["'order '", "i", "' is unknown to shard '", &cause]);
    let hash = words.joined(&["'h'", &cause]);
    let values = format!(
        "{}, {died}, {died}, 3, 3, {died}, 'DEAD', {died}, {code}, {reason}, {error}, {hash}",
        common("'d-'", &format!("{cause} % 8"), 20)
    );
    words.each(columns, &values, waiting).await;
    let created = words.ago(&format!("({waiting} - i) * 21600.0 / {waiting}"));
    let due = words.ago("-3600");
    let retried = "CASE WHEN i % 10 = 0 THEN";
    let values = format!(
        "{}, {created}, CASE WHEN i % 20 = 0 THEN {due} ELSE {created} END, CASE WHEN i % 10 = 0 THEN 2 ELSE 0 END, \
         CASE WHEN i % 10 = 0 THEN 2 ELSE 0 END, {retried} {created} END, 'PENDING', NULL, {retried} 503 END, NULL, \
         {retried} 'the receiver answered 503' END, NULL",
        common("'p-'", "i % 8", 11)
    );
    words.each(columns, &values, waiting).await;
    around(&words, waiting).await;
    match database {
        Database::Postgres(pool) => {
            // What autovacuum does within a minute.
            let mut connection = pool.acquire().await.unwrap();
            for sql in ["SET statement_timeout = 0", "VACUUM ANALYZE", "RESET statement_timeout"] {
                sqlx::raw_sql(sql).execute(&mut *connection).await.unwrap();
            }
        }
        Database::MySql(_) => run(database, "ANALYZE TABLE outbox".to_owned()).await,
        Database::Sqlite(_) => run(database, "ANALYZE".to_owned()).await,
    }
}

/// What is around the messages: attempts, terms, the audit, figures, destinations, and the lease.
async fn around(words: &Words<'_>, waiting: u64) {
    let now = words.ago("0");
    let first = number(words.database, "SELECT min(id) FROM outbox WHERE status = 'DEAD'").await;
    let attempt =
        format!("i + {first}, 1, 4711, 'aaaaaaaaaaaa.bbbb', {now}, 120, 'retry', 503, 'the receiver answered 503'");
    let columns =
        "outbox_attempt (message_id, number, epoch, holder, started_at, duration_ms, outcome, status_code, error)";
    words.each(columns, &attempt, waiting).await;
    let (began, ended) = (words.ago(&format!("({TERMS} - i) * 20")), words.ago(&format!("({TERMS} - i) * 20 - 20")));
    let holder = words.joined(&["'aaaaaaaaaaaa.'", "i"]);
    let columns =
        "outbox_term_log (shard, epoch, holder, started_at, ended_at, ended_because, claimed, delivered, failed)";
    words.each(columns, &format!("0, i, {holder}, {began}, {ended}, 'interval', 100, 100, 0"), TERMS).await;
    let at = words.ago(&format!("({TERMS} - i) * 60"));
    let audit = format!("{at}, 'anna', 'redrive', 'incident 42', i");
    words.each("outbox_audit (at, who, action, why, message_id)", &audit, TERMS).await;
    for channel in 0..8 {
        let minute = match words.database {
            Database::Postgres(_) => "to_timestamp(floor(extract(epoch FROM now()) / 60) * 60 - i * 60)".to_owned(),
            Database::MySql(_) => "FROM_UNIXTIME(FLOOR(UNIX_TIMESTAMP() / 60) * 60 - i * 60)".to_owned(),
            Database::Sqlite(_) => "(unixepoch() / 60 * 60 - i * 60) * 1000".to_owned(),
        };
        let figures = format!("0, {minute}, 1, 'channel-{channel}', 60, 3, 1, 500, 60");
        words
            .insert(
                "outbox_minute (shard, begins_at, minutes, channel, delivered, failed, dead, lag_ms, ms_50)",
                &figures,
                1,
                2_880,
            )
            .await;
    }
    let target = words.joined(&["'token:'", "i"]);
    words.each("outbox_invalid_target (channel, target)", &format!("'channel-1', {target}"), 50_000).await;
    let name = words.joined(&["'https://host'", "i", "'.example:443'"]);
    let until = words.ago("-3600");
    let paused = format!("{name}, {until}, 'anna', 'hand', 'busy'");
    words.insert("outbox_destination (destination, paused_until, paused_by, pause_kind, reason)", &paused, 1, 20).await;
    run(
        words.database,
        format!("UPDATE outbox_term SET epoch = {TERMS}, holder = 'aaaaaaaaaaaa.{TERMS}', started_at = {now}"),
    )
    .await;
    let lease = words.ago("-86400");
    run(
        words.database,
        format!("INSERT INTO outbox_lease (shard, holder, expires_at) VALUES (0, 'aaaaaaaaaaaa.{TERMS}', {lease})"),
    )
    .await;
}
