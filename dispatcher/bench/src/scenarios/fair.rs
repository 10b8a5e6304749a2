//! Quiet tenants beside a noisy one, all of whose messages go to the same receiver. The table was last analysed while it was empty.

use std::time::Duration;

use super::latency::{arrived, commit};
use super::plain_drain;
use crate::grounds::Site;
use crate::measure::{Bench, epoch};
use crate::number::{Percentiles, float, median_of};
use crate::pace::Pace;
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
    alone: Percentiles,
    beside: Percentiles,
    drain: f64,
    noisy: f64,
}

pub(super) async fn run(bench: &mut Bench<'_>, rows: usize) -> anyhow::Result<Vec<Figure>> {
    let manner = Manner::plain(bench.plan.in_flight);
    let (commits, drained) = (bench.plan.scaled(COMMITS), bench.plan.scaled(DRAIN));
    let mut rounds = Vec::new();
    let mut pace = Pace::of("fair", bench.plan.rounds);
    for _ in 0..bench.plan.rounds {
        let drain = plain_drain(bench, &manner, drained).await?.rate();
        let (alone, _) = quiet(bench, &manner, 0, commits).await?;
        let (beside, noisy) = quiet(bench, &manner, rows, commits).await?;
        let [one, other] = [alone, beside].map(|latency| latency.p99 / 1e3);
        pace.round_is_over(&format!("p99 alone {one:.1} ms, beside {other:.1} ms; noisy {noisy:.0}/s of {drain:.0}/s"));
        rounds.push(Round { alone, beside, drain, noisy });
    }
    let alone = Percentiles::median(&rounds, |round| round.alone);
    let beside = Percentiles::median(&rounds, |round| round.beside);
    let dialect = bench.grounds.dialect();
    let figure =
        |name: &str, value: f64, alone: f64| Figure::new(name, Unit::Microseconds, value).beside("alone", alone);
    Ok(vec![
        figure("commit to receiver of quiet tenants, p50", beside.p50, alone.p50),
        figure("commit to receiver of quiet tenants, p99", beside.p99, alone.p99)
            .goal(Measure::FairSlowest, dialect)
            .rounds(rounds.iter().map(|round| round.beside.p99)),
        Figure::new("R of the noisy tenant meanwhile", Unit::PerSecond, median_of(&rounds, |round| round.noisy))
            .beside("a plain drain", median_of(&rounds, |round| round.drain))
            .goal(Measure::FairNoisy, dialect)
            .rounds(rounds.iter().map(|round| round.noisy)),
    ])
}

/// Commits messages of quiet tenants beside `noisy` due rows of another one. Returns their times from commit to receiver, and the
/// rate of the noisy tenant meanwhile.
async fn quiet(
    bench: &mut Bench<'_>,
    manner: &Manner,
    noisy: usize,
    commits: usize,
) -> anyhow::Result<(Percentiles, f64)> {
    let site = bench.grounds.site().await?;
    // A queue's table was last analysed while it was empty, as a rule.
    rows::tidy(&site.database).await?;
    if noisy > 0 {
        rows::insert(&site.database, Rows::Noisy, noisy, &bench.receiver.url).await?;
    }
    let mut replicas = Replicas::start(bench.grounds, &site, manner).await?;
    first(bench, &site, &mut replicas, noisy == 0).await?;
    commit(bench, &site, commits, EVERY, TENANTS, false).await?;
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
