//! How long it takes to find messages by what a customer knows of them, and what their tags cost an insert and a delivery:
//!
//! ```text
//! cargo bench --bench finding -- postgres 1000000
//! ```
//!
//! Each search is made five times, among so many delivered messages of two tags; the median is printed, and the longest. Inserts and
//! deliveries are those of messages without tags, and of the same messages with two, in turn; the medians of five rounds are
//! printed.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    missing_docs,
    reason = "a bench prints, and stops where it cannot go on"
)]

use std::process::Stdio;
use std::time::{Duration, Instant};

use outbox_desk::{DeadLetterFilter, Desk, MessageFilter};
use outbox_schema::{NewMessage, enqueue_all};
use outbox_store::{ConnectOptions, Database};
use outbox_tests::receiver::Receiver;
use outbox_tests::{outbox_binary, servers};
use rustix::process::{Pid, Signal, kill_process};
use sqlx::AssertSqlSafe;

const TIMES: usize = 5;

/// Rows of one statement: it must end before the limit of statements does.
const CHUNK: usize = 20_000;

/// Transactions of one message in each round.
const COMMITS: usize = 1_000;

/// Messages of one transaction.
const AT_ONCE: usize = 1_000;

/// Messages that are delivered in each round.
const DELIVERIES: usize = 20_000;

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
    if let Database::MySql(pool) = &database {
        // The index of mysql_tags.sql, as its client sends it.
        let script = include_str!("../../outbox-schema/grants/mysql_tags.sql").replace("DELIMITER //", "");
        let script = script.replace("END//", "END;").replace("DELIMITER ;", "");
        let own: Vec<_> = script.lines().filter(|line| !line.starts_with("GRANT")).collect();
        sqlx::raw_sql(AssertSqlSafe(own.join("\n"))).execute(pool).await.unwrap();
    }
    println!("{which}: {rows} delivered messages of two tags, median and longest of {TIMES}");
    for first in (0..rows).step_by(CHUNK) {
        fill(&database, first, CHUNK.min(rows - first)).await;
    }
    if let Database::Postgres(pool) = &database {
        // What autovacuum does within a minute.
        let mut connection = pool.acquire().await.unwrap();
        for sql in ["SET statement_timeout = 0", "VACUUM ANALYZE outbox", "RESET statement_timeout"] {
            sqlx::raw_sql(sql).execute(&mut *connection).await.unwrap();
        }
    }
    searches(&database, rows).await;
    prices(&database, &url).await;
}

/// Inserts delivered messages: `order` is of one, `customer` of a thousandth, `region` of a tenth.
async fn fill(database: &Database, first: usize, count: usize) {
    let last = first + count;
    let series = format!("WITH RECURSIVE n (i) AS (SELECT {first} + 1 UNION ALL SELECT i + 1 FROM n WHERE i < {last})");
    let columns = "INSERT INTO outbox (channel, target, payload, status, revision, idempotency_key, tenant, tags)";
    let joined = |parts: [&str; 3]| match database {
        Database::MySql(_) => format!("CONCAT({})", parts.join(", ")),
        Database::Postgres(_) | Database::Sqlite(_) => parts.join(" || "),
    };
    let key = joined(["'order-'", "i", "'-placed'"]);
    let target = joined(["'https://h'", "i % 1000", "'.example/hook'"]);
    let tags = match database {
        Database::Postgres(_) => {
            "jsonb_build_object('order', i::text, CASE WHEN i % 2 = 0 THEN 'customer' ELSE 'region' END, \
             CASE WHEN i % 2 = 0 THEN i % 1000 ELSE i % 10 END::text)"
        }
        Database::MySql(_) => {
            "JSON_OBJECT('order', CAST(i AS CHAR), IF(i % 2 = 0, 'customer', 'region'), CAST(IF(i % 2 = 0, i % 1000, i % 10) AS CHAR))"
        }
        Database::Sqlite(_) => {
            "json_object('order', CAST(i AS TEXT), iif(i % 2 = 0, 'customer', 'region'), \
             CAST(iif(i % 2 = 0, i % 1000, i % 10) AS TEXT))"
        }
    };
    let payload = "'{\"order\": 4711, \"state\": \"placed\"}'";
    let values = format!("SELECT 'http', {target}, {payload}, 'SUCCESS', 1, {key}, 'shop', {tags} FROM n");
    match database {
        Database::Postgres(pool) => {
            let sql = format!("{series} {columns} {}", values.replace(payload, &format!("{payload}::jsonb")));
            sqlx::raw_sql(AssertSqlSafe(sql)).execute(pool).await.unwrap();
        }
        Database::MySql(pool) => {
            let mut connection = pool.acquire().await.unwrap();
            // MariaDB's name for what MySQL calls cte_max_recursion_depth.
            sqlx::raw_sql("SET SESSION max_recursive_iterations = 100000000").execute(&mut *connection).await.unwrap();
            let sql = AssertSqlSafe(format!("{columns} {series} {values}"));
            sqlx::raw_sql(sql).execute(&mut *connection).await.unwrap();
        }
        Database::Sqlite(pool) => {
            let sql = AssertSqlSafe(format!("{series} {columns} {values}"));
            sqlx::raw_sql(sql).execute(pool).await.unwrap();
        }
    }
}

async fn searches(database: &Database, rows: usize) {
    let any = MessageFilter::default;
    let middle = rows / 2;
    let tagged = |tags: String| MessageFilter { tags: tags.parse().unwrap(), ..any() };
    let key = |prefix: String| MessageFilter { key_prefix: Some(prefix), ..any() };
    for (name, filter, finds) in [
        ("--tag, of one message", tagged(format!("order={middle}")), true),
        ("--tag, of a thousandth", tagged(format!("customer={}", middle % 1000)), true),
        ("--tag, of a tenth", tagged("region=7".to_owned()), true),
        ("--tag, of none", tagged("order=none".to_owned()), false),
        ("--tag twice", tagged(format!("order={}, region=1", rows / 10 + 1)), true),
        ("--key-prefix, of one", key(format!("order-{middle}-")), true),
        ("--key-prefix, of all", key("order-".to_owned()), true),
        ("--key-prefix, of none", key("nobody-s".to_owned()), false),
        (
            "--target, of a thousandth",
            MessageFilter { target: Some("https://h7.example/hook".to_owned()), ..any() },
            true,
        ),
        ("--target, of none", MessageFilter { target: Some("https://nobody-s.example/".to_owned()), ..any() }, false),
        ("--tenant, of all", MessageFilter { tenant: Some("shop".to_owned()), ..any() }, true),
    ] {
        let mut times = Vec::new();
        for _ in 0..TIMES {
            let began = Instant::now();
            let page = database.messages(&filter, None, 100).await.unwrap();
            times.push(began.elapsed());
            assert_eq!(!page.messages.is_empty(), finds, "{name}");
        }
        println!("messages list {name:<28} {}", in_words(times));
    }
    for list in [format!("order={middle}"), "region=7".to_owned()] {
        let filter = DeadLetterFilter { tags: list.parse().unwrap(), ..DeadLetterFilter::default() };
        let mut times = Vec::new();
        for _ in 0..TIMES {
            let began = Instant::now();
            assert_eq!(database.dead_letters(&filter, &[], None, 100).await.unwrap().letters, []);
            times.push(began.elapsed());
        }
        println!("dead-letters list --tag {list:<18} {}", in_words(times));
    }
}

async fn prices(database: &Database, url: &str) {
    let receiver = Receiver::start(Duration::ZERO);
    let mut rates: [[Vec<f64>; 3]; 2] = Default::default();
    for round in 0..TIMES {
        for (tagged, [single, at_once, delivered]) in rates.iter_mut().enumerate() {
            let messages: Vec<_> =
                (0..DELIVERIES + COMMITS).map(|n| message(&receiver, tagged == 1, round, n)).collect();
            let (alone, together) = messages.split_at(COMMITS);
            let began = Instant::now();
            for message in alone {
                insert(database, std::slice::from_ref(message)).await;
            }
            single.push(rate(COMMITS, began));
            let began = Instant::now();
            for some in together.chunks(AT_ONCE) {
                insert(database, some).await;
            }
            at_once.push(rate(DELIVERIES, began));
            delivered.push(deliver(url, &receiver, messages.len()).await);
        }
    }
    let [without, with] = rates.map(|rates| rates.map(median));
    for (place, what) in ["inserted one by one", "inserted 1,000 at once", "delivered"].into_iter().enumerate() {
        println!(
            "{what:<24} {:.0}/s without tags, {:.0}/s with two: {:.2}",
            without[place],
            with[place],
            with[place] / without[place]
        );
    }
}

fn message(receiver: &Receiver, tagged: bool, round: usize, n: usize) -> NewMessage {
    let message = NewMessage::http(receiver.url()).json(&serde_json::json!({ "order": n, "state": "placed" }));
    if tagged { message.tag("order", format!("{round}-{n}")).tag("customer", (n % 500).to_string()) } else { message }
}

async fn insert(database: &Database, messages: &[NewMessage]) {
    // The same lines stand here three times, because sqlx has a separate type for each database.
    match database {
        Database::Postgres(pool) => {
            let mut transaction = pool.begin().await.unwrap();
            enqueue_all(&mut *transaction, messages).await.unwrap();
            transaction.commit().await.unwrap();
        }
        Database::MySql(pool) => {
            let mut transaction = pool.begin().await.unwrap();
            enqueue_all(&mut *transaction, messages).await.unwrap();
            transaction.commit().await.unwrap();
        }
        Database::Sqlite(pool) => {
            let mut transaction = pool.begin().await.unwrap();
            enqueue_all(&mut *transaction, messages).await.unwrap();
            transaction.commit().await.unwrap();
        }
    }
}

/// Delivers what is due, and gives how many a second.
async fn deliver(url: &str, receiver: &Receiver, due: usize) -> f64 {
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
    while receiver.count() < arrived + due {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let rate = rate(due, began);
    let pid = Pid::from_raw(child.id().unwrap().cast_signed()).unwrap();
    kill_process(pid, Signal::TERM).unwrap();
    assert!(child.wait().await.unwrap().success());
    rate
}

#[allow(clippy::cast_precision_loss, reason = "a rate is rounded anyhow")]
fn rate(messages: usize, began: Instant) -> f64 {
    messages as f64 / began.elapsed().as_secs_f64()
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

fn in_words(mut times: Vec<Duration>) -> String {
    times.sort_unstable();
    let ms = |time: Duration| time.as_secs_f64() * 1000.0;
    format!("{:.1} ms, {:.1} ms", ms(times[TIMES / 2]), ms(times[TIMES - 1]))
}
