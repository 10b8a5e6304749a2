//! `outbox dead-letters redrive`, `undo` and `purge`.

use std::process::ExitCode;

use clap::Args;
use outbox_desk::{Change, Preview};

use super::filter::SelectionArgs;
use super::list::groups;
use crate::changes::{count, make, would};
use crate::known::number;
use crate::pace::{Count, PaceArgs};
use crate::session::{AuthorArgs, OutboxAccess, confirmed};

#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  outbox dead-letters redrive 4711                       one, by its id or key
  outbox dead-letters redrive --status-code 503 --since 2h --dry-run
                                                         how many that would be
  outbox dead-letters redrive --status-code 503 --since 2h --canary 10
                                                         ten of them first
  outbox dead-letters redrive --status-code 503 --since 2h --rate 50/s")]
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
    let change = Change::Redrive { selection, pace: args.pace.into() };
    if args.dry_run {
        return would(outbox, &change, args.json).await;
    }
    make(outbox, &change, &args.author.into_author(), args.json).await
}

pub(crate) async fn undo(outbox: &OutboxAccess, args: UndoArgs) -> anyhow::Result<ExitCode> {
    make(outbox, &Change::undo(args.audit_id), &args.author.into_author(), args.json).await
}

pub(super) async fn purge(outbox: &OutboxAccess, args: PurgeArgs) -> anyhow::Result<ExitCode> {
    let change = Change::Purge { selection: args.selection.into_selection(outbox).await? };
    if args.dry_run {
        return would(outbox, &change, args.json).await;
    }
    if !args.yes {
        let preview = Preview::of(outbox.desk().as_ref(), &change).await?;
        let (preview, found) = match &preview {
            Some(preview @ Preview::Letters(found)) if !found.is_empty() => (preview, found),
            _ => return would(outbox, &change, args.json).await,
        };
        let question = match count(preview) {
            Count { counted: 1, more: false } => "delete this dead letter for good?".to_owned(),
            meant => format!("delete these {meant} dead letters for good?"),
        };
        if !confirmed(groups(found), &question)? {
            anyhow::bail!("nothing was deleted");
        }
    }
    make(outbox, &change, &args.author.into_author(), args.json).await
}
