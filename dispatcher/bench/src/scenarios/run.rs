//! Measures one scenario.

use super::{backlog, beside, destinations, drain, enqueue, fair, fcm, hosts, idle, latency, snapshot};
use crate::measure::Bench;
use crate::report::Findings;
use crate::scenario::Scenario;

/// Measures one scenario.
pub(crate) async fn run(bench: &mut Bench<'_>, scenario: Scenario) -> anyhow::Result<Findings> {
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
