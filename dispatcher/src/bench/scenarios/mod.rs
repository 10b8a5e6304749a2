//! The scenarios, a file for each family.

mod drain;

use anyhow::bail;

use super::measure::Bench;
use super::report::Findings;
use super::scenario::Scenario;

/// Measures one scenario.
pub(super) async fn run(bench: &mut Bench<'_>, scenario: Scenario) -> anyhow::Result<Findings> {
    let rows = bench.plan.rows(scenario);
    let figures = match scenario {
        Scenario::Drain => drain::run(bench, rows).await?,
        _ => bail!("not yet"),
    };
    Ok(Findings { scenario, rows, figures })
}
