//! `outbox status`: who polls, what is due, what is dead.

use std::fmt::Write as _;
use std::process::ExitCode;

use clap::Args;
use outbox_adapters::Held;
use outbox_schema::Shard;
use outbox_schema::desk::{TermEntry, Vitals};
use serde::Serialize;

use super::text::{print_as, shortened, span, table};
use crate::config::Config;
use crate::wiring;

/// Terms shown.
const LAST_TERMS: u32 = 10;

#[derive(Debug, Args)]
pub(super) struct StatusArgs {
    /// As JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Serialize)]
struct Status {
    #[serde(flatten)]
    vitals: Vitals,
    /// Channels that messages wait for and that the settings of this command do not know.
    not_configured: Vec<String>,
    /// Who holds the lease of shard 0 now.
    lease: Option<Lease>,
    /// Why the lease store could not be asked.
    lease_error: Option<String>,
    last_terms: Vec<TermEntry>,
}

#[derive(Debug, Serialize)]
struct Lease {
    holder: String,
    remaining_ms: u64,
}

impl From<Held> for Lease {
    fn from(held: Held) -> Self {
        Self { holder: held.holder, remaining_ms: held.remaining.as_millis().try_into().unwrap_or(u64::MAX) }
    }
}

pub(super) async fn status(config: Config, args: &StatusArgs) -> anyhow::Result<ExitCode> {
    let database = wiring::database(&config, 2).await?;
    let outbox = database.require(&config.database.environment).await?;
    let desk = database.desk();
    let lease = wiring::lease(&config, &outbox.outbox_id.to_string()).await?;
    let held = lease.current(Shard::default()).await;
    let vitals = desk.vitals().await?;
    let status = Status {
        not_configured: not_configured(&config, &vitals),
        vitals,
        lease_error: held.as_ref().err().map(ToString::to_string),
        lease: held.ok().flatten().map(Lease::from),
        last_terms: desk.terms(LAST_TERMS).await?,
    };
    print_as(args.json, &status, in_words)?;
    Ok(ExitCode::SUCCESS)
}

fn not_configured(config: &Config, vitals: &Vitals) -> Vec<String> {
    let waited_for = vitals.channels.iter().filter(|channel| channel.pending > 0).map(|channel| &channel.channel);
    waited_for.filter(|name| !config.channels.contains_key(*name)).cloned().collect()
}

fn in_words(status: &Status) -> String {
    let mut text = poller(status);
    text.push_str("\n\n");
    text.push_str(&channels(&status.vitals));
    for channel in &status.not_configured {
        let _ = writeln!(
            text,
            "not configured: channel {channel:?}: its messages wait until [channels.{channel}] is there"
        );
    }
    for pause in &status.vitals.paused {
        let _ = writeln!(
            text,
            "paused: {} until {}: {}",
            pause.destination,
            pause.paused_until,
            pause.reason.as_deref().unwrap_or("no reason given")
        );
    }
    if status.vitals.unsettled_claims > 0 {
        let _ = writeln!(text, "claims of earlier terms being settled: {}", status.vitals.unsettled_claims);
    }
    text.push('\n');
    text.push_str(&terms(&status.last_terms));
    text
}

fn poller(status: &Status) -> String {
    if let Some(error) = &status.lease_error {
        return format!("poller: unknown, because {error}");
    }
    let Some(lease) = &status.lease else {
        return "poller: none. Is a replica running (outbox run)?".to_owned();
    };
    let remaining = span(lease.remaining_ms.try_into().unwrap_or(i64::MAX));
    match status.vitals.terms.iter().find(|term| term.holder == lease.holder) {
        Some(term) => format!(
            "poller: {} in epoch {} for {}, lease for another {remaining}",
            term.holder,
            term.epoch,
            span(term.age_ms)
        ),
        None => format!("poller: {} holds the lease for another {remaining} and has not begun its term", lease.holder),
    }
}

fn channels(vitals: &Vitals) -> String {
    if vitals.channels.is_empty() {
        return "nothing pending, nothing dead\n".to_owned();
    }
    let rows: Vec<_> = vitals
        .channels
        .iter()
        .map(|channel| {
            [
                channel.channel.clone(),
                channel.pending.to_string(),
                channel.due.to_string(),
                channel.deferred.to_string(),
                channel.dead.to_string(),
                channel.lag_ms.map_or_else(|| "-".to_owned(), span),
            ]
        })
        .collect();
    table(["CHANNEL", "PENDING", "DUE", "DEFERRED", "DEAD", "LAG"], &rows)
}

fn terms(entries: &[TermEntry]) -> String {
    let count = |count: Option<i64>| count.map_or_else(|| "-".to_owned(), |count| count.to_string());
    let rows: Vec<_> = entries
        .iter()
        .map(|term| {
            [
                term.shard.to_string(),
                term.epoch.to_string(),
                shortened(&term.holder, 32),
                term.started_at.clone(),
                term.ended_because.clone().unwrap_or_else(|| "goes on".to_owned()),
                count(term.claimed),
                count(term.delivered),
                count(term.failed),
            ]
        })
        .collect();
    table(["SHARD", "EPOCH", "HOLDER", "STARTED", "ENDED", "CLAIMED", "DELIVERED", "FAILED"], &rows)
}
