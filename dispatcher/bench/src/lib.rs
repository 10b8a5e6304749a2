//! `outbox bench`: the speed of the product on the operator's own servers, beside the speed of those servers alone.
//!
//! Everything that is measured is a process of its own: the receiver, the bare client (H), the bare table (D), and the
//! product, which is the real `outbox run`. They take turns for several rounds, and the report shows medians.
//! docs/bench.md explains the figures.

mod counters;
mod grounds;
mod measure;
mod number;
mod pace;
mod part;
mod redis_commands;
mod replicas;
mod report;
mod rows;
mod scenario;
mod scenarios;
mod usage;

use std::io::Write;
use std::net::IpAddr;
use std::time::Duration;

use anyhow::{Context, bail};
use outbox_schema::Dialect;
use url::Url;

use self::grounds::Grounds;
use self::measure::Bench;
use self::part::receiver::{Kind, Receiver};
pub use self::part::work as be_a_part;
pub use self::report::{Report, in_words};
pub use self::scenario::Scenario;
use outbox_dispatcher::config::{Config, LeaseProvider};
use outbox_dispatcher::signals::stopped;
use outbox_dispatcher::text::with_causes;

/// How much to measure.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The scenarios, in the order in which they are measured.
    pub scenarios: Vec<Scenario>,
    /// The number of rounds for each scenario.
    pub rounds: usize,
    /// The rows to deliver in a round. None: the number that the scenario names.
    pub rows: Option<usize>,
    /// The factor for the rows and the time that a scenario takes.
    pub scale: f64,
    /// The most messages in flight.
    pub in_flight: usize,
}

impl Plan {
    /// The rows to deliver in a round of `scenario`.
    fn rows(&self, scenario: Scenario) -> usize {
        self.rows.unwrap_or_else(|| self.scaled(scenario.rows()))
    }

    /// `whole`, a number of other rows or of replicas, multiplied by the scale. A number above zero never becomes zero.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive, and far below the limits")]
    fn scaled(&self, whole: usize) -> usize {
        (number::float(whole) * self.scale).ceil() as usize
    }
}

/// Measures by `plan` on the servers of the settings. In the end, also after an error, removes the schemas, databases
/// or files that it made there.
///
/// # Errors
/// Names the scenario that could not be measured and the reason, or says that the bench was interrupted. Names also
/// what could not be removed, and the command that removes it.
pub async fn bench(config: Config, plan: Plan) -> anyhow::Result<Report> {
    let grounds = Grounds::open(config)?;
    for left in grounds.leftovers().await? {
        say(&format!("another bench runs here, or was killed and left its tables; to remove them: {left}"));
    }
    let measured = tokio::select! {
        biased;
        stopped = stopped() => { stopped?; Err(anyhow::anyhow!("interrupted")) }
        measured = measure(&grounds, &plan) => measured,
    };
    let cleared = grounds.clear().await;
    match (measured, cleared) {
        (Ok(report), Ok(())) => Ok(report),
        (Err(error), Ok(())) => Err(error.context("the bench broke off; it removed what it had made")),
        (Ok(_), Err(left)) => Err(left),
        // The cause comes first.
        (Err(error), Err(left)) => {
            bail!(
                "the bench broke off: {}. It could not remove all that it had made: {}",
                with_causes(&error),
                with_causes(&left)
            )
        }
    }
}

async fn measure(grounds: &Grounds, plan: &Plan) -> anyhow::Result<Report> {
    let config = &grounds.config;
    let one_machine = is_on_this_machine(config)?;
    let receiver = Receiver::start(Kind::Webhooks { thinking: Duration::ZERO, hosts: false }).await?;
    let mut bench = Bench { grounds, plan, receiver, one_machine };
    let mut found = Vec::new();
    for &scenario in &plan.scenarios {
        let findings = scenarios::run(&mut bench, scenario).await;
        found.push(findings.with_context(|| format!("scenario {}", scenario.name()))?);
    }
    Ok(Report {
        version: env!("CARGO_PKG_VERSION"),
        database: grounds.dialect(),
        lease: match config.lease.provider {
            LeaseProvider::Table => "table",
            LeaseProvider::Redis { .. } => "redis",
        },
        cores: std::thread::available_parallelism().map_or(1, usize::from),
        one_machine,
        in_flight: plan.in_flight,
        rounds: plan.rounds,
        scenarios: found,
    })
}

/// Whether the database is on this machine. If so, the product, the client and the database share its cores, and none
/// of them reaches the rate that it reaches alone.
fn is_on_this_machine(config: &Config) -> anyhow::Result<bool> {
    let url = config.database.url.expose();
    if config.database.dialect == Dialect::Sqlite {
        if url.contains(":memory:") {
            bail!("database.url is in memory, where the processes of a bench cannot meet: name a file");
        }
        return Ok(true);
    }
    let url = Url::parse(url).context("database.url")?;
    Ok(is_near(url.host_str().unwrap_or_default()))
}

fn is_near(host: &str) -> bool {
    let address = host.trim_matches(['[', ']']).parse::<IpAddr>();
    // No host, or a path, means a socket.
    address.map_or(host.is_empty() || host == "localhost" || host.starts_with("%2F"), |address| address.is_loopback())
}

/// Reports the progress on standard error. A failure to write there does not matter.
fn say(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "outbox bench: {text}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_behind_loopback_or_a_socket_is_on_this_machine() {
        for (host, near) in [
            ("127.0.0.1", true),
            ("[::1]", true),
            ("localhost", true),
            ("", true),
            ("%2Frun%2Fpostgresql", true),
            ("10.0.0.1", false),
            ("db.example", false),
        ] {
            assert_eq!(is_near(host), near, "{host}");
        }
    }
}
