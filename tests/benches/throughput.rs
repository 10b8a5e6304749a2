//! How fast due rows are drained, beside what the same machine does at most:
//!
//! ```text
//! cargo bench --bench throughput -- postgres 100000
//! ```
//!
//! H, raw HTTP: a bare client against the same receiver at the same concurrency. D, raw claim and mark: the
//! store alone, nothing sent. R, the dispatcher: poll, claim, send and mark. Each is measured three times, in
//! turn; the medians are printed. The servers are this bench's own, and PostgreSQL and MariaDB flush each commit.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    missing_docs,
    reason = "a bench prints, and stops where it cannot go on"
)]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use outbox_adapters::{Lease, RedisLease, TableLease};
use outbox_dispatcher::assemble::{Parts, Settings};
use outbox_dispatcher::clock::BootClock;
use outbox_dispatcher::config::{Config, Sources};
use outbox_dispatcher::metrics::Metrics;
use outbox_dispatcher::poll::{Dispatcher, LoopSettings};
use outbox_dispatcher::wiring;
use outbox_schema::{
    AttemptRecord, ClaimId, ClaimRequest, ConnectOptions, Database, Holder, Mark, Shard, TermId, Verdict,
};
use outbox_tests::servers;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

const IN_FLIGHT: usize = 512;
const ROUNDS: usize = 3;

#[tokio::main]
async fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    let which = words.first().map_or("postgres", String::as_str).to_owned();
    let rows: usize = words.get(1).map_or(50_000, |rows| rows.parse().unwrap());
    let receiver = Receiver::start().await;
    let (mut http, mut store, mut whole) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        http.push(raw_http(&receiver, rows).await);
        store.push(raw_store(&Outbox::with_rows(&which, rows, &receiver).await, rows).await);
        whole.push(dispatcher(&Outbox::with_rows(&which, rows, &receiver).await, rows, &receiver).await);
    }
    let [http, store, whole] = [http, store, whole].map(median);
    let composed = 1.0 / (1.0 / http + 1.0 / store);
    println!("{which}: {rows} rows of 250 bytes, {IN_FLIGHT} in flight, medians of {ROUNDS}");
    println!("H raw HTTP            {http:>9.0}/s");
    println!("D raw claim and mark  {store:>9.0}/s");
    println!(
        "R dispatcher          {whole:>9.0}/s   R/H {:.2}  R/D {:.2}  R of 1/(1/H+1/D) {:.2}",
        whole / http,
        whole / store,
        whole / composed
    );
}

fn median(mut rates: Vec<f64>) -> f64 {
    rates.sort_by(f64::total_cmp);
    rates[rates.len() / 2]
}

fn rate(rows: usize, began: Instant) -> f64 {
    #[allow(clippy::cast_precision_loss, reason = "far fewer rows than 2^52")]
    let rows = rows as f64;
    rows / began.elapsed().as_secs_f64()
}

/// Answers every request with 200 and counts them: as little HTTP/1.1 as does that.
struct Receiver {
    url: String,
    count: Arc<AtomicUsize>,
}

impl Receiver {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/hook", listener.local_addr().unwrap());
        let count = Arc::new(AtomicUsize::new(0));
        let counter = count.clone();
        tokio::spawn(async move {
            loop {
                let (mut socket, _) = listener.accept().await.unwrap();
                socket.set_nodelay(true).unwrap();
                let counter = counter.clone();
                tokio::spawn(async move {
                    let mut seen = Vec::with_capacity(4096);
                    while let Ok(1..) = socket.read_buf(&mut seen).await {
                        while let Some(length) = whole_request(&seen) {
                            seen.drain(..length);
                            counter.fetch_add(1, Ordering::Relaxed);
                            if socket.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await.is_err() {
                                return;
                            }
                        }
                    }
                });
            }
        });
        Self { url, count }
    }
}

fn whole_request(seen: &[u8]) -> Option<usize> {
    let head = seen.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
    let text = std::str::from_utf8(&seen[..head]).ok()?;
    let length = text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
    });
    let whole = head + length.unwrap_or(0);
    (seen.len() >= whole).then_some(whole)
}

async fn raw_http(receiver: &Receiver, rows: usize) -> f64 {
    outbox_adapters::ensure_crypto_provider();
    let client =
        reqwest::Client::builder().no_proxy().tcp_nodelay(true).pool_max_idle_per_host(usize::MAX).build().unwrap();
    let left = Arc::new(AtomicUsize::new(rows));
    let began = Instant::now();
    let senders: Vec<_> = (0..IN_FLIGHT)
        .map(|_| {
            let (client, url, left) = (client.clone(), receiver.url.clone(), left.clone());
            tokio::spawn(async move {
                let body = payload();
                while left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok() {
                    let request = client.post(&url).header("content-type", "application/json").body(body.clone());
                    request.send().await.unwrap().bytes().await.unwrap();
                }
            })
        })
        .collect();
    for sender in senders {
        sender.await.unwrap();
    }
    rate(rows, began)
}

fn payload() -> String {
    format!("{{\"order\": 1, \"text\": \"{}\"}}", "x".repeat(225))
}

/// A migrated outbox with due rows and nothing else.
struct Outbox {
    database: Database,
    lease: Arc<dyn Lease>,
    config: Config,
}

impl Outbox {
    async fn with_rows(which: &str, rows: usize, receiver: &Receiver) -> Self {
        let url = match which {
            "postgres" => servers::postgres().await.durable().await.database().await.url,
            "mariadb" => servers::mariadb().await.database().await.url,
            "sqlite" => servers::sqlite().url,
            other => panic!("no database {other}: postgres, mariadb or sqlite"),
        };
        let flags = vec![("database.url".to_owned(), url.clone())];
        let config = Config::load(&Sources { flags, ..Sources::default() }).unwrap();
        let database = Database::connect(&ConnectOptions { url: &url, schema: None, connections: 8 }).await.unwrap();
        database.migrate("default").await.unwrap();
        insert(&database, rows, &receiver.url).await;
        let lease: Arc<dyn Lease> = match &database {
            Database::Sqlite(pool) => Arc::new(TableLease::Sqlite(pool.clone())),
            Database::Postgres(_) | Database::MySql(_) => {
                Arc::new(RedisLease::new(&servers::redis().await.url(), "", &uuid::Uuid::new_v4().to_string()).unwrap())
            }
        };
        Self { database, lease, config }
    }
}

async fn insert(database: &Database, rows: usize, url: &str) {
    let (rows, payload) = (i64::try_from(rows).unwrap(), payload());
    match database {
        Database::Postgres(pool) => {
            let sql = "INSERT INTO outbox (channel, target, payload) SELECT 'http', $1, $2::jsonb FROM generate_series(1, $3)";
            sqlx::query(sql).bind(url).bind(payload).bind(rows).execute(pool).await.unwrap();
            sqlx::query("VACUUM ANALYZE outbox").execute(pool).await.unwrap();
            sqlx::query("CHECKPOINT").execute(pool).await.unwrap();
        }
        Database::MySql(pool) => {
            let sql = "INSERT INTO outbox (channel, target, payload) \
                       WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?) SELECT 'http', ?, ? FROM n";
            let mut connection = pool.acquire().await.unwrap();
            // MariaDB's name for what MySQL calls cte_max_recursion_depth.
            sqlx::query("SET SESSION max_recursive_iterations = 100000000").execute(&mut *connection).await.unwrap();
            sqlx::query(sql).bind(rows).bind(url).bind(payload).execute(&mut *connection).await.unwrap();
        }
        Database::Sqlite(pool) => {
            let sql = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?) \
                       INSERT INTO outbox (channel, target, payload) SELECT 'http', ?, ? FROM n";
            sqlx::query(sql).bind(rows).bind(url).bind(payload).execute(pool).await.unwrap();
        }
    }
}

/// Claims and marks everything, one batch after the other, with nothing sent.
async fn raw_store(outbox: &Outbox, rows: usize) -> f64 {
    let store = outbox.database.store();
    let channels =
        outbox_dispatcher::channels::Channels::new(wiring::channels(&outbox.config).unwrap()).terms(IN_FLIGHT);
    let holder = Holder::new("bench", "1");
    let opened = store.begin_term(Shard(0), &holder, &channels).await.unwrap();
    let term = TermId { shard: Shard(0), epoch: opened.epoch, holder: holder.clone() };
    let began = Instant::now();
    let mut left = rows;
    while left > 0 {
        let claim = ClaimId::mint();
        let request = ClaimRequest {
            claim,
            limit: u32::try_from(IN_FLIGHT).unwrap(),
            max_bytes: 64 << 20,
            oversize: true,
            excluded: &[],
            channels: &channels,
            closed: &[],
            rooms: &[],
            unknown_channel_delay: Duration::from_mins(1),
            lease_ttl: Duration::from_secs(10),
            margin: Duration::from_secs(1),
        };
        let claimed = store.claim(&term, &request).await.unwrap();
        let marks: Vec<Mark> = claimed
            .messages
            .iter()
            .map(|message| Mark {
                claim,
                id: message.id(),
                revision: message.revision(),
                verdict: Verdict::Success { receipt: None },
                pause: None,
                status_code: Some(200),
                error: None,
                attempt: AttemptRecord {
                    number: 1,
                    epoch: term.epoch,
                    holder: holder.clone(),
                    started: began,
                    duration: Duration::ZERO,
                    outcome: "delivered",
                    excerpt: None,
                },
            })
            .collect();
        left -= marks.len();
        store.mark(&marks, &[claim]).await.unwrap();
    }
    let rate = rate(rows, began);
    outbox.database.close().await;
    rate
}

async fn dispatcher(outbox: &Outbox, rows: usize, receiver: &Receiver) -> f64 {
    let channels = wiring::channels(&outbox.config).unwrap();
    let names: Vec<_> = channels.iter().map(|channel| channel.name.clone()).collect();
    let resource = opentelemetry_sdk::Resource::builder_empty().build();
    let metrics = Metrics::new(names.iter().map(String::as_str), &[Shard(0)], resource, None).unwrap();
    let before = receiver.count.load(Ordering::Relaxed);
    let dispatcher = Dispatcher::assemble(Parts {
        store: outbox.database.store(),
        destinations: Arc::new(outbox.database.clone()),
        lease: outbox.lease.clone(),
        channels,
        clock: Arc::new(BootClock),
        metrics: Arc::new(metrics),
        retention: None,
        settings: Settings {
            lease_ttl: Duration::from_secs(10),
            term: Duration::from_secs(20),
            poll_interval: Duration::from_secs(1),
            max_in_flight: IN_FLIGHT,
            max_bytes: 64 << 20,
            run: LoopSettings { drain_timeout: Duration::from_secs(25), wakeup: false, until_empty: true },
        },
    });
    let began = Instant::now();
    let running = tokio::spawn(async move { dispatcher.run(CancellationToken::new()).await });
    while receiver.count.load(Ordering::Relaxed) < before + rows {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let rate = rate(rows, began);
    running.await.unwrap();
    assert_eq!(receiver.count.load(Ordering::Relaxed) - before, rows, "each row is sent once");
    outbox.database.close().await;
    rate
}
