//! A drain beside the job queues of others: the same rows, the same requests, one server and one machine, in turns.
//!
//! ```text
//! cargo bench --bench peers -- 50000
//! ```
//!
//! Each takes so many due rows three times, and then once more while a transaction elsewhere keeps its snapshot, for a
//! minute at most; what is printed is requests a second from the first to the last, the median of the three.
//! The queues are those of `tests/peers/package.json`, installed by npm into `target/peers` together with the Node that they ask for.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    missing_docs,
    reason = "a bench prints, and stops where it cannot go on"
)]

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use outbox_store::{ConnectOptions, Database};
use outbox_tests::{outbox_binary, servers};
use serde::Deserialize;
use serde_json::json;
use sqlx::{AssertSqlSafe, Connection, PgConnection};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

const ROUNDS: usize = 3;

/// A drain that has not ended by then is judged by what came until then.
const LIMIT: Duration = Duration::from_mins(1);

/// One of those that drain.
struct Contestant {
    name: &'static str,
    by: By,
}

enum By {
    Outbox { in_flight: u32 },
    Queue { script: &'static str, processes: usize, settings: serde_json::Value },
}

fn contestants() -> Vec<Contestant> {
    let outbox = |name, in_flight| Contestant { name, by: By::Outbox { in_flight } };
    let queue = |name, script, processes, settings| Contestant { name, by: By::Queue { script, processes, settings } };
    vec![
        outbox("outbox", 512),
        outbox("outbox, max_in_flight = 2048", 2048),
        // As https://worker.graphile.org/docs/performance has it.
        queue(
            "graphile-worker, as its page on performance says",
            "graphile-worker.js",
            1,
            json!({ "requests": 24, "localQueue": 500, "completeEvery": 0 }),
        ),
        // The fastest of a dozen that were tried.
        queue(
            "graphile-worker, two processes of 64 with queues of 2,000",
            "graphile-worker.js",
            2,
            json!({ "requests": 64, "localQueue": 2000, "completeEvery": 50 }),
        ),
        queue("pg-boss, batches of 500", "pg-boss.js", 1, json!({ "requests": 500, "batch": 500 })),
        queue(
            "pg-boss, two processes of two batches of 100",
            "pg-boss.js",
            2,
            json!({ "requests": 200, "batch": 100 }),
        ),
    ]
}

#[tokio::main]
async fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    let rows: usize = words.first().map_or(50_000, |rows| rows.parse().unwrap());
    let peers = install().await;
    let contestants = contestants();
    let mut rates: Vec<Vec<f64>> = contestants.iter().map(|_| Vec::new()).collect();
    for _ in 0..ROUNDS {
        for (contestant, rates) in contestants.iter().zip(&mut rates) {
            rates.push(drain(contestant, &peers, rows, false).await);
        }
    }
    println!("{rows} rows, requests a second: median of {ROUNDS}, and once while a snapshot is held elsewhere");
    for (contestant, mut rates) in contestants.iter().zip(rates) {
        rates.sort_by(f64::total_cmp);
        let held = drain(contestant, &peers, rows, true).await;
        println!("{:<60} {:>7.0} {held:>7.0}", contestant.name, rates[ROUNDS / 2]);
    }
}

/// Puts the queues into a directory of their own, and says where.
async fn install() -> PathBuf {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers");
    let peers = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/peers");
    std::fs::create_dir_all(&peers).unwrap();
    for entry in std::fs::read_dir(sources).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), peers.join(entry.file_name())).unwrap();
    }
    let npm = Command::new("npm").args(["ci", "--silent"]).current_dir(&peers).status().await;
    let installed = npm.unwrap_or_else(|error| panic!("npm cannot be run ({error}): install the Debian package npm"));
    assert!(installed.success(), "npm cannot install what {}/package.json lists", peers.display());
    peers
}

/// Drains a new database, and gives the requests a second.
async fn drain(contestant: &Contestant, peers: &Path, rows: usize, held: bool) -> f64 {
    let url = servers::postgres().await.durable().await.database().await.url;
    let mut receiver = Receiver::start().await;
    let home = tempfile::tempdir().unwrap();
    match &contestant.by {
        By::Outbox { .. } => fill(&url, &receiver.url, rows).await,
        By::Queue { script, settings, .. } => {
            let filled = queue(peers, script, "fill", &url, &receiver.url, rows, settings).status().await;
            assert!(filled.unwrap().success(), "{script} cannot put its rows in: see above");
        }
    }
    let snapshot = if held { Some(snapshot(&url).await) } else { None };
    let redis = servers::redis().await;
    let mut running: Vec<Child> = match &contestant.by {
        By::Outbox { in_flight } => vec![outbox(&home, &url, &redis.url(), *in_flight).spawn().unwrap()],
        By::Queue { script, processes, settings } => (0..*processes)
            .map(|_| queue(peers, script, "run", &url, &receiver.url, rows, settings).spawn().unwrap())
            .collect(),
    };
    let began = Instant::now();
    while receiver.arrivals().await.count < rows && began.elapsed() < LIMIT {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let arrivals = receiver.arrivals().await;
    for process in &mut running {
        process.kill().await.unwrap();
    }
    drop(snapshot);
    let rate = arrivals.rate();
    println!("  {}{}: {rate:.0}/s", contestant.name, if held { ", a snapshot is held" } else { "" });
    rate
}

fn outbox(home: &TempDir, url: &str, redis: &str, in_flight: u32) -> Command {
    let mut outbox = Command::new(outbox_binary());
    outbox.args(["run", "--set", "admin.listen=127.0.0.1:0", "--database", url]);
    outbox.args(["--set", &format!("lease.url={redis}")]);
    outbox.args(["--set", &format!("dispatch.max_in_flight={in_flight}")]);
    outbox.current_dir(home.path()).stderr(Stdio::null()).kill_on_drop(true);
    outbox
}

fn queue(
    peers: &Path,
    script: &str,
    does: &str,
    url: &str,
    target: &str,
    rows: usize,
    settings: &serde_json::Value,
) -> Command {
    let mut node = Command::new(peers.join("node_modules/.bin/node"));
    node.arg(peers.join(script)).arg(does).stdout(Stdio::null()).kill_on_drop(true);
    node.env("DATABASE_URL", url).env("TARGET", target).env("ROWS", rows.to_string());
    node.env("SETTINGS", settings.to_string());
    node
}

async fn fill(url: &str, target: &str, rows: usize) {
    let database = Database::connect(&ConnectOptions { url, schema: None, connections: 2 }).await.unwrap();
    database.migrate("default").await.unwrap();
    database.close().await;
    let mut connection = PgConnection::connect(url).await.unwrap();
    let insert = format!(
        "INSERT INTO outbox (channel, target, payload)
         SELECT 'http', '{target}', '{{\"order\": 1, \"text\": \"{}\"}}' FROM generate_series(1, {rows})",
        "x".repeat(225)
    );
    for sql in [insert.as_str(), "VACUUM ANALYZE", "CHECKPOINT"] {
        sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut connection).await.unwrap();
    }
}

/// A transaction that has read something and goes on, for as long as its connection is there.
async fn snapshot(url: &str) -> PgConnection {
    let mut connection = PgConnection::connect(url).await.unwrap();
    sqlx::raw_sql("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM pg_class")
        .execute(&mut connection)
        .await
        .unwrap();
    connection
}

/// The receiver of `outbox bench`, a process of its own: it does next to nothing, and so takes little from who sends.
struct Receiver {
    url: String,
    questions: ChildStdin,
    answers: Lines<BufReader<ChildStdout>>,
    _process: Child,
}

/// What came, and when: microseconds since the receiver was started.
#[derive(Deserialize)]
struct Arrivals {
    count: usize,
    first: u64,
    last: u64,
}

impl Arrivals {
    #[allow(clippy::cast_precision_loss, reason = "a rate is rounded anyhow")]
    fn rate(&self) -> f64 {
        self.count as f64 * 1e6 / (self.last - self.first).max(1) as f64
    }
}

impl Receiver {
    async fn start() -> Self {
        let mut part = Command::new(outbox_binary());
        part.arg("bench-part").stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        let mut process = part.spawn().unwrap();
        let questions = process.stdin.take().unwrap();
        let answers = BufReader::new(process.stdout.take().unwrap()).lines();
        let mut receiver = Self { url: String::new(), questions, answers, _process: process };
        let orders = json!({ "Receive": { "Webhooks": { "thinking": Duration::ZERO } } });
        let (url, _): (String, String) = receiver.ask(&orders.to_string()).await;
        receiver.url = url;
        receiver
    }

    async fn arrivals(&mut self) -> Arrivals {
        self.ask("report").await
    }

    async fn ask<T: serde::de::DeserializeOwned>(&mut self, question: &str) -> T {
        self.questions.write_all(format!("{question}\n").as_bytes()).await.unwrap();
        serde_json::from_str(&self.answers.next_line().await.unwrap().unwrap()).unwrap()
    }
}
