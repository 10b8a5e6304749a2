//! Quiet tenants beside a noisy one: all with one host, then each with a host of its own. The table was last analysed while it was
//! empty.

use std::time::Duration;

use super::latency::{Hosts, Tenants, arrived, commit};
use super::plain_drain;
use crate::grounds::Site;
use crate::measure::{Bench, epoch};
use crate::number::{Percentiles, float, median_of};
use crate::pace::Pace;
use crate::part::kind::Kind;
use crate::part::receiver::Receiver;
use crate::replicas::{Manner, Replicas};
use crate::report::{Figure, Unit};
use crate::rows::{self, Rows};
use crate::scenario::Measure;

/// The number of quiet tenants.
const TENANTS: usize = 50;

/// The time from one of their commits to the next: each tenant commits twice a second.
const EVERY: Duration = Duration::from_millis(10);

/// The commits of a round: those of ten seconds.
const COMMITS: usize = 1_000;

/// The rows of the drain that the noisy tenant's rate is compared with.
const DRAIN: usize = 100_000;

struct Round {
    shared: Latencies,
    own: Latencies,
    drain: f64,
    noisy: f64,
}

/// From commit to receiver of the quiet tenants, alone and beside the noisy one.
struct Latencies {
    alone: Percentiles,
    beside: Percentiles,
}

pub(super) async fn run(bench: &mut Bench<'_>, rows: usize) -> anyhow::Result<Vec<Figure>> {
    let many = Receiver::start(Kind::Webhooks { thinking: Duration::ZERO, hosts: true }).await?;
    let one = std::mem::replace(&mut bench.receiver, many);
    let measured = rounds(bench, rows).await;
    bench.receiver = one;
    let rounds = measured?;
    let dialect = bench.grounds.dialect();
    let latencies = |of: &str, latencies: fn(&Round) -> &Latencies| {
        let alone = Percentiles::median(&rounds, |round| latencies(round).alone);
        let beside = Percentiles::median(&rounds, |round| latencies(round).beside);
        let figure = |which: &str, value: f64, alone: f64| {
            let name = format!("commit to receiver of quiet tenants{of}, {which}");
            Figure::new(&name, Unit::Microseconds, value).beside("alone", alone)
        };
        let slowest = figure("p99", beside.p99, alone.p99)
            .goal(Measure::FairSlowest, dialect)
            .rounds(rounds.iter().map(|round| latencies(round).beside.p99));
        [figure("p50", beside.p50, alone.p50), slowest]
    };
    let noisy =
        Figure::new("R of the noisy tenant meanwhile", Unit::PerSecond, median_of(&rounds, |round| round.noisy))
            .beside("a plain drain", median_of(&rounds, |round| round.drain))
            .goal(Measure::FairNoisy, dialect)
            .rounds(rounds.iter().map(|round| round.noisy));
    let figures = latencies("", |round| &round.shared).into_iter();
    Ok(figures.chain(latencies(" with hosts of their own", |round| &round.own)).chain([noisy]).collect())
}

async fn rounds(bench: &mut Bench<'_>, rows: usize) -> anyhow::Result<Vec<Round>> {
    let manner = Manner::plain(bench.plan.in_flight);
    let (commits, drained) = (bench.plan.scaled(COMMITS), bench.plan.scaled(DRAIN));
    let mut rounds = Vec::new();
    let mut pace = Pace::of("fair", bench.plan.rounds);
    for _ in 0..bench.plan.rounds {
        let drain = plain_drain(bench, &manner, drained).await?.rate();
        let (shared, noisy) = latencies(bench, &manner, rows, commits, Hosts::Shared).await?;
        let (own, _) = latencies(bench, &manner, rows, commits, Hosts::Own).await?;
        let [alone, beside, of_own] = [shared.alone, shared.beside, own.beside].map(|latency| latency.p99 / 1e3);
        pace.round_is_over(&format!(
            "p99 alone {alone:.1} ms, beside {beside:.1} ms, with hosts of their own {of_own:.1} ms; noisy {noisy:.0}/s of {drain:.0}/s"
        ));
        rounds.push(Round { shared, own, drain, noisy });
    }
    Ok(rounds)
}

/// The latencies of the quiet tenants, and the rate of the noisy one.
async fn latencies(
    bench: &mut Bench<'_>,
    manner: &Manner,
    rows: usize,
    commits: usize,
    hosts: Hosts,
) -> anyhow::Result<(Latencies, f64)> {
    let (alone, _) = quiet(bench, manner, 0, commits, hosts).await?;
    let (beside, noisy) = quiet(bench, manner, rows, commits, hosts).await?;
    Ok((Latencies { alone, beside }, noisy))
}

/// Commits messages of quiet tenants beside `noisy` due rows of another one. Returns their times from commit to receiver, and the
/// rate of the noisy tenant meanwhile.
async fn quiet(
    bench: &mut Bench<'_>,
    manner: &Manner,
    noisy: usize,
    commits: usize,
    hosts: Hosts,
) -> anyhow::Result<(Percentiles, f64)> {
    let site = bench.grounds.site().await?;
    // A queue's table was last analysed while it was empty, as a rule.
    rows::tidy(&site.database).await?;
    if noisy > 0 {
        rows::insert(&site.database, Rows::Noisy, noisy, &bench.receiver.url).await?;
    }
    let mut replicas = Replicas::start(bench.grounds, &site, manner).await?;
    first(bench, &site, &mut replicas, noisy == 0).await?;
    commit(bench, &site, commits, EVERY, Tenants::Of(TENANTS, hosts), false).await?;
    let arrivals = loop {
        let arrivals = bench.receiver.arrivals().await?;
        if arrivals.dated >= commits as u64 {
            break arrivals;
        }
        arrived(bench, &mut replicas, usize::try_from(arrivals.count).unwrap_or_default() + 1).await?;
    };
    replicas.kill().await?;
    bench.grounds.remove(site).await?;
    Ok((arrivals.latency, arrivals.rate() * (1.0 - float(commits) / float(arrivals.count.max(1)))))
}

/// Begins the count, and waits until the replica polls: a message has arrived. Where there is none, it is written here.
async fn first(bench: &mut Bench<'_>, site: &Site, replicas: &mut Replicas, write: bool) -> anyhow::Result<()> {
    bench.receiver.begin_mixed().await?;
    while epoch(&site.database).await? == 0 {
        replicas.check()?;
        tokio::time::sleep(crate::counters::LOOK).await;
    }
    if write {
        rows::insert(&site.database, Rows::Due, 1, &bench.receiver.url).await?;
    }
    arrived(bench, replicas, 1).await
}
