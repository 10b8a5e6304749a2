//! An application that commits one row at a time, at a steady rate, without waiting for the previous commit.
//!
//! It commits into the outbox, and the receiver measures the time since the commit. Or it commits into a bare table and
//! sends a bare request right afterwards: the product's latency is compared with that.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use futures_util::future::try_join_all;
use outbox_adapters::{Hints as _, RedisHints};
use outbox_store::{ConnectOptions, Database};
use serde::{Deserialize, Serialize};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::MissedTickBehavior;

use super::poster::bare_client;
use crate::number::Percentiles;
use crate::rows;

/// The member of a body that holds the time of the commit, in microseconds since 1970.
const COMMITTED: &str = "\"committed_us\"";

/// The number of commits, their rate and their place. No `Debug`: a password must not get into a log.
#[derive(Serialize, Deserialize)]
pub(crate) struct Orders {
    /// The database, with its password.
    pub(crate) url: String,
    /// The schema, on PostgreSQL.
    pub(crate) schema: Option<String>,
    /// The target of the messages.
    pub(crate) target: String,
    /// The number of commits.
    pub(crate) commits: usize,
    /// The time from one commit to the next.
    pub(crate) every: Duration,
    /// The number of tenants that take turns. 0: the messages name none.
    pub(crate) tenants: usize,
    /// Whether each tenant has a host of its own: an address of loopback in place of that in the target.
    pub(crate) hosts: bool,
    /// The number of connections.
    pub(crate) connections: u32,
    /// Whether to commit into a bare table, and send a bare request after each commit.
    pub(crate) bare: bool,
    /// The place for the hint after each commit. None: no hints.
    pub(crate) hints: Option<Hints>,
}

/// The Redis where an application gives hints to the poller.
#[derive(Serialize, Deserialize)]
pub(crate) struct Hints {
    /// The URL of the Redis, with its password.
    pub(crate) url: String,
    /// The authority that signed the certificate of the Redis.
    pub(crate) tls_ca: String,
    /// The UUID of the outbox.
    pub(crate) outbox_id: String,
}

/// When a Redis that falls silent is given up.
const SILENCE: Duration = Duration::from_secs(10);

/// The result.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Committed {
    /// The time from before the insert to after the commit. With a bare table, to after the answer to the request.
    pub(crate) took: Percentiles,
    /// Commits a second.
    pub(crate) rate: f64,
}

pub(super) async fn commit(orders: Orders) -> anyhow::Result<Committed> {
    let Orders { url, schema, target, commits, every, tenants, hosts, connections, bare, hints } = orders;
    let database = Database::connect(&ConnectOptions { url: &url, schema: schema.as_deref(), connections }).await?;
    open_all(&database, connections).await?;
    let of = |Hints { url, tls_ca, outbox_id }: Hints| RedisHints::new(&url, &tls_ca, &outbox_id, SILENCE);
    let hints = hints.map(of).transpose()?;
    let application = Application::new(database, connections, target, bare, hints).await?;
    let mut tick = tokio::time::interval(every);
    tick.set_missed_tick_behavior(MissedTickBehavior::Burst);
    let (began, mut running) = (Instant::now(), JoinSet::new());
    for number in 0..commits {
        tick.tick().await;
        let application = application.clone();
        let tenant = (tenants > 0).then(|| number % tenants);
        running.spawn(async move { application.commit_one(tenant, hosts).await });
    }
    let rate = crate::number::float(commits) / began.elapsed().as_secs_f64();
    let mut took = Vec::with_capacity(commits);
    for one in running.join_all().await {
        took.push(u32::try_from(one?.as_micros()).unwrap_or(u32::MAX));
    }
    Ok(Committed { took: Percentiles::of(took), rate })
}

/// Opens all connections before the clock starts: a running application has its connections open.
async fn open_all(database: &Database, connections: u32) -> sqlx::Result<()> {
    let all = 0..connections;
    match database {
        Database::Postgres(pool) => try_join_all(all.map(|_| pool.acquire())).await.map(drop),
        Database::MySql(pool) => try_join_all(all.map(|_| pool.acquire())).await.map(drop),
        Database::Sqlite(pool) => try_join_all(all.map(|_| pool.acquire())).await.map(drop),
    }
}

#[derive(Clone)]
struct Application {
    database: Database,
    client: reqwest::Client,
    target: String,
    bare: bool,
    hints: Option<Arc<RedisHints>>,
    /// The queue for a connection. The pool's own queue would give up where the server is too slow for the rate.
    turns: Arc<Semaphore>,
}

impl Application {
    async fn new(
        database: Database,
        connections: u32,
        target: String,
        bare: bool,
        hints: Option<RedisHints>,
    ) -> anyhow::Result<Self> {
        let client = bare_client()?;
        if bare {
            let table = |key: &str| {
                sqlx::AssertSqlSafe(format!("CREATE TABLE bench_message (id {key}, payload text NOT NULL)"))
            };
            match &database {
                Database::Postgres(pool) => {
                    sqlx::raw_sql(table("bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY")).execute(pool).await?;
                }
                Database::MySql(pool) => {
                    sqlx::raw_sql(table("bigint AUTO_INCREMENT PRIMARY KEY")).execute(pool).await?;
                }
                Database::Sqlite(pool) => {
                    sqlx::raw_sql(table("INTEGER PRIMARY KEY")).execute(pool).await?;
                }
            }
        }
        let (turns, hints) = (Arc::new(Semaphore::new(connections as usize)), hints.map(Arc::new));
        Ok(Self { database, client, target, bare, hints, turns })
    }

    async fn commit_one(&self, tenant: Option<usize>, hosts: bool) -> anyhow::Result<Duration> {
        let began = Instant::now();
        let body = dated_payload();
        if self.bare {
            self.insert("INSERT INTO bench_message (payload) VALUES ", &[&body]).await?;
            let request = self.client.post(&self.target).header("content-type", "application/json").body(body);
            request.send().await?.error_for_status()?.bytes().await?;
        } else {
            match tenant {
                None => {
                    let values = ["http", &self.target, &body];
                    self.insert("INSERT INTO outbox (channel, target, payload) VALUES ", &values).await?;
                }
                Some(number) => {
                    let host = if hosts { rows::host(number) } else { rows::LOOPBACK.to_owned() };
                    let (target, tenant) = (self.target.replacen(rows::LOOPBACK, &host, 1), format!("quiet {number}"));
                    let values = ["http", &target, &body, &tenant];
                    self.insert("INSERT INTO outbox (channel, target, payload, tenant) VALUES ", &values).await?;
                }
            }
        }
        let took = began.elapsed();
        if let Some(hints) = &self.hints {
            hints.give().await?;
        }
        Ok(took)
    }

    async fn insert(&self, into: &str, values: &[&str]) -> anyhow::Result<()> {
        let _turn = self.turns.acquire().await?;
        let marks = |mark: &dyn Fn(usize, &str) -> String| {
            let marks: Vec<_> = values.iter().enumerate().map(|(place, value)| mark(place, value)).collect();
            sqlx::AssertSqlSafe(format!("{into}({})", marks.join(", ")))
        };
        match &self.database {
            Database::Postgres(pool) => {
                let json = |value: &str| if !self.bare && value.starts_with('{') { "::jsonb" } else { "" };
                let sql = marks(&|place, value| format!("${}::text{}", place + 1, json(value)));
                values.iter().fold(sqlx::query(sql), |sql, value| sql.bind(*value)).execute(pool).await?;
            }
            Database::MySql(pool) => {
                let sql = marks(&|_, _| "?".to_owned());
                values.iter().fold(sqlx::query(sql), |sql, value| sql.bind(*value)).execute(pool).await?;
            }
            Database::Sqlite(pool) => {
                let sql = marks(&|_, _| "?".to_owned());
                values.iter().fold(sqlx::query(sql), |sql, value| sql.bind(*value)).execute(pool).await?;
            }
        }
        Ok(())
    }
}

fn now_micros() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}

/// A payload of about 250 bytes that holds the present time.
fn dated_payload() -> String {
    format!("{{{COMMITTED}: {}, \"text\": \"{}\"}}", now_micros(), "x".repeat(200))
}

/// The microseconds since the time that the body names. Each database writes JSON in its own way, so only the digits
/// after the name are read.
pub(super) fn age_of(body: &[u8]) -> Option<u32> {
    let place = body.windows(COMMITTED.len()).position(|name| name == COMMITTED.as_bytes())?;
    let digits: String = body[place + COMMITTED.len()..]
        .iter()
        .map(|&byte| char::from(byte))
        .skip_while(|c| !c.is_ascii_digit())
        .take_while(char::is_ascii_digit)
        .collect();
    let age = now_micros().saturating_sub(digits.parse().ok()?);
    Some(u32::try_from(age).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_tells_its_age_in_whatever_way_it_is_written() {
        let age = age_of(dated_payload().as_bytes());
        assert!(age.is_some_and(|age| age < 60_000_000), "{age:?}");
        assert!(age_of(format!("{{\"text\":\"x\",{COMMITTED}:17}}").as_bytes()).is_some());
        assert_eq!(age_of(b"{\"text\": \"x\"}"), None);
    }
}
