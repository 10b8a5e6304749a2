//! The time from an application's commit to the receiver. Beside it stands the time of a bare commit and a bare
//! request, one after the other: the cost for an application that calls the receiver itself.

use std::time::{Duration, Instant};

use anyhow::bail;

use crate::grounds::Site;
use crate::measure::Bench;
use crate::number::{Percentiles, float, median_of};
use crate::pace::Pace;
use crate::part::committer::{Committed, Hints};
use crate::part::{Orders, Part, committer};
use crate::replicas::{Manner, Replicas};
use crate::report::{Figure, Unit};
use crate::rows::{self, Rows};
use crate::scenario::Measure;
use outbox_config::{LeaseProvider, Wakeup};

/// The time from one commit to the next.
const EVERY: Duration = Duration::from_millis(1);

/// The time between lone commits, which find the poller idle. There is one lone commit for this many others.
const EVERY_LONE: Duration = Duration::from_millis(100);
const TO_A_LONE_ONE: usize = 100;

/// The connections of the application.
const CONNECTIONS: u32 = 16;

/// How often the bench looks how many messages have arrived, and the longest wait after the last commit.
const LOOK: Duration = Duration::from_millis(20);
const PATIENCE: Duration = Duration::from_mins(1);

struct Round {
    bare: Committed,
    commit: Committed,
    product: Percentiles,
    lone: Percentiles,
}

pub(super) async fn run(bench: &mut Bench<'_>, commits: usize) -> anyhow::Result<Vec<Figure>> {
    let mut rounds = Vec::new();
    let mut pace = Pace::of("latency", bench.plan.rounds);
    for _ in 0..bench.plan.rounds {
        let site = bench.grounds.site().await?;
        let bare = commit(bench, &site, commits, EVERY, Tenants::None, true).await?;
        let (commit, product) = through_the_outbox(bench, &site, commits, EVERY).await?;
        let (_, lone) = through_the_outbox(bench, &site, commits.div_ceil(TO_A_LONE_ONE), EVERY_LONE).await?;
        bench.grounds.remove(site).await?;
        let p50 = [bare.took.p50, product.p50, lone.p50].map(|p50| format!("{p50:.0} µs"));
        pace.round_is_over(&format!("bare {}, the product {}, of a lone commit {} (p50)", p50[0], p50[1], p50[2]));
        rounds.push(Round { bare, commit, product, lone });
    }
    let bare = Percentiles::median(&rounds, |round| round.bare.took);
    let alone = Percentiles::median(&rounds, |round| round.commit.took);
    let product = Percentiles::median(&rounds, |round| round.product);
    let lone = Percentiles::median(&rounds, |round| round.lone);
    let dialect = bench.grounds.dialect();
    let figure = |name: &str, value: f64| Figure::new(name, Unit::Microseconds, value);
    let beside = "commit and POST";
    Ok(vec![
        figure("commit to receiver, p50", product.p50)
            .beside(beside, bare.p50)
            .goal(Measure::LatencyMedian, dialect)
            .rounds(rounds.iter().map(|round| round.product.p50)),
        figure("commit to receiver, p95", product.p95).beside(beside, bare.p95),
        figure("commit to receiver, p99", product.p99)
            .beside(beside, bare.p99)
            .goal(Measure::LatencySlowest, dialect)
            .rounds(rounds.iter().map(|round| round.product.p99)),
        figure("of that the commit, p50", alone.p50),
        figure("a lone commit to receiver, p50", lone.p50).rounds(rounds.iter().map(|round| round.lone.p50)),
        figure("a lone commit to receiver, p99", lone.p99),
        Figure::new("commits", Unit::PerSecond, median_of(&rounds, |round| round.commit.rate))
            .beside("bare ones", median_of(&rounds, |round| round.bare.rate)),
    ])
}

/// Whose messages are committed.
#[derive(Clone, Copy)]
pub(super) enum Tenants {
    /// Messages without a tenant.
    None,
    /// So many tenants take turns.
    Of(usize, Hosts),
}

/// Where the messages of tenants go.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Hosts {
    /// To one host.
    Shared,
    /// To a host for each tenant.
    Own,
}

/// Commits one row after the other.
pub(super) async fn commit(
    bench: &Bench<'_>,
    site: &Site,
    commits: usize,
    every: Duration,
    tenants: Tenants,
    bare: bool,
) -> anyhow::Result<Committed> {
    let config = &bench.grounds.config;
    let hints = match (config.dispatch.wakeup, &config.lease.provider) {
        (Wakeup::Redis, LeaseProvider::Redis { url, tls_ca }) if !bare => {
            Some(Hints { url: url.expose().to_owned(), tls_ca: tls_ca.clone(), outbox_id: site.outbox_id.clone() })
        }
        _ => None,
    };
    let (url, schema, target) = (site.url.clone(), site.schema.clone(), bench.receiver.url.clone());
    // SQLite has one writer, so several connections would only wait for each other.
    let connections = if url.starts_with("sqlite") { 1 } else { CONNECTIONS };
    let (tenants, hosts) = match tenants {
        Tenants::None => (0, false),
        Tenants::Of(number, of) => (number, of == Hosts::Own),
    };
    let orders = committer::Orders { url, schema, target, commits, every, tenants, hosts, connections, bare, hints };
    Part::done(&Orders::Commit(orders)).await
}

/// Commits through the outbox. Returns the times of the commits, and the times from the beginning of each commit to the
/// arrival of its message.
async fn through_the_outbox(
    bench: &mut Bench<'_>,
    site: &Site,
    commits: usize,
    every: Duration,
) -> anyhow::Result<(Committed, Percentiles)> {
    bench.receiver.begin().await?;
    let mut replicas = Replicas::start(bench.grounds, site, &Manner::plain(bench.plan.in_flight)).await?;
    // The arrival of this first message shows that the replica polls.
    rows::insert(&site.database, Rows::Due, 1, &bench.receiver.url).await?;
    arrived(bench, &mut replicas, 1).await?;
    bench.receiver.begin().await?;
    let committed = commit(bench, site, commits, every, Tenants::None, false).await?;
    arrived(bench, &mut replicas, commits).await?;
    let latency = bench.receiver.arrivals().await?.latency;
    replicas.stop().await?;
    Ok((committed, latency))
}

pub(super) async fn arrived(bench: &mut Bench<'_>, replicas: &mut Replicas, messages: usize) -> anyhow::Result<()> {
    let began = Instant::now();
    while float(bench.receiver.count().await?) < float(messages) {
        replicas.check()?;
        if began.elapsed() > PATIENCE {
            bail!("not all of {messages} messages arrived within {PATIENCE:?}");
        }
        tokio::time::sleep(LOOK).await;
    }
    Ok(())
}
