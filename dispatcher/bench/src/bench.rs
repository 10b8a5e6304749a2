//! Measures by a plan, on the servers of the settings.

use std::net::IpAddr;
use std::time::Duration;

use anyhow::{Context, bail};
use outbox_config::{Config, LeaseProvider};
use outbox_console::text::with_causes;
use outbox_dispatcher::signals::stopped;
use outbox_store::Dialect;
use url::Url;

use super::grounds::Grounds;
use super::measure::Bench;
use super::part::receiver::Receiver;
use super::report::Report;
use super::scenarios;
use crate::part::kind::Kind;
use crate::plan::Plan;
use crate::say::say;

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
            LeaseProvider::Session => "session",
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
