//! The usual scheduled job with a lock library, as the fault suite must be able to convict it: a lock of fixed length,
//! rows read, sent and then marked, by id. Nobody should run it for anything else.
//!
//! Usage: `naive-poller DATABASE-URL REDIS-URL RECEIVER-URL REPLICA LOCK-SECONDS`

#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "a program of the tests")]

use std::process::ExitCode;
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use sqlx::PgPool;
use sqlx::postgres::PgPoolOptions;

const LOCK: &str = "naive-poller";

/// How often the job is scheduled.
const SCHEDULE: Duration = Duration::from_secs(1);

/// Rows of one run of the job.
const ROWS: i64 = 100;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, database, redis, receiver, replica, lock] = arguments.as_slice() else {
        eprintln!("usage: naive-poller DATABASE-URL REDIS-URL RECEIVER-URL REPLICA LOCK-SECONDS");
        return ExitCode::from(2);
    };
    outbox_adapters::ensure_crypto_provider();
    let job = Job {
        pool: PgPoolOptions::new().max_connections(1).connect(database).await.unwrap(),
        client: reqwest::Client::builder().no_proxy().timeout(Duration::from_mins(1)).build().unwrap(),
        receiver: receiver.clone(),
        replica: replica.clone(),
    };
    let client = redis::Client::open(redis.as_str()).unwrap();
    let mut locks = client.get_multiplexed_async_connection().await.unwrap();
    loop {
        if locked(&mut locks, replica, lock).await {
            job.run().await;
            let _: Result<(), _> = redis::cmd("DEL").arg(LOCK).query_async(&mut locks).await;
        }
        tokio::time::sleep(SCHEDULE).await;
    }
}

async fn locked(locks: &mut MultiplexedConnection, replica: &str, seconds: &str) -> bool {
    let mut set = redis::cmd("SET");
    set.arg(LOCK).arg(replica).arg("NX").arg("EX").arg(seconds);
    set.query_async::<Option<String>>(locks).await.ok().flatten().is_some()
}

struct Job {
    pool: PgPool,
    client: reqwest::Client,
    receiver: String,
    replica: String,
}

impl Job {
    async fn run(&self) {
        let due = "SELECT id, idempotency_key, target, payload::text FROM outbox \
                   WHERE status = 'PENDING' AND available_at <= now() ORDER BY id LIMIT $1";
        let rows: Vec<(i64, String, String, String)> =
            sqlx::query_as(due).bind(ROWS).fetch_all(&self.pool).await.unwrap_or_default();
        for (id, key, target, payload) in rows {
            let sent = self.send(&key, &target, payload).await;
            let mark = if sent {
                "UPDATE outbox SET status = 'SUCCESS', attempts = attempts + 1, revision = 1 WHERE id = $1"
            } else {
                "UPDATE outbox SET attempts = attempts + 1 WHERE id = $1"
            };
            let _ = sqlx::query(mark).bind(id).execute(&self.pool).await;
        }
    }

    async fn send(&self, key: &str, target: &str, payload: String) -> bool {
        let post = self.client.post(format!("{}{target}", self.receiver)).body(payload);
        let post = post.header("idempotency-key", key).header("x-replica", &self.replica);
        post.send().await.is_ok_and(|answer| answer.status().is_success())
    }
}
