//! `outbox bench`: what the product reaches on one's own servers, beside what those servers reach by themselves.
//!
//! Everything that is measured is a process of its own: the receiver, the bare client (H), the bare table (D), and the
//! product, which is the real `outbox run`. They take turns, for several rounds; what is told are medians. What it means:
//! docs/bench.md.

mod counters;
mod grounds;
mod measure;
mod number;
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

/// How much to measure.
#[derive(Debug, Clone)]
pub struct Plan {
    /// What, in this order.
    pub scenarios: Vec<Scenario>,
    /// How often each.
    pub rounds: usize,
    /// Rows to deliver, in place of those of the scenario.
    pub rows: Option<usize>,
    /// Applied to what a scenario takes, in rows and in time.
    pub scale: f64,
    /// Messages in flight at most.
    pub in_flight: usize,
}

impl Plan {
    /// Rows to deliver in a round of `scenario`.
    fn rows(&self, scenario: Scenario) -> usize {
        self.rows.unwrap_or_else(|| self.scaled(scenario.rows()))
    }

    /// A number of other rows, or of whatever else there is less of at a smaller scale. Of something, one is left.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive, and far below the limits")]
    fn scaled(&self, whole: usize) -> usize {
        (number::float(whole) * self.scale).ceil() as usize
    }
}

/// Measures by `plan` on the servers of the settings, and removes what it made there, however it ends.
///
/// # Errors
/// What could not be measured, and why; an interruption; what could not be removed, and how to do that by hand.
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
        (Err(error), Err(left)) => Err(error.context(format!("{left:#}; the bench broke off"))),
    }
}

async fn measure(grounds: &Grounds, plan: &Plan) -> anyhow::Result<Report> {
    let config = &grounds.config;
    let one_machine = is_on_this_machine(config)?;
    let receiver = Receiver::start(Kind::Webhooks { thinking: Duration::ZERO }).await?;
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

/// Then product, client and database share its cores, and neither reaches what it would alone.
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
    // No host, or a path: a socket.
    address.map_or(host.is_empty() || host == "localhost" || host.starts_with("%2F"), |address| address.is_loopback())
}

/// Says how far it is. Nobody need read it.
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
