//! The commands of `outbox dead-letters`.

use std::process::ExitCode;

use clap::Subcommand;
use outbox_config::Config;

use super::change::{self};
use super::{edit, list};
use crate::messages::show;
use crate::session::{OutboxAccess, Purpose};

#[derive(Debug, Subcommand)]
pub(crate) enum DeadLettersCommand {
    /// Count dead letters by what they have in common, or list them.
    List(list::ListArgs),
    /// Show a dead letter with its attempts and what was done to it.
    Show {
        /// The id of the row, or its idempotency key.
        message: String,
        /// As JSON.
        #[arg(long)]
        json: bool,
    },
    /// Give dead letters another payload, target or headers, and a new idempotency key each. Audited.
    Edit(edit::EditArgs),
    /// Make dead letters due again, with attempts and age starting anew. Audited.
    Redrive(change::RedriveArgs),
    /// Take back what a redrive did to messages that have not been sent since. Audited.
    Undo(change::UndoArgs),
    /// Delete dead letters and their attempts. Audited.
    Purge(change::PurgeArgs),
}

impl DeadLettersCommand {
    /// Whether the command only shows something.
    pub(crate) fn looks(&self) -> bool {
        matches!(self, Self::List(_) | Self::Show { .. })
    }
}

pub(crate) async fn dead_letters(
    config: Config,
    url: Option<&str>,
    command: DeadLettersCommand,
) -> anyhow::Result<ExitCode> {
    let purpose = match command {
        DeadLettersCommand::List(_) | DeadLettersCommand::Show { .. } => Purpose::Look,
        DeadLettersCommand::Redrive(ref args) => Purpose::of(args.dry_run),
        DeadLettersCommand::Purge(ref args) => Purpose::of(args.dry_run),
        DeadLettersCommand::Edit(_) | DeadLettersCommand::Undo(_) => Purpose::Change,
    };
    let outbox = OutboxAccess::by(&config, url, purpose).await?;
    match command {
        DeadLettersCommand::List(args) => list::list(&outbox, args).await?,
        DeadLettersCommand::Show { message, json } => show(&outbox, &message, json).await?,
        DeadLettersCommand::Edit(args) => return edit::edit(&config, &outbox, args).await,
        DeadLettersCommand::Redrive(args) => return change::redrive(&outbox, args).await,
        DeadLettersCommand::Undo(args) => return change::undo(&outbox, args).await,
        DeadLettersCommand::Purge(args) => return change::purge(&outbox, args).await,
    }
    Ok(ExitCode::SUCCESS)
}
