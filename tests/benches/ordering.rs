//! What ordering keys cost: how long claims take beside keys that are halted, dead or many, and how fast it all drains.
//!
//! ```text
//! cargo bench --bench ordering -- postgres
//! ```
//!
//! A second word picks the scenes whose name holds it. The store alone, without requests: claims of up to 512 rows, each marked
//! before the next. Each looks at all keys first.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    missing_docs,
    reason = "a bench prints, and stops where it cannot go on"
)]

use std::time::{Duration, Instant};

use outbox_store::{
    AttemptRecord, ChannelTerms, ClaimId, ConnectOptions, Database, Epoch, Holder, Mark, Message, OnDeadOrdered, Shard,
    TermId, Verdict,
};
use outbox_tests::conformance::store::{Ask, http};
use outbox_tests::servers;
use sqlx::AssertSqlSafe;
use uuid::Uuid;

const LIMIT: u32 = 512;

/// Rows of one statement.
const CHUNK: usize = 50_000;

/// What is in the table: rows of (how many, SQL of the ordering key of row `i`, whether they are dead).
struct Scene {
    name: &'static str,
    rows: &'static [(usize, &'static str, bool)],
}

const PLAIN: (usize, &str, bool) = (20_000, "NULL", false);

const SCENES: [Scene; 8] = [
    Scene { name: "20,000 without a key", rows: &[PLAIN] },
    Scene { name: "beside one halted key of 100,000", rows: &[(1, "'k'", true), (100_000, "'k'", false), PLAIN] },
    Scene {
        name: "beside 1,000 halted keys of 100",
        rows: &[(1_000, "'k', i % 1000", true), (100_000, "'k', i % 1000", false), PLAIN],
    },
    Scene { name: "beside 100,000 dead of one key", rows: &[(100_000, "'k'", true), (1, "'k'", false), PLAIN] },
    Scene { name: "1,000 keys of 100, row by row", rows: &[(100_000, "'k', i % 1000", false)] },
    Scene { name: "1,000 keys of 100, key by key", rows: &[(100_000, "'k', FLOOR((i - 1) / 100)", false)] },
    Scene { name: "20,000 keys of 2", rows: &[(40_000, "'k', i % 20000", false)] },
    Scene { name: "10,000 of one key", rows: &[(10_000, "'k'", false)] },
];

#[tokio::main]
async fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    let which = words.first().map_or("postgres", String::as_str);
    println!("{which}: claims of up to {LIMIT}, each marked before the next");
    let picked = words.get(1).map_or("", String::as_str);
    for scene in SCENES.iter().filter(|scene| scene.name.contains(picked)) {
        // A database of its own: what one leaves behind would slow the next.
        let url = match which {
            "postgres" => servers::postgres().await.durable().await.database().await.url,
            "mariadb" => servers::mariadb().await.database().await.url,
            "sqlite" => servers::sqlite().url,
            other => panic!("no database {other}: postgres, mariadb or sqlite"),
        };
        let database = Database::connect(&ConnectOptions { url: &url, schema: None, connections: 4 }).await.unwrap();
        database.migrate("default").await.unwrap();
        for (rows, key, dead) in scene.rows {
            for first in (0..*rows).step_by(CHUNK) {
                insert(&database, key, *dead, first, CHUNK.min(rows - first)).await;
            }
        }
        measure(scene.name, &database).await;
        database.close().await;
    }
}

async fn measure(name: &str, database: &Database) {
    let store = database.store();
    let due = store.clone();
    let on_dead_ordered = if name.contains("halted") { OnDeadOrdered::Halt } else { OnDeadOrdered::Continue };
    let channels = [ChannelTerms { on_dead_ordered, ..http() }];
    let holder = Holder::new("bench", &Uuid::new_v4().to_string());
    let opened = store.begin_term(Shard(0), &holder, Epoch(0)).await.unwrap();
    let term = TermId { shard: Shard(0), epoch: opened.epoch, holder };
    let (mut claims, mut rows, began) = (Vec::new(), 0, Instant::now());
    // One key goes one by one: a look at it is enough.
    while rows < 500 || !name.contains("of one key") || name.contains("dead") {
        let (ask, asked) = (Ask { limit: LIMIT, ..Ask::of(&channels) }, Instant::now());
        let messages = ask.claim(&*due, &term).await.unwrap();
        claims.push(asked.elapsed());
        if messages.is_empty() {
            break;
        }
        rows += messages.len();
        let marks: Vec<_> = messages.iter().map(|message| delivered(&term, ask.claim, message)).collect();
        store.mark(&marks, &[ask.claim]).await.unwrap();
    }
    let rate = f64::from(u32::try_from(rows).unwrap()) / began.elapsed().as_secs_f64();
    claims.sort_unstable();
    let (median, longest) = (claims[claims.len() / 2], claims[claims.len() - 1]);
    println!(
        "{name:36} {:4} claims, median {median:8.1?}, longest {longest:8.1?}; {rows:6} rows, {rate:7.0}/s",
        claims.len()
    );
}

fn delivered(term: &TermId, claim: ClaimId, message: &Message) -> Mark {
    Mark {
        claim,
        id: message.id(),
        revision: message.revision(),
        verdict: Verdict::Success { receipt: None },
        pause: None,
        status_code: Some(200),
        error: None,
        deadline: None,
        told: None,
        attempt: AttemptRecord {
            number: 1,
            epoch: term.epoch,
            holder: term.holder.clone(),
            started: Instant::now(),
            duration: Duration::from_millis(1),
            kept: false,
            outcome: "delivered",
            excerpt: None,
        },
    }
}

async fn insert(database: &Database, key: &str, dead: bool, first: usize, count: usize) {
    let last = first + count;
    let key = match (key, database) {
        ("NULL", _) => "NULL".to_owned(),
        (key, Database::MySql(_)) => format!("CONCAT({key})"),
        (key, Database::Postgres(_)) => format!("concat({key})"),
        (key, Database::Sqlite(_)) => match key.split_once(", ") {
            Some((word, number)) => format!("{word} || ({})", number.replace("FLOOR", "")),
            None => key.to_owned(),
        },
    };
    let (status, reason) = if dead { ("'DEAD'", "'permanent'") } else { ("'PENDING'", "NULL") };
    let series = format!("WITH RECURSIVE n (i) AS (SELECT {first} + 1 UNION ALL SELECT i + 1 FROM n WHERE i < {last})");
    let columns = "(channel, target, payload, ordering_key, status, dead_reason)";
    let rows = format!("SELECT 'http', '/hook', '{{\"order\": 4711}}', {key}, {status}, {reason} FROM n");
    match database {
        Database::Postgres(pool) => {
            let rows = rows.replace("'{\"order\": 4711}'", "'{\"order\": 4711}'::jsonb");
            let sql = format!("{series} INSERT INTO outbox {columns} {rows}");
            sqlx::raw_sql(AssertSqlSafe(sql)).execute(pool).await.unwrap();
            sqlx::raw_sql("ANALYZE outbox").execute(pool).await.unwrap();
        }
        Database::MySql(pool) => {
            let mut connection = pool.acquire().await.unwrap();
            sqlx::raw_sql("SET SESSION max_recursive_iterations = 100000000").execute(&mut *connection).await.unwrap();
            let sql = format!("INSERT INTO outbox {columns} {series} {rows}");
            sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut *connection).await.unwrap();
        }
        Database::Sqlite(pool) => {
            let sql = format!("{series} INSERT INTO outbox {columns} {rows}");
            sqlx::raw_sql(AssertSqlSafe(sql)).execute(pool).await.unwrap();
        }
    }
}
