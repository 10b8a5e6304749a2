//! `outbox bench`: the speed of this program on the operator's own servers.

use std::process::ExitCode;

use clap::Args;
use clap::builder::RangedU64ValueParser;

use outbox_bench::{Plan, Scenario, bench as measure, in_words};
use outbox_config::Config;
use outbox_console::text::print_as;

/// What this reaches on your own servers, beside what they reach by themselves.
///
/// In schemas (PostgreSQL), databases (MySQL, MariaDB) or files (SQLite) of its own, which it makes where `database.url`
/// leads and removes afterwards; the lease is where `lease.url` says. It takes all that the servers can give: not for those
/// that others need meanwhile. How to read it: docs/internals/bench.md.
#[derive(Debug, Args)]
pub(super) struct BenchArgs {
    /// What to measure, one after the other.
    #[arg(value_enum, value_name = "SCENARIO", default_value = "drain")]
    scenarios: Vec<Scenario>,
    /// How often each is measured; the medians are told.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = positive())]
    rounds: usize,
    /// Rows to deliver in a round [default: as the scenario says].
    #[arg(long, value_name = "N", value_parser = positive())]
    rows: Option<usize>,
    /// Part of a scenario's rows and time to measure, for a quick look: 0.1.
    #[arg(long, value_name = "PART", default_value_t = 1.0, value_parser = part)]
    scale: f64,
    /// Messages in flight at most [default: the setting `dispatch.max_in_flight`].
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(1..=100_000))]
    in_flight: Option<usize>,
    /// As JSON.
    #[arg(long)]
    json: bool,
}

pub(super) async fn bench(config: Config, args: BenchArgs) -> anyhow::Result<ExitCode> {
    let BenchArgs { scenarios, rounds, rows, scale, in_flight, json } = args;
    config.require_database()?;
    let in_flight = in_flight.unwrap_or(config.dispatch.max_in_flight as usize);
    let report = measure(config, Plan { scenarios, rounds, rows, scale, in_flight }).await?;
    print_as(json, &report, in_words)?;
    Ok(ExitCode::SUCCESS)
}

fn positive() -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(1..)
}

fn part(text: &str) -> Result<f64, &'static str> {
    let part = text.parse().ok().filter(|part: &f64| *part > 0.0 && part.is_finite());
    part.ok_or("it has to be a number above 0")
}
