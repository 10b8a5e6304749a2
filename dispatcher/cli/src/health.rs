//! `outbox health`: the health check of a container whose image has no other HTTP client.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::Args;
use serde::Serialize;
use serde_json::Value;

use crate::client;
use outbox_config::Config;
use outbox_console::text::{print, print_as_it_is, with_causes};

/// The longest wait for the answer.
const LIMIT: Duration = Duration::from_secs(5);

/// The address at which a listener on `listen` is reached from its own machine.
fn reachable(mut listen: SocketAddr) -> SocketAddr {
    if listen.ip().is_unspecified() {
        listen.set_ip(if listen.is_ipv4() { Ipv4Addr::LOCALHOST.into() } else { Ipv6Addr::LOCALHOST.into() });
    }
    listen
}

#[derive(Debug, Args)]
pub(super) struct HealthArgs {
    /// Ask whether the fleet does its work (/readyz), not just whether this process lives (/healthz).
    #[arg(long)]
    ready: bool,
    /// As JSON, also where it is not well.
    #[arg(long)]
    json: bool,
}

/// The answer of the replica, for JSON.
#[derive(Debug, Serialize)]
struct Health {
    url: String,
    well: bool,
    /// The status code of the answer. None where there was no answer.
    status: Option<u16>,
    /// The body of the answer, as JSON where the body is JSON. Where there was no answer, the reason.
    answer: Value,
}

pub(super) async fn health(config: &Config, url: Option<&str>, args: &HealthArgs) -> anyhow::Result<ExitCode> {
    let page = if args.ready { "readyz" } else { "healthz" };
    let base = match url {
        Some(url) => client::base(url)?.to_string(),
        None => format!("http://{}", reachable(config.admin.listen)),
    };
    let url = format!("{}/{page}", base.trim_end_matches('/'));
    outbox_adapters::ensure_crypto_provider();
    let client = reqwest::Client::builder().no_proxy().timeout(LIMIT).build()?;
    let (status, text) = match client.get(&url).send().await {
        Ok(answer) => (Some(answer.status()), answer.text().await.unwrap_or_default()),
        Err(error) if args.json => (None, with_causes(&error.into())),
        Err(error) => return Err(error).with_context(|| format!("{url} does not answer")),
    };
    let text = text.trim();
    let well = status.is_some_and(|status| status.is_success());
    if args.json {
        let answer = serde_json::from_str(text).unwrap_or_else(|_| text.into());
        let health = Health { url, well, status: status.map(|status| status.as_u16()), answer };
        print_as_it_is(&serde_json::to_string_pretty(&health)?)?;
        return Ok(if well { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    }
    if let Some(status) = status.filter(|_| !well) {
        bail!("{url} answers {status}: {text}");
    }
    print(text)?;
    Ok(ExitCode::SUCCESS)
}
