//! `outbox dead-letters redrive`, `undo` and `purge`.

use std::fmt::{self, Write as _};
use std::num::NonZeroU32;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use outbox_schema::desk::{DeadGroup, GROUPS, Pace, Purged, Redriven, Selection, Skipped, Undone};
use outbox_schema::{ByHand, Desk};

use super::filter::SelectionArgs;
use super::list::groups;
use crate::session::{AuthorArgs, Misuse, confirmed};
use outbox_dispatcher::text::print_as;

/// The most messages that are named where many were left as they are.
const NAMED: usize = 20;

#[derive(Debug, Args)]
pub(crate) struct RedriveArgs {
    #[command(flatten)]
    selection: SelectionArgs,
    /// Say what would be redriven, and change nothing.
    #[arg(long)]
    dry_run: bool,
    /// Only the first so many, to see what becomes of them.
    #[arg(long, value_name = "N")]
    canary: Option<NonZeroU32>,
    /// Let them come due so many a second, for example 50/s.
    #[arg(long, value_name = "N/s", value_parser = rate)]
    rate: Option<NonZeroU32>,
    #[command(flatten)]
    author: AuthorArgs,
    /// As JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct UndoArgs {
    /// The audit entry of the redrive, which it printed.
    audit_id: i64,
    #[command(flatten)]
    author: AuthorArgs,
    /// As JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct PurgeArgs {
    #[command(flatten)]
    selection: SelectionArgs,
    /// Say what would be deleted, and change nothing.
    #[arg(long)]
    dry_run: bool,
    /// Do not ask.
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    author: AuthorArgs,
    /// As JSON.
    #[arg(long)]
    json: bool,
}

pub(super) async fn redrive(desk: &dyn Desk, by_hand: &dyn ByHand, args: RedriveArgs) -> anyhow::Result<ExitCode> {
    let selection = args.selection.into_selection()?;
    let pace = Pace { canary: args.canary, rate: args.rate };
    if args.dry_run {
        return would(desk, &selection, |meant| would_redrive(meant, pace), args.json).await;
    }
    let done = by_hand.redrive(&selection, pace, &args.author.into_author()).await?;
    print_as(args.json, &done, redriven)?;
    Ok(ended(done.redriven, &done.skipped))
}

pub(super) async fn undo(by_hand: &dyn ByHand, args: UndoArgs) -> anyhow::Result<()> {
    let Some(done) = by_hand.undo(args.audit_id, &args.author.into_author()).await? else {
        anyhow::bail!("no redrive has the audit entry {}", args.audit_id);
    };
    print_as(args.json, &done, undone)
}

pub(super) async fn purge(desk: &dyn Desk, by_hand: &dyn ByHand, args: PurgeArgs) -> anyhow::Result<ExitCode> {
    let selection = args.selection.into_selection()?;
    if args.dry_run {
        return would(desk, &selection, |meant| format!("{meant} would be deleted"), args.json).await;
    }
    if !args.yes {
        let found = desk.dead_groups(&selection).await?;
        let question = format!("delete these {} dead letters for good?", DeadLetterCount::by(&found));
        if !confirmed(groups(&found), &question)? {
            anyhow::bail!("nothing was deleted");
        }
    }
    let done = by_hand.purge(&selection, &args.author.into_author()).await?;
    print_as(args.json, &done, purged)?;
    Ok(ended(done.purged, &done.skipped))
}

async fn would(
    desk: &dyn Desk,
    selection: &Selection,
    what: impl FnOnce(DeadLetterCount) -> String,
    json: bool,
) -> anyhow::Result<ExitCode> {
    let found = desk.dead_groups(selection).await?;
    print_as(json, &found[..], |found| {
        let mut page = groups(found);
        if !found.is_empty() {
            page.blank();
        }
        page.line(format!("{}; nothing was changed", what(DeadLetterCount::by(found))));
        page
    })?;
    Ok(ExitCode::SUCCESS)
}

/// The number of dead letters that a selection finds.
#[derive(Debug, Clone, Copy)]
struct DeadLetterCount {
    counted: u64,
    /// Whether there may be groups that were not counted.
    more: bool,
}

impl DeadLetterCount {
    fn by(groups: &[DeadGroup]) -> Self {
        Self { counted: groups.iter().map(|group| group.count).sum(), more: groups.len() >= GROUPS }
    }
}

impl fmt::Display for DeadLetterCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at_least = if self.more { "at least " } else { "" };
        write!(f, "{at_least}{}", self.counted)
    }
}

fn would_redrive(meant: DeadLetterCount, pace: Pace) -> String {
    let first = pace.canary.map(|canary| meant.counted.min(canary.get().into()));
    let mut text = match first {
        Some(first) => format!("{first} of {meant} would be redriven"),
        None => format!("{meant} would be redriven"),
    };
    if let Some(rate) = pace.rate {
        let rate = u64::from(rate.get());
        let seconds = first.unwrap_or(meant.counted).div_ceil(rate);
        let lasting = humantime::format_duration(Duration::from_secs(seconds));
        let at_least = if meant.more && first.is_none() { "at least " } else { "" };
        let _ = write!(text, ", {rate} a second for {at_least}{lasting}");
    }
    text
}

/// The exit code: a failure where no message was changed and some were skipped.
fn ended(changed: u64, skipped: &[Skipped]) -> ExitCode {
    if changed == 0 && !skipped.is_empty() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn redriven(done: &Redriven) -> String {
    let mut text = match done.meant {
        meant if meant > done.redriven => format!("{} of {meant} redriven", done.redriven),
        _ => format!("{} redriven", done.redriven),
    };
    if let Some(example) = done.messages.first() {
        let _ = write!(text, "\nlook at one:     outbox messages show {example}");
    }
    if done.meant > done.redriven + done.skipped.len() as u64 {
        text.push_str("\ngo on:           the same command without --canary");
    }
    if let (Some(id), 1..) = (done.audit_id, done.redriven) {
        let _ = write!(text, "\ntake back:       outbox dead-letters undo {id}");
    }
    text + &left(&done.skipped)
}

fn undone(done: &Undone) -> String {
    let mut text = format!("{} returned to the dead letters", done.returned);
    for (number, what) in [
        (done.delivered, "delivered already"),
        (done.under_way, "in flight, or attempted or changed since: left as they are"),
        (done.dead_again, "dead letters already"),
        (done.gone, "not there any more"),
    ] {
        if number > 0 {
            let _ = write!(text, "\n{number} {what}");
        }
    }
    text
}

fn purged(done: &Purged) -> String {
    format!("{} deleted", done.purged) + &left(&done.skipped)
}

fn left(skipped: &[Skipped]) -> String {
    let mut text = String::new();
    for one in skipped.iter().take(NAMED) {
        let _ = write!(text, "\nleft as it is:   {}: {}", one.id, one.because);
    }
    if skipped.len() > NAMED {
        let _ = write!(text, "\nand {} others", skipped.len() - NAMED);
    }
    text
}

fn rate(text: &str) -> Result<NonZeroU32, Misuse> {
    let number = text.strip_suffix("/s").unwrap_or(text).parse();
    number.map_err(|_| Misuse::new("it must be a number of messages a second, as 50/s"))
}
