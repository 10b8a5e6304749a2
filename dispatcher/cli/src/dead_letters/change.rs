//! `outbox dead-letters redrive`, `undo` and `purge`.

use std::fmt::{self, Write as _};
use std::num::NonZeroU32;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use outbox_schema::desk::{DeadGroup, GROUPS, Pace, Purged, Redriven, Selection, Skipped, Undone};

use super::filter::SelectionArgs;
use super::list::{groups, hint};
use crate::nearest;
use crate::progress::LongChange;
use crate::session::{AuthorArgs, Misuse, OutboxAccess, confirmed};
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

pub(super) async fn redrive(outbox: &OutboxAccess, args: RedriveArgs) -> anyhow::Result<ExitCode> {
    let selection = args.selection.into_selection(outbox).await?;
    let pace = Pace { canary: args.canary, rate: args.rate };
    if args.dry_run {
        return would(outbox, &selection, |meant| would_redrive(meant, pace), args.json).await;
    }
    let follow = LongChange::new("redrive", "redriven", |id| format!("take back: outbox dead-letters undo {id}"));
    let (by_hand, author) = (outbox.by_hand(), args.author.into_author());
    let tell = |progress| follow.tell(progress);
    let (done, stopped) = match follow.through(by_hand.redrive_watched(&selection, pace, &author, &tell)).await? {
        Ok(done) => done,
        Err(code) => return Ok(code),
    };
    print_as(args.json, &done, |done| redriven(done, stopped.is_some()))?;
    over(outbox, &selection, stopped, (done.meant, done.redriven, &done.skipped)).await
}

pub(super) async fn undo(outbox: &OutboxAccess, args: UndoArgs) -> anyhow::Result<ExitCode> {
    let follow = LongChange::new("undo", "looked at", |_| "the same command again goes on".to_owned());
    let (by_hand, author) = (outbox.by_hand(), args.author.into_author());
    let tell = |progress| follow.tell(progress);
    let (done, stopped) = match follow.through(by_hand.undo_watched(args.audit_id, &author, &tell)).await? {
        Ok(done) => done,
        Err(code) => return Ok(code),
    };
    let Some(done) = done else {
        anyhow::bail!("no redrive has the audit entry {}", args.audit_id);
    };
    print_as(args.json, &done, undone)?;
    Ok(stopped.unwrap_or(ExitCode::SUCCESS))
}

pub(super) async fn purge(outbox: &OutboxAccess, args: PurgeArgs) -> anyhow::Result<ExitCode> {
    let selection = args.selection.into_selection(outbox).await?;
    if args.dry_run {
        return would(outbox, &selection, |meant| format!("{meant} would be deleted"), args.json).await;
    }
    if !args.yes {
        let found = outbox.desk().dead_groups(&selection).await?;
        let question = match DeadLetterCount::by(&found) {
            DeadLetterCount { counted: 1, more: false } => "delete this dead letter for good?".to_owned(),
            meant => format!("delete these {meant} dead letters for good?"),
        };
        if !confirmed(groups(&found), &question)? {
            anyhow::bail!("nothing was deleted");
        }
    }
    let follow = LongChange::new("purge", "deleted", |_| "nothing takes this back".to_owned());
    let (by_hand, author) = (outbox.by_hand(), args.author.into_author());
    let tell = |progress| follow.tell(progress);
    let (done, stopped) = match follow.through(by_hand.purge_watched(&selection, &author, &tell)).await? {
        Ok(done) => done,
        Err(code) => return Ok(code),
    };
    print_as(args.json, &done, purged)?;
    over(outbox, &selection, stopped, (done.meant, done.purged, &done.skipped)).await
}

/// The exit status of a change of `meant` messages. Where a filter found none, says which of its names are unknown.
async fn over(
    outbox: &OutboxAccess,
    selection: &Selection,
    stopped: Option<ExitCode>,
    (meant, changed, skipped): (u64, u64, &[Skipped]),
) -> anyhow::Result<ExitCode> {
    if meant == 0 {
        hint(outbox, selection).await?;
    }
    Ok(stopped.unwrap_or_else(|| nearest::ended(selection, meant, ended(changed, skipped))))
}

async fn would(
    outbox: &OutboxAccess,
    selection: &Selection,
    what: impl FnOnce(DeadLetterCount) -> String,
    json: bool,
) -> anyhow::Result<ExitCode> {
    let found = outbox.desk().dead_groups(selection).await?;
    if found.is_empty() && !json {
        hint(outbox, selection).await?;
    }
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

fn redriven(done: &Redriven, stopped: bool) -> String {
    let mut text = match done.meant {
        meant if meant > done.redriven => format!("{} of {meant} redriven", done.redriven),
        _ => format!("{} redriven", done.redriven),
    };
    if let Some(example) = done.messages.first() {
        let _ = write!(text, "\nlook at one:     outbox messages show {example}");
    }
    if done.meant > done.redriven + done.skipped.len() as u64 {
        let again = if stopped { "the same command" } else { "the same command without --canary" };
        let _ = write!(text, "\ngo on:           {again}");
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
