//! `outbox audit`: what people did by hand.

use std::process::ExitCode;

use clap::builder::{NonEmptyStringValueParser, PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};
use outbox_desk::{AuditAction, AuditFilter, AuditPage, LOOKED_AT, ListedAudit, Moment};

use super::known::number;
use super::messages::find;
use super::nearest::turned_round;
use super::session::{OutboxAccess, Purpose};
use outbox_config::Config;
use outbox_console::text::{Cell, Page, grouped, print_as, shortened, to_the_second, warning};

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
    /// Only then or earlier.
    #[arg(long, value_name = "TIME")]
    until: Option<Moment>,
    /// Only by those whose name begins so: `ada` finds `ada (page)` too.
    #[arg(long, value_name = "TEXT", value_parser = NonEmptyStringValueParser::new())]
    who: Option<String>,
    /// Only of this kind.
    #[arg(long, value_parser = actions())]
    action: Option<AuditAction>,
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
    let AuditCommand::List(ListArgs { message, since, until, who, action, limit, after, json }) = command;
    let outbox = OutboxAccess::by(&config, url, Purpose::Look).await?;
    let message = match message {
        // A message that was purged has left its id here only.
        Some(id) if id.parse::<i64>().is_ok() => id.parse().ok(),
        Some(key) => Some(find(outbox.desk().as_ref(), &key).await?.id),
        None => None,
    };
    let filter = AuditFilter { message, since, until, who, action, part_of: None };
    let page = page(&outbox, &filter, after, limit).await?;
    if page.entries.is_empty()
        && let Some(turned) = turned_round(filter.since, filter.until)
    {
        warning(&turned);
    }
    print_as(json, &page, |page| in_words(page, filter == AuditFilter::default(), limit))?;
    Ok(ExitCode::SUCCESS)
}

/// A page of the audit.
pub(super) async fn page(
    outbox: &OutboxAccess,
    filter: &AuditFilter,
    after: Option<i64>,
    limit: u32,
) -> anyhow::Result<AuditPage> {
    Ok(match outbox {
        OutboxAccess::Replica(replica) => replica.audits(filter, after, limit).await?,
        OutboxAccess::Database(database, _) => outbox_desk::audits(database, filter, after, limit).await?,
    })
}

/// The entries that were found, of `all` or by a filter.
fn in_words(audit: &AuditPage, all: bool, limit: u32) -> Page {
    let mut page = Page::default();
    if !audit.entries.is_empty() {
        page.table(["ID", "AT", "WHO", "ACTION", "MESSAGE", "WHY", "DETAILS"], audit.entries.iter().map(row));
    } else if all {
        page.line("nothing was done by hand");
    } else {
        page.line("no entry meets the filter");
    }
    if let Some(next) = audit.next {
        if audit.entries.len() < limit as usize {
            // With those of each message of a change, which are not listed.
            page.line(format!("{} entries were looked at, and there are more", grouped(LOOKED_AT.into())));
        }
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

/// The actions by name, so that a shell can complete them.
fn actions() -> impl TypedValueParser<Value = AuditAction> {
    PossibleValuesParser::new(AuditAction::ALL.map(AuditAction::as_str)).try_map(|word| {
        let found = AuditAction::ALL.into_iter().find(|action| action.as_str() == word);
        found.ok_or("no action is called so")
    })
}
