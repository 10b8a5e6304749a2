//! `outbox dead-letters list`.

use clap::Args;
use outbox_schema::Desk;
use outbox_schema::desk::{Cursor, DeadGroup, DeadLetterPage, Selection};

use super::filter::FilterArgs;
use outbox_dispatcher::text::{Cell, Page, print_as, shortened};

#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    #[command(flatten)]
    filter: FilterArgs,
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

pub(super) async fn list(desk: &dyn Desk, args: ListArgs) -> anyhow::Result<()> {
    let filter = args.filter.into_filter();
    if args.ungrouped {
        let page = desk.dead_letters(&filter, args.after, args.limit).await?;
        return print_as(args.json, &page, letters);
    }
    let found = desk.dead_groups(&Selection::Filter(filter)).await?;
    print_as(args.json, &found[..], groups)
}

/// A table of groups.
pub(super) fn groups(groups: &[DeadGroup]) -> Page {
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
            shortened(group.error.as_deref().unwrap_or("-"), 100).into(),
        ]
    });
    let mut page = Page::default();
    page.table(["COUNT", "FINGERPRINT", "FIRST SEEN", "LAST SEEN", "EXAMPLE", "ERROR"], rows);
    page
}

fn letters(found: &DeadLetterPage) -> Page {
    if found.letters.is_empty() {
        return "no dead letters".into();
    }
    let rows = found.letters.iter().map(|letter| {
        [
            Cell::whole(letter.id),
            letter.channel.clone().into(),
            Cell::state(letter.dead_reason.clone().unwrap_or_default()),
            Cell::whole(letter.attempts),
            Cell::time(&letter.dead_at),
            shortened(&letter.target, 40).into(),
            shortened(letter.last_error.as_deref().unwrap_or(""), 80).into(),
        ]
    });
    let mut page = Page::default();
    page.table(["ID", "CHANNEL", "REASON", "ATTEMPTS", "DEAD SINCE", "TARGET", "ERROR"], rows);
    if let Some(next) = found.next {
        page.line(format!("more with --after {next}"));
    }
    page
}
