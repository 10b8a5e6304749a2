//! `outbox dead-letters list`.

use std::fmt::Write as _;

use clap::Args;
use outbox_schema::Desk;
use outbox_schema::desk::{Cursor, DeadGroup, DeadLetterPage, Selection};

use super::filter::FilterArgs;
use outbox_dispatcher::text::{print_as, shortened, table};

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
pub(super) fn groups(groups: &[DeadGroup]) -> String {
    if groups.is_empty() {
        return "no dead letters".to_owned();
    }
    let rows: Vec<_> = groups
        .iter()
        .map(|group| {
            [
                group.count.to_string(),
                group.fingerprint.clone(),
                group.first_seen.clone(),
                group.last_seen.clone(),
                group.example.to_string(),
                shortened(group.error.as_deref().unwrap_or("-"), 100),
            ]
        })
        .collect();
    table(["COUNT", "FINGERPRINT", "FIRST SEEN", "LAST SEEN", "EXAMPLE", "ERROR"], &rows)
}

fn letters(page: &DeadLetterPage) -> String {
    if page.letters.is_empty() {
        return "no dead letters".to_owned();
    }
    let rows: Vec<_> = page
        .letters
        .iter()
        .map(|letter| {
            [
                letter.id.to_string(),
                letter.channel.clone(),
                letter.dead_reason.clone().unwrap_or_default(),
                letter.attempts.to_string(),
                letter.dead_at.clone(),
                shortened(&letter.target, 40),
                shortened(letter.last_error.as_deref().unwrap_or(""), 80),
            ]
        })
        .collect();
    let mut text = table(["ID", "CHANNEL", "REASON", "ATTEMPTS", "DEAD SINCE", "TARGET", "ERROR"], &rows);
    if let Some(next) = page.next {
        let _ = writeln!(text, "more with --after {next}");
    }
    text
}
