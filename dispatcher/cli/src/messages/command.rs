//! The commands of `outbox messages`.

use std::process::ExitCode;

use clap::Subcommand;
use outbox_config::Config;

use super::show::show;
use super::{cancel, explain, list, replay, retry, waiting};
use crate::dead_letters::{UndoArgs, undo};
use crate::session::{OutboxAccess, Purpose};

#[derive(Debug, Subcommand)]
pub(crate) enum MessagesCommand {
    /// List messages without their bodies, the newest first.
    List(list::ListArgs),
    /// Show a message and its life: each attempt, what was done to it, and what it waits for.
    Show {
        /// The id of the row, or its idempotency key.
        message: String,
        /// As JSON.
        #[arg(long)]
        json: bool,
    },
    /// Say why a message has not been sent, and why it was sent twice.
    Explain {
        /// The id of the row, or its idempotency key.
        message: String,
        /// As JSON.
        #[arg(long)]
        json: bool,
    },
    /// Send again what was delivered, each by a row of its own. Audited.
    Replay(replay::ReplayArgs),
    /// Take back the rows of a replay that have not been sent since. Audited.
    Undo(UndoArgs),
    /// Make messages that wait dead letters, `cancelled`. Audited.
    Cancel(waiting::WaitingArgs),
    /// Make messages due now that wait for another attempt. Audited.
    ///
    /// Attempts and age go on. A filter means only messages that were tried. By its id or key a message is made due also where it
    /// was never tried, and is scheduled for later. What is in flight, due already or deferred, as by a pause, is left and named.
    Retry(waiting::WaitingArgs),
}

impl MessagesCommand {
    /// Whether the command only shows something.
    pub(crate) fn looks(&self) -> bool {
        matches!(self, Self::List(_) | Self::Show { .. } | Self::Explain { .. })
    }

    /// Whether the command replays messages. That asks for rights that other changes do not ask for.
    pub(crate) fn replays(&self) -> bool {
        matches!(self, Self::Replay(args) if !args.dry_run)
    }
}

pub(crate) async fn messages(config: Config, url: Option<&str>, command: MessagesCommand) -> anyhow::Result<ExitCode> {
    let purpose = match command {
        MessagesCommand::List(_) | MessagesCommand::Show { .. } | MessagesCommand::Explain { .. } => Purpose::Look,
        MessagesCommand::Replay(ref args) => Purpose::of(args.dry_run),
        MessagesCommand::Cancel(ref args) | MessagesCommand::Retry(ref args) => Purpose::of(args.dry_run),
        MessagesCommand::Undo(_) => Purpose::Change,
    };
    let outbox = OutboxAccess::by(&config, url, purpose).await?;
    match command {
        MessagesCommand::List(args) => list::list(&outbox, args).await?,
        MessagesCommand::Show { message, json } => show(&outbox, &message, json).await?,
        MessagesCommand::Explain { message, json } => {
            explain::explain(&outbox, &message, json).await?;
        }
        MessagesCommand::Replay(args) => return replay::replay(&outbox, args).await,
        MessagesCommand::Undo(args) => return undo(&outbox, args).await,
        MessagesCommand::Cancel(args) => return cancel::cancel(&outbox, args).await,
        MessagesCommand::Retry(args) => return retry::retry(&outbox, args).await,
    }
    Ok(ExitCode::SUCCESS)
}
