//! The three measurements that take turns: raw HTTP, the raw database, the product.

use std::time::{Duration, Instant};

use anyhow::bail;
use outbox_console::text::Advance;
use outbox_store::Database;

use super::Plan;
use super::counters::Counters;
use super::grounds::{Grounds, Site};
use super::number::{Percentiles, float};
use super::part::book::Arrivals;
use super::part::receiver::Receiver;
use super::part::{Orders, Part, bare, poster};
use super::replicas::{Manner, Replicas};
use super::usage::Usage;
use crate::counters::LOOK;

/// The longest time without a delivery. After that the bench gives up.
const STALL: Duration = Duration::from_mins(1);

/// The things that every scenario needs.
#[derive(Debug)]
pub(super) struct Bench<'a> {
    pub(super) grounds: &'a Grounds,
    pub(super) plan: &'a Plan,
    pub(super) receiver: Receiver,
    /// Whether the database is on this machine.
    pub(super) one_machine: bool,
}

/// The result for raw HTTP.
#[derive(Debug)]
pub(super) struct Posted {
    /// Requests a second.
    pub(super) rate: f64,
    /// The durations of the requests.
    pub(super) took: Percentiles,
    /// The processor time for each request, in microseconds.
    pub(super) cpu: Option<f64>,
}

/// The result for the product.
#[derive(Debug)]
pub(super) struct Delivered {
    /// The requests that arrived, and when.
    pub(super) arrivals: Arrivals,
    /// The durations of the attempts.
    pub(super) attempts: Percentiles,
    /// The processor time for each message, in microseconds.
    pub(super) cpu: Option<f64>,
    /// The peak memory of the largest replica, in bytes.
    pub(super) peak: Option<f64>,
    /// The work of the database for each message.
    pub(super) spent: Counters,
    /// The number of terms that began.
    pub(super) terms: f64,
}

impl Delivered {
    /// Messages a second, from the first message to the last.
    pub(super) fn rate(&self) -> f64 {
        self.arrivals.rate()
    }
}

impl Bench<'_> {
    /// H: a bare client against the same receiver, at the same concurrency.
    pub(super) async fn raw_http(&mut self, requests: usize) -> anyhow::Result<Posted> {
        self.receiver.begin().await?;
        let (urls, in_flight) = (vec![self.receiver.url.clone()], self.plan.in_flight);
        let orders = poster::Orders { urls, requests, in_flight, clients: 1, tls_ca: None };
        let posted: poster::Posted = Part::done(&Orders::Post(orders)).await?;
        let rate = self.receiver.arrivals().await?.rate();
        Ok(Posted { rate, took: posted.took, cpu: posted.usage.cpu_micros.map(|micros| micros / float(requests)) })
    }

    /// D: claims and marks in a bare table beside the outbox. Returns rows a second, and the processor time of the
    /// client for each row, in microseconds.
    pub(super) async fn raw_database(&self, site: &Site, rows: usize) -> anyhow::Result<(f64, Option<f64>)> {
        let (url, schema, batch) = (site.url.clone(), site.schema.clone(), self.plan.in_flight);
        let measured: bare::Measured = Part::done(&Orders::Bare(bare::Orders { url, schema, rows, batch })).await?;
        Ok((measured.rate, measured.usage.cpu_micros.map(|micros| micros / float(rows))))
    }

    /// R: real replicas deliver the rows that are due at `site`.
    pub(super) async fn deliver(&mut self, site: &Site, manner: &Manner, rows: usize) -> anyhow::Result<Delivered> {
        self.deliver_watched(site, manner, rows, &mut |_, _| ()).await
    }

    /// Delivers like [`Self::deliver`]. On the way, tells `watch` how many requests have come and how much the replicas
    /// have taken.
    pub(super) async fn deliver_watched(
        &mut self,
        site: &Site,
        manner: &Manner,
        rows: usize,
        watch: &mut (dyn FnMut(u64, Usage) + Send),
    ) -> anyhow::Result<Delivered> {
        let (before, epoch) = (Counters::of(&site.database).await, epoch(&site.database).await?);
        self.receiver.begin().await?;
        let mut replicas = Replicas::start(self.grounds, site, manner).await?;
        self.wait_for(rows, &mut replicas, watch).await?;
        while claims(&site.database).await? > 0 {
            replicas.check()?;
            tokio::time::sleep(LOOK).await;
        }
        let usage = replicas.usage();
        let attempts = replicas.attempts().await?;
        let terms = epoch_since(&site.database, epoch).await?;
        replicas.stop().await?;
        let arrivals = self.receiver.arrivals().await?;
        let spent = Counters::after(&site.database, before).await.per_message(before, arrivals.count);
        let cpu = usage.cpu_micros.map(|micros| micros / float(arrivals.count.max(1)));
        Ok(Delivered { arrivals, attempts, cpu, peak: usage.peak_bytes, spent, terms })
    }

    /// Waits until `rows` requests have come. A terminal shows how many have.
    pub(super) async fn wait_for(
        &mut self,
        rows: usize,
        replicas: &mut Replicas,
        watch: &mut (dyn FnMut(u64, Usage) + Send),
    ) -> anyhow::Result<()> {
        let (mut seen, mut moved) = (0, Instant::now());
        let mut advance = Advance::on_terminal("delivered");
        loop {
            let count = self.receiver.count().await?;
            watch(count, replicas.usage());
            if count == 0 {
                // The rate is that of the deliveries, without the start of the replicas.
                advance.begin_anew();
            } else {
                advance.tell(count, Some(rows as u64));
            }
            if count >= rows as u64 {
                return Ok(());
            }
            if count > seen {
                (seen, moved) = (count, Instant::now());
            } else if moved.elapsed() > STALL {
                bail!("{count} of {rows} messages were delivered, and then none for {STALL:?}");
            }
            replicas.check()?;
            tokio::time::sleep(LOOK).await;
        }
    }
}

async fn claims(database: &Database) -> sqlx::Result<i64> {
    number(database, "SELECT count(*) FROM outbox_claim").await
}

/// The epoch of the last term that began.
pub(super) async fn epoch(database: &Database) -> sqlx::Result<i64> {
    number(database, "SELECT epoch FROM outbox_term WHERE shard = 0").await
}

async fn epoch_since(database: &Database, before: i64) -> sqlx::Result<f64> {
    Ok(float(epoch(database).await? - before))
}

async fn number(database: &Database, sql: &'static str) -> sqlx::Result<i64> {
    match database {
        Database::Postgres(pool) => sqlx::query_scalar(sql).fetch_one(pool).await,
        Database::MySql(pool) => sqlx::query_scalar(sql).fetch_one(pool).await,
        Database::Sqlite(pool) => sqlx::query_scalar(sql).fetch_one(pool).await,
    }
}
