//! `outbox messages`: lists messages, shows and explains one message, cancels and replays.

mod cancel;
mod explain;
mod filter;
mod list;
mod replay;
mod selection;
mod show;

use std::process::ExitCode;

use anyhow::bail;
use clap::Subcommand;
use outbox_schema::desk::{MessageFilter, MessageRecord};
use outbox_schema::{Desk, MessageId};

use super::dead_letters::{UndoArgs, undo};
use super::session::{OutboxAccess, Purpose};
use outbox_dispatcher::config::Config;
use outbox_dispatcher::text::warning;

pub(super) use show::show;

#[derive(Debug, Subcommand)]
pub(super) enum MessagesCommand {
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
    Cancel(cancel::CancelArgs),
}

pub(super) async fn messages(config: Config, url: Option<&str>, command: MessagesCommand) -> anyhow::Result<ExitCode> {
    let purpose = match command {
        MessagesCommand::List(_) | MessagesCommand::Show { .. } | MessagesCommand::Explain { .. } => Purpose::Look,
        MessagesCommand::Replay(ref args) => Purpose::of(args.dry_run),
        MessagesCommand::Cancel(ref args) => Purpose::of(args.dry_run),
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
    }
    Ok(ExitCode::SUCCESS)
}

/// The message with this id or this idempotency key.
pub(super) async fn find(desk: &dyn Desk, message: &str) -> anyhow::Result<MessageRecord> {
    let by_id = match message.parse().map(MessageId) {
        Ok(id) => desk.message(id).await?,
        Err(_) => None,
    };
    let found = match by_id {
        Some(found) => Some(found),
        None => desk.message_by_key(message).await?,
    };
    match found {
        Some(found) => {
            if found.id.to_string() != message && found.idempotency_key != message {
                warning(&format!("message {} had the key `{message}` before it was edited", found.id));
            }
            Ok(found)
        }
        None => bail!("no message has the id or the idempotency key `{message}`{}", was_there(desk, message).await?),
    }
}

/// The id of the message that an operator names for a change. A number that no message has stays: the change says what came of it.
pub(super) async fn id_of(desk: &dyn Desk, message: &str) -> anyhow::Result<MessageId> {
    match (find(desk, message).await, message.parse()) {
        (Ok(found), _) => Ok(MessageId(found.id)),
        (Err(_), Ok(id)) => Ok(MessageId(id)),
        (Err(error), Err(_)) => Err(error),
    }
}

/// The ids of the messages that the operator names.
pub(super) async fn ids_of(desk: &dyn Desk, messages: &[String]) -> anyhow::Result<Vec<MessageId>> {
    let mut ids = Vec::new();
    for message in messages {
        ids.push(id_of(desk, message).await?);
    }
    Ok(ids)
}

/// What can be said of an id that no message has: whether it was given.
async fn was_there(desk: &dyn Desk, message: &str) -> anyhow::Result<String> {
    let newest = desk.messages(&MessageFilter::default(), None, 1).await?.messages;
    Ok(match (message.parse::<i64>(), newest.first()) {
        (Ok(id), Some(newest)) if id > 0 && id < newest.id => format!(
            ": ids up to {} were given, so it was removed (delivered messages are kept for retention.success, dead letters for \
             retention.dead), or never committed",
            newest.id
        ),
        (Ok(_), Some(newest)) => format!(": ids up to {} were given", newest.id),
        (Ok(_), None) | (Err(_), _) => String::new(),
    })
}
