//! `outbox messages replay`: sends again what was delivered.

use std::process::ExitCode;

use clap::Args;
use outbox_desk::{Action, Change, Pace, ReplayManner};
use outbox_schema::MessageId;

use super::filter::FilterArgs;
use super::selection::selection;
use crate::changes::{make, would};
use crate::pace::PaceArgs;
use crate::session::{AuthorArgs, OutboxAccess};

#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  outbox messages replay 4711                            one, by its id or key
  outbox messages replay --target /orders --since 2h --dry-run
                                                         how many that would be
  outbox messages replay --target /orders --since 2h --rate 50/s --why \"the shop lost them\"")]
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
    let selection = selection(outbox, &args.messages, args.filter.into_filter(outbox)?, Action::Replay).await?;
    let MannerArgs { new_key, again, after } = args.manner;
    let change =
        Change::Replay { selection, manner: ReplayManner { new_key, again, after: after.map(MessageId), pace } };
    if args.dry_run {
        return would(outbox, &change, args.json).await;
    }
    make(outbox, &change, &args.author.into_author(), args.json).await
}
