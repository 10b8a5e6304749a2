//! What the figures over time and told outcomes cost a drain:
//!
//! ```text
//! cargo bench --bench prices -- postgres 50000
//! ```
//!
//! So many messages are delivered by a replica of each kind, in turn, five times; the median of the rates is printed, and its ratio
//! to that of a plain one. Without figures over time means that their table is not there, so that nothing can be written.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    missing_docs,
    reason = "a bench prints, and stops where it cannot go on"
)]

use std::process::Stdio;
use std::time::{Duration, Instant};

use outbox_schema::{NewMessage, enqueue_all};
use outbox_store::{ConnectOptions, Database};
use outbox_tests::receiver::Receiver;
use outbox_tests::{outbox_binary, servers};
use rustix::process::{Pid, Signal, kill_process};

const ROUNDS: usize = 5;

/// Messages of one transaction.
const AT_ONCE: usize = 1_000;

/// A replica, and what is said of it.
struct Kind {
    name: &'static str,
    /// Further settings of the channel, where `OUTCOMES` stands for the receiver of outcomes.
    settings: &'static str,
    figures: bool,
}

const KINDS: [Kind; 3] = [
    Kind { name: "plain", settings: "", figures: true },
    Kind { name: "without figures over time", settings: "", figures: false },
    Kind {
        name: "on_success",
        settings: "on_success = { channel = \"outcomes\", target = \"/\" }\n[channels.outcomes]\nkind = \"http\"\n\
                   base_url = \"OUTCOMES\"\nallow_networks = [\"127.0.0.0/8\"]\n",
        figures: true,
    },
];

#[tokio::main]
async fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    let which = words.first().map_or("postgres", String::as_str).to_owned();
    let rows: usize = words.get(1).map_or(50_000, |rows| rows.parse().unwrap());
    let mut rates: [Vec<f64>; KINDS.len()] = Default::default();
    for _ in 0..ROUNDS {
        for (kind, rates) in KINDS.iter().zip(&mut rates) {
            rates.push(drain(&which, kind, rows).await);
        }
    }
    let rates = rates.map(median);
    println!("{which}: {rows} messages, median of {ROUNDS}");
    for (kind, rate) in KINDS.iter().zip(rates) {
        println!("{:<26} {rate:>7.0}/s {:.2}", kind.name, rate / rates[0]);
    }
}

async fn drain(which: &str, kind: &Kind, rows: usize) -> f64 {
    let url = match which {
        "postgres" => servers::postgres().await.durable().await.database().await.url,
        "mariadb" => servers::mariadb().await.database().await.url,
        other => panic!("no database {other}: postgres or mariadb"),
    };
    let database = Database::connect(&ConnectOptions { url: &url, schema: None, connections: 2 }).await.unwrap();
    database.migrate("default").await.unwrap();
    let (receiver, outcomes) = (Receiver::start(Duration::ZERO), Receiver::start(Duration::ZERO));
    for first in (0..rows).step_by(AT_ONCE) {
        let message = |n| NewMessage::http("/").json(&serde_json::json!({ "order": n, "state": "placed" }));
        let messages: Vec<_> = (first..(first + AT_ONCE).min(rows)).map(message).collect();
        match &database {
            Database::Postgres(pool) => {
                let mut transaction = pool.begin().await.unwrap();
                enqueue_all(&mut *transaction, &messages).await.unwrap();
                transaction.commit().await.unwrap();
            }
            Database::MySql(pool) => {
                let mut transaction = pool.begin().await.unwrap();
                enqueue_all(&mut *transaction, &messages).await.unwrap();
                transaction.commit().await.unwrap();
            }
            Database::Sqlite(_) => unreachable!("the databases are named above"),
        }
    }
    let without = if kind.figures { "" } else { "DROP TABLE outbox_minute" };
    match &database {
        Database::Postgres(pool) => {
            // What autovacuum does within a minute.
            sqlx::raw_sql("VACUUM ANALYZE outbox").execute(pool).await.unwrap();
            sqlx::raw_sql(without).execute(pool).await.unwrap();
        }
        Database::MySql(pool) if !without.is_empty() => drop(sqlx::raw_sql(without).execute(pool).await.unwrap()),
        Database::MySql(_) | Database::Sqlite(_) => {}
    }
    let home = tempfile::tempdir().unwrap();
    let more = kind.settings.replace("OUTCOMES", &outcomes.url());
    let settings = format!(
        "[channels.http]\nkind = \"http\"\nbase_url = \"{}\"\nallow_networks = [\"127.0.0.0/8\"]\n{more}",
        receiver.url()
    );
    std::fs::write(home.path().join("outbox.toml"), settings).unwrap();
    let mut outbox = tokio::process::Command::new(outbox_binary());
    outbox.args(["run", "--set", "admin.listen=127.0.0.1:0", "--database", &url]);
    let mut child = outbox.current_dir(home.path()).stderr(Stdio::null()).kill_on_drop(true).spawn().unwrap();
    while receiver.count() == 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let began = Instant::now();
    let wanted = if kind.settings.is_empty() { 0 } else { rows };
    while receiver.count() < rows || outcomes.count() < wanted {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    #[allow(clippy::cast_precision_loss, reason = "a rate is rounded anyhow")]
    let rate = rows as f64 / began.elapsed().as_secs_f64();
    let pid = Pid::from_raw(child.id().unwrap().cast_signed()).unwrap();
    kill_process(pid, Signal::TERM).unwrap();
    assert!(child.wait().await.unwrap().success());
    rate
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}
