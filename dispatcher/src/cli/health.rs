//! `outbox health`: a container's health check, in an image that has nothing else to ask with.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::Args;

use super::text::print;
use crate::client;
use crate::config::Config;

/// Longest wait for the answer.
const LIMIT: Duration = Duration::from_secs(5);

/// Where a listener on `listen` is reached from its own machine.
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
    let answer = client.get(&url).send().await.with_context(|| format!("{url} does not answer"))?;
    let status = answer.status();
    let text = answer.text().await.unwrap_or_default();
    if !status.is_success() {
        bail!("{url} answers {status}: {}", text.trim());
    }
    print(text.trim())?;
    Ok(ExitCode::SUCCESS)
}
