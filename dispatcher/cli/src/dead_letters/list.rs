//! `outbox dead-letters list`.

use clap::Args;
use outbox_desk::{Cursor, DeadGroup, DeadLetter, DeadLetterPage, Selection};

use super::filter::FilterArgs;
use crate::nearest;
use crate::session::OutboxAccess;
use outbox_console::text::{Cell, Page, print_as, shortened, warning};

#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    #[command(flatten)]
    filter: FilterArgs,
    /// Only to this target, as it is written.
    #[arg(long)]
    target: Option<String>,
    /// Each dead letter by itself, the last that died first.
    #[arg(long)]
    ungrouped: bool,
    /// At most this many.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=10_000), requires = "ungrouped")]
    limit: u32,
    /// From where the last page ended.
    #[arg(long, value_name = "CURSOR", requires = "ungrouped")]
    after: Option<Cursor>,
    /// As JSON.
    #[arg(long)]
    json: bool,
}

pub(super) async fn list(outbox: &OutboxAccess, args: ListArgs) -> anyhow::Result<()> {
    let desk = outbox.desk();
    let filter = args.filter.into_filter(outbox, args.target)?;
    if args.ungrouped {
        let page = desk.dead_letters(&filter, &outbox.halting(), args.after, args.limit).await?;
        if page.letters.is_empty() && !args.json {
            hint(outbox, &Selection::Filter(filter)).await?;
        }
        return print_as(args.json, &page, letters);
    }
    let selection = Selection::Filter(filter);
    let found = desk.dead_groups(&selection).await?;
    if found.is_empty() && !args.json {
        hint(outbox, &selection).await?;
    }
    print_as(args.json, &found[..], groups)
}

/// Says which names of a selection that found nothing are unknown.
pub(super) async fn hint(outbox: &OutboxAccess, selection: &Selection) -> anyhow::Result<()> {
    nearest::of_dead_letters(outbox, selection).await?.iter().for_each(|unknown| warning(unknown));
    Ok(())
}

/// A table of groups.
pub(crate) fn groups(groups: &[DeadGroup]) -> Page {
    if groups.is_empty() {
        return "no dead letters".into();
    }
    let rows = groups.iter().map(|group| {
        [
            Cell::whole(group.count),
            Cell::whole(&group.fingerprint),
            Cell::time(&group.first_seen),
            Cell::time(&group.last_seen),
            Cell::whole(group.example),
            shortened(group.error.as_deref().unwrap_or("-"), 200).into(),
        ]
    });
    let mut page = Page::default();
    page.table(["COUNT", "FINGERPRINT", "FIRST SEEN", "LAST SEEN", "EXAMPLE", "ERROR"], rows);
    page
}

const HEADING: [&str; 11] =
    ["ID", "CHANNEL", "REASON", "ATTEMPTS", "DEAD SINCE", "HALTS KEY", "KEY", "TARGET", "TAGS", "TENANT", "ERROR"];

fn letters(found: &DeadLetterPage) -> Page {
    if found.letters.is_empty() {
        return "no dead letters".into();
    }
    let row = |letter: &DeadLetter| {
        [
            Cell::whole(letter.id),
            letter.channel.clone().into(),
            Cell::state(letter.dead_reason.clone().unwrap_or_default()),
            Cell::whole(letter.attempts),
            Cell::time(&letter.dead_at),
            halted_key(letter).into(),
            Cell::name(&letter.idempotency_key),
            shortened(&letter.target, 40).into(),
            Cell::tags(letter.tags.as_deref()),
            letter.tenant.clone().unwrap_or_default().into(),
            shortened(letter.last_error.as_deref().unwrap_or(""), 200).into(),
        ]
    };
    let mut page = Page::default();
    page.filled(HEADING, found.letters.iter().map(row).collect(), &["CHANNEL", "ATTEMPTS", "DEAD SINCE"]);
    if let Some(next) = found.next {
        page.line(format!("more with --after {next}"));
    }
    page
}

/// The ordering key that the letter halts.
fn halted_key(letter: &DeadLetter) -> String {
    let key = letter.ordering_key.as_deref().filter(|_| letter.first_waiting.is_some());
    shortened(key.unwrap_or_default(), 32)
}
