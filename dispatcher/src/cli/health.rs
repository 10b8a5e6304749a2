//! `outbox health`: a container's health check, in an image that has nothing else to ask with.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::Args;

use super::text::print;
use crate::config::Config;

/// Longest wait for the answer.
const LIMIT: Duration = Duration::from_secs(5);

#[derive(Debug, Args)]
pub(super) struct HealthArgs {
    /// The replica's listener [default: admin.listen of the settings].
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// Ask whether the fleet does its work (/readyz), not just whether this process lives (/healthz).
    #[arg(long)]
    ready: bool,
}

pub(super) async fn health(config: &Config, args: HealthArgs) -> anyhow::Result<ExitCode> {
    let base = args.url.unwrap_or_else(|| format!("http://127.0.0.1:{}", config.admin.listen.port()));
    let url = format!("{}/{}", base.trim_end_matches('/'), if args.ready { "readyz" } else { "healthz" });
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
