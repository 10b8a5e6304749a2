//! `outbox dead-letters redrive`, `undo` and `purge`.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::process::ExitCode;

use clap::Args;
use outbox_schema::desk::{DeadGroup, GROUPS, Pace, Purged, Redriven, Selection, Skips, Undoable, Undone};

use super::filter::SelectionArgs;
use super::list::{groups, hint};
use crate::known::number;
use crate::nearest;
use crate::pace::{Count, PaceArgs, changed_of, ended, go_on, last_due, left};
use crate::progress::LongChange;
use crate::session::{AuthorArgs, OutboxAccess, confirmed};
use outbox_console::text::{print_as, warning};

#[derive(Debug, Args)]
pub(crate) struct RedriveArgs {
    #[command(flatten)]
    selection: SelectionArgs,
    /// Say what would be redriven, and change nothing.
    #[arg(long)]
    pub(super) dry_run: bool,
    #[command(flatten)]
    pace: PaceArgs,
    #[command(flatten)]
    author: AuthorArgs,
    /// As JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct UndoArgs {
    /// The audit entry of the redrive or of the replay, which it printed.
    #[arg(value_parser = number)]
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
    pub(super) dry_run: bool,
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
    let pace = Pace::from(args.pace);
    if args.dry_run {
        return would(outbox, &selection, |meant| meant.would_be("redriven", pace), args.json).await;
    }
    let follow = LongChange::new("redrive", "redriven", |id| format!("take back: outbox dead-letters undo {id}"));
    let (by_hand, author) = (outbox.by_hand(), args.author.into_author());
    let tell = |progress| follow.tell(progress);
    let change = by_hand.redrive_watched(&selection, pace, &author, &tell);
    let (done, stopped) = match follow.through(change, (&*by_hand, &author)).await? {
        Ok(done) => done,
        Err(code) => return Ok(code),
    };
    print_as(args.json, &done, |done| redriven(done, pace, stopped.is_some()))?;
    over(outbox, &selection, stopped, (done.meant, done.redriven, &done.skipped)).await
}

pub(crate) async fn undo(outbox: &OutboxAccess, args: UndoArgs) -> anyhow::Result<ExitCode> {
    let follow = LongChange::new("undo", "looked at", |_| "the same command again goes on".to_owned());
    let (by_hand, author) = (outbox.by_hand(), args.author.into_author());
    let tell = |progress| follow.tell(progress);
    let change = by_hand.undo_watched(args.audit_id, &author, &tell);
    let (done, stopped) = match follow.through(change, (&*by_hand, &author)).await? {
        Ok(done) => done,
        Err(code) => return Ok(code),
    };
    let Some(done) = done else {
        anyhow::bail!("no redrive or replay has the audit entry {}", args.audit_id);
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
        if found.is_empty() {
            return would(outbox, &selection, |meant| format!("{meant} would be deleted"), args.json).await;
        }
        let question = match counted(&found) {
            Count { counted: 1, more: false } => "delete this dead letter for good?".to_owned(),
            meant => format!("delete these {meant} dead letters for good?"),
        };
        if !confirmed(groups(&found), &question)? {
            anyhow::bail!("nothing was deleted");
        }
    }
    let follow = LongChange::new("purge", "deleted", |_| "nothing takes this back".to_owned());
    let (by_hand, author) = (outbox.by_hand(), args.author.into_author());
    let tell = |progress| follow.tell(progress);
    let change = by_hand.purge_watched(&selection, &author, &tell);
    let (done, stopped) = match follow.through(change, (&*by_hand, &author)).await? {
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
    (meant, changed, skipped): (u64, u64, &Skips),
) -> anyhow::Result<ExitCode> {
    if meant == 0 {
        hint(outbox, selection).await?;
    }
    Ok(stopped.unwrap_or_else(|| nearest::ended(selection, meant, ended(changed, skipped))))
}

async fn would(
    outbox: &OutboxAccess,
    selection: &Selection,
    what: impl FnOnce(Count) -> String,
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
        page.line(format!("{}; nothing was changed", what(counted(found))));
        page
    })?;
    Ok(would_end(selection, counted(&found).counted))
}

/// The exit status of a dry run: that of the change itself, where named messages are no dead letters or a filter found none.
fn would_end(selection: &Selection, meant: u64) -> ExitCode {
    match selection {
        Selection::Ids(ids) if ids.iter().collect::<HashSet<_>>().len() as u64 > meant => {
            warning(&format!("not all of these {} messages are dead letters: {meant} are", ids.len()));
            ExitCode::FAILURE
        }
        Selection::Ids(_) | Selection::Filter(_) => nearest::ended(selection, meant, ExitCode::SUCCESS),
    }
}

/// The number of dead letters in groups.
fn counted(groups: &[DeadGroup]) -> Count {
    Count { counted: groups.iter().map(|group| group.count).sum(), more: groups.len() >= GROUPS }
}

fn redriven(done: &Redriven, pace: Pace, stopped: bool) -> String {
    let mut text = changed_of(done.redriven, done.meant, "redriven") + &last_due(done.redriven, pace);
    if let Some(example) = done.messages.first() {
        let _ = write!(text, "\nlook at one:     outbox messages show {example}");
    }
    text += &go_on(done.meant, done.redriven, done.skipped.count(), stopped);
    if let (Some(id), 1..) = (done.audit_id, done.redriven) {
        let _ = write!(text, "\ntake back:       outbox dead-letters undo {id}");
    }
    text + &left(&done.skipped)
}

fn undone(done: &Undone) -> String {
    let mut text = match done.undone {
        Undoable::Redrive => format!("{} returned to the dead letters", done.returned),
        Undoable::Replay => format!("{} are not sent again, and their rows removed", done.returned),
    };
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
