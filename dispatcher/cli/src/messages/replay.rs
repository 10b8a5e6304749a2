//! `outbox messages replay`: sends again what was delivered.

use std::fmt::Write as _;
use std::process::ExitCode;

use clap::Args;
use outbox_console::text::{Page, print_as};
use outbox_schema::MessageId;
use outbox_schema::desk::{MessageChange, MessageGroup, Pace, ReplayManner, Replayed};

use super::filter::FilterArgs;
use super::selection::{counted, over, selection, table_of};
use crate::pace::{PaceArgs, changed_of, ended, go_on, last_due, left};
use crate::progress::LongChange;
use crate::session::{AuthorArgs, OutboxAccess};

#[derive(Debug, Args)]
pub(crate) struct ReplayArgs {
    /// The ids of the rows, or their idempotency keys; or a filter instead.
    #[arg(value_name = "MESSAGE")]
    messages: Vec<String>,
    #[command(flatten)]
    filter: FilterArgs,
    #[command(flatten)]
    manner: MannerArgs,
    /// Say what would be replayed, and change nothing.
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
struct MannerArgs {
    /// Send each under a new idempotency key: for a receiver that remembers the old one and would not look again.
    #[arg(long)]
    new_key: bool,
    /// Also those that were replayed before. Without it a command can be repeated, and sends nothing twice.
    #[arg(long)]
    again: bool,
    /// Only messages with a higher id: how a canary with --again is gone on from.
    #[arg(long, value_name = "ID")]
    after: Option<i64>,
}

pub(super) async fn replay(outbox: &OutboxAccess, args: ReplayArgs) -> anyhow::Result<ExitCode> {
    let pace = Pace::from(args.pace);
    let selection = selection(outbox, &args.messages, args.filter.into_filter(outbox)?, MessageChange::Replay).await?;
    let MannerArgs { new_key, again, after } = args.manner;
    if args.dry_run {
        let found = outbox.desk().message_groups(MessageChange::Replay, &selection).await?;
        print_as(args.json, &found[..], |found| would(found, again, pace))?;
        return over(outbox, &selection, found.len() as u64, ExitCode::SUCCESS).await;
    }
    let follow = LongChange::new("replay", "replayed", |id| format!("take back: outbox messages undo {id}"));
    let (by_hand, author) = (outbox.by_hand(), args.author.into_author());
    let tell = |progress| follow.tell(progress);
    let manner = ReplayManner { new_key, again, after: after.map(MessageId), pace };
    let change = by_hand.replay_watched(&selection, manner, &author, &tell);
    let (done, stopped) = match follow.through(change, (&*by_hand, &author)).await? {
        Ok(done) => done,
        Err(code) => return Ok(code),
    };
    print_as(args.json, &done, |done| replayed(done, (again, pace), stopped.is_some()))?;
    let otherwise = stopped.unwrap_or_else(|| ended(done.replayed, &done.skipped));
    over(outbox, &selection, done.meant, otherwise).await
}

fn would(groups: &[MessageGroup], again: bool, pace: Pace) -> Page {
    let mut text = table_of(groups);
    let mut count = counted(groups);
    let before: u64 = groups.iter().map(|group| group.replayed).sum();
    let mut left_out = String::new();
    if before > 0 && !again {
        count.counted = count.counted.saturating_sub(before);
        left_out = format!(", and {before} that were replayed before left out (--again)");
    }
    text.line(format!("{}{left_out}; nothing was changed", count.would_be("replayed", pace)));
    text
}

fn replayed(done: &Replayed, (again, pace): (bool, Pace), stopped: bool) -> String {
    let mut text = changed_of(done.replayed, done.meant, "replayed") + &last_due(done.replayed, pace);
    if let Some(example) = done.replays.first() {
        let _ = write!(text, "\nlook at one:     outbox messages show {}", example.id);
    }
    let rest = go_on(done.meant, done.replayed, done.skipped.count(), stopped);
    match done.last {
        // The same command would send once more what this one has sent.
        Some(last) if again && !rest.is_empty() => {
            let _ = write!(text, "\ngo on:           the same command with --after {last}, without --canary");
        }
        _ => text += &rest,
    }
    if let (Some(id), 1..) = (done.audit_id, done.replayed) {
        let _ = write!(text, "\ntake back:       outbox messages undo {id}");
    }
    text + &left(&done.skipped)
}
