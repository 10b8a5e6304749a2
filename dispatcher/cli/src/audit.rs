//! `outbox audit`: what people did by hand.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use outbox_schema::desk::{AuditFilter, AuditPage, ListedAudit, Moment};

use super::known::number;
use super::messages::find;
use super::session::{OutboxAccess, Purpose};
use outbox_dispatcher::config::Config;
use outbox_dispatcher::text::{Cell, Page, print_as, shortened, to_the_second};

#[derive(Debug, Subcommand)]
pub(super) enum AuditCommand {
    /// List who redrove, edited, cancelled, purged, pruned, paused or resumed, the newest first. The number of a redrive is
    /// what `outbox dead-letters undo` wants.
    List(ListArgs),
}

#[derive(Debug, Args)]
pub(super) struct ListArgs {
    /// Only what was done to this message: the id of the row, or its idempotency key.
    #[arg(long)]
    message: Option<String>,
    /// Only since then or later: how long ago (2h), or a time (2026-05-01T14:00:00Z).
    #[arg(long, value_name = "TIME")]
    since: Option<Moment>,
    /// At most this many.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    limit: u32,
    /// From where the last page ended: only of lower ids.
    #[arg(long, value_name = "ID", value_parser = number)]
    after: Option<i64>,
    /// As JSON.
    #[arg(long)]
    json: bool,
}

pub(super) async fn audit(config: Config, url: Option<&str>, command: AuditCommand) -> anyhow::Result<ExitCode> {
    let AuditCommand::List(ListArgs { message, since, limit, after, json }) = command;
    let outbox = OutboxAccess::by(&config, url, Purpose::Look).await?;
    let message = match message {
        // A message that was purged has left its id here only.
        Some(id) if id.parse::<i64>().is_ok() => id.parse().ok(),
        Some(key) => Some(find(outbox.desk().as_ref(), &key).await?.id),
        None => None,
    };
    let filter = AuditFilter { message, since };
    let page = match &outbox {
        OutboxAccess::Replica(replica) => replica.audits(filter, after, limit).await?,
        OutboxAccess::Database(database, _) => database.audits(filter, after, limit).await?,
    };
    print_as(json, &page, in_words)?;
    Ok(ExitCode::SUCCESS)
}

fn in_words(audit: &AuditPage) -> Page {
    let mut page = Page::default();
    if audit.entries.is_empty() {
        page.line("nothing was done by hand");
    } else {
        page.table(["ID", "AT", "WHO", "ACTION", "MESSAGE", "WHY", "DETAILS"], audit.entries.iter().map(row));
    }
    if let Some(next) = audit.next {
        page.line(format!("more with --after {next}"));
    }
    page
}

fn row(ListedAudit { entry, message_id }: &ListedAudit) -> [Cell; 7] {
    [
        Cell::whole(entry.id),
        Cell::time(to_the_second(&entry.at)),
        entry.who.clone().into(),
        Cell::whole(&entry.action),
        Cell::whole(message_id.map_or_else(|| "-".to_owned(), |id| id.to_string())),
        entry.why.clone().unwrap_or_default().into(),
        shortened(entry.details.as_deref().unwrap_or(""), 120).into(),
    ]
}
