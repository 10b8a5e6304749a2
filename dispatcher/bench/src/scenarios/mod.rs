//! The scenarios, with a file for each family.

mod backlog;
mod beside;
mod destinations;
mod drain;
mod enqueue;
mod fair;
mod fcm;
mod hosts;
mod idle;
mod latency;
mod snapshot;

use super::grounds::Site;
use super::measure::{Bench, Delivered};
use super::replicas::Manner;
use super::report::Findings;
use super::rows::{self, Rows};
use super::scenario::Scenario;

/// Measures one scenario.
pub(super) async fn run(bench: &mut Bench<'_>, scenario: Scenario) -> anyhow::Result<Findings> {
    let rows = bench.plan.rows(scenario);
    let figures = match scenario {
        Scenario::Drain => drain::run(bench, rows).await?,
        Scenario::Latency => latency::run(bench, rows).await?,
        Scenario::Snapshot => snapshot::run(bench, rows).await?,
        Scenario::History => beside::history(bench, rows).await?,
        Scenario::Future => beside::future(bench, rows).await?,
        Scenario::Backlog => backlog::run(bench, rows).await?,
        Scenario::Ordered => beside::ordered(bench, rows).await?,
        Scenario::Enqueue => enqueue::run(bench, rows).await?,
        Scenario::Retention => beside::retention(bench, rows).await?,
        Scenario::Deliveries => beside::deliveries(bench, rows).await?,
        Scenario::Idle => idle::run(bench).await?,
        Scenario::Fcm => fcm::run(bench, rows).await?,
        Scenario::Destinations => destinations::run(bench, rows).await?,
        Scenario::Fair => fair::run(bench, rows).await?,
        Scenario::Hosts => hosts::run(bench, rows).await?,
    };
    Ok(Findings { scenario, rows, figures })
}

/// Inserts rows, and measures how replicas of `manner` deliver them.
async fn drain(
    bench: &mut Bench<'_>,
    site: &Site,
    manner: &Manner,
    kind: Rows,
    rows: usize,
) -> anyhow::Result<Delivered> {
    rows::insert(&site.database, kind, rows, &bench.receiver.url).await?;
    rows::tidy(&site.database).await?;
    bench.deliver(site, manner, rows).await
}

/// The drain that others are compared with: as many due rows, in an outbox that holds nothing else.
async fn plain_drain(bench: &mut Bench<'_>, manner: &Manner, rows: usize) -> anyhow::Result<Delivered> {
    let site = bench.grounds.site().await?;
    let delivered = drain(bench, &site, manner, Rows::Due, rows).await?;
    bench.grounds.remove(site).await?;
    Ok(delivered)
}
