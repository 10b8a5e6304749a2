//! `outbox failover`: what failovers of the outbox database lost.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use outbox_config::Config;
use outbox_console::text::{Cell, Page, print_as, to_the_second};
use outbox_desk::{AuditAction, AuditFilter, Moment};
use serde::{Deserialize, Serialize};

use super::audit;
use super::session::{OutboxAccess, Purpose};

/// How many lost messages one question asks for.
const PAGE: u32 = 1_000;

#[derive(Debug, Subcommand)]
pub(super) enum FailoverCommand {
    /// Show what failovers of the database lost, the newest first: the messages that went out and of which it knows nothing any
    /// more.
    Show(ShowArgs),
}

#[derive(Debug, Args)]
pub(super) struct ShowArgs {
    /// Only since then or later: how long ago (2h), or a time (2026-05-01T14:00:00Z).
    #[arg(long, value_name = "TIME")]
    since: Option<Moment>,
    /// At most this many failovers, as each replica met them.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    limit: u32,
    /// As JSON.
    #[arg(long)]
    json: bool,
}

/// A failover, as one replica met it.
#[derive(Debug, Serialize)]
struct Failover {
    at: String,
    /// The replica.
    who: String,
    /// From which copy of the database to which.
    why: Option<String>,
    /// None where whoever asks may not see it.
    #[serde(flatten)]
    counts: Option<Counts>,
    messages: Vec<Lost>,
}

/// What a replica found after a failover, in numbers.
#[derive(Debug, Serialize, Deserialize)]
struct Counts {
    marked_again: u64,
    lost: u64,
}

/// A message that went out and is gone.
#[derive(Debug, Serialize, Deserialize)]
struct Lost {
    idempotency_key: String,
    channel: String,
    target: String,
    sent_at: String,
    outcome: String,
    status_code: Option<u16>,
}

pub(super) async fn failover(config: Config, url: Option<&str>, command: FailoverCommand) -> anyhow::Result<ExitCode> {
    let FailoverCommand::Show(ShowArgs { since, limit, json }) = command;
    let outbox = OutboxAccess::by(&config, url, Purpose::Look).await?;
    let filter = AuditFilter { since, action: Some(AuditAction::Failover), ..AuditFilter::default() };
    let mut failovers = Vec::new();
    for found in audit::page(&outbox, &filter, None, limit).await?.entries {
        let counts: Option<Counts> = found.entry.details.as_deref().map(serde_json::from_str).transpose()?;
        let some = counts.as_ref().is_some_and(|counts| counts.lost > 0);
        let messages = if some { lost(&outbox, found.entry.id).await? } else { Vec::new() };
        let (at, who, why) = (found.entry.at, found.entry.who, found.entry.why);
        failovers.push(Failover { at, who, why, counts, messages });
    }
    print_as(json, &failovers, |failovers| in_words(failovers))?;
    Ok(ExitCode::SUCCESS)
}

/// The messages below an entry, the first listed first.
async fn lost(outbox: &OutboxAccess, entry: i64) -> anyhow::Result<Vec<Lost>> {
    let (filter, mut lost, mut after) = (AuditFilter::parts_of(entry), Vec::new(), None);
    loop {
        let page = audit::page(outbox, &filter, after, PAGE).await?;
        let details = page.entries.iter().filter_map(|part| part.entry.details.as_deref());
        lost.extend(details.map(serde_json::from_str).collect::<Result<Vec<Lost>, _>>()?);
        after = page.next;
        if after.is_none() {
            lost.reverse();
            return Ok(lost);
        }
    }
}

fn in_words(failovers: &[Failover]) -> Page {
    let mut page = Page::default();
    if failovers.is_empty() {
        page.line("no failover lost anything of what replicas did");
    }
    for Failover { at, who, why, counts, messages } in failovers {
        let why = why.as_deref().unwrap_or_default();
        page.line(format!("{} {who}: {why}", to_the_second(at)));
        page.line(match counts {
            Some(Counts { marked_again, lost }) => {
                format!("  marks written again: {marked_again}; messages that went out and are gone: {lost}")
            }
            None => "  this token may not see what was lost: it needs the right to read content".to_owned(),
        });
        if !messages.is_empty() {
            page.table(["KEY", "CHANNEL", "TARGET", "SENT", "ANSWER"], messages.iter().map(row));
        }
    }
    page
}

fn row(lost: &Lost) -> [Cell; 5] {
    let answer = lost.status_code.map_or_else(|| lost.outcome.clone(), |code| format!("{} {code}", lost.outcome));
    [
        Cell::whole(&lost.idempotency_key),
        Cell::whole(&lost.channel),
        lost.target.clone().into(),
        Cell::time(to_the_second(&lost.sent_at)),
        answer.into(),
    ]
}
