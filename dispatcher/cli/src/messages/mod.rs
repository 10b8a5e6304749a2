//! `outbox messages`: lists messages, shows and explains one message, and cancels it.

mod explain;
mod list;
mod show;

use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::{Args, Subcommand};
use outbox_schema::desk::{Cancelled, MessageRecord};
use outbox_schema::{ByHand, Desk, MessageId};

use super::session::{AuthorArgs, OutboxAccess, Purpose};
use outbox_dispatcher::config::Config;
use outbox_dispatcher::text::print_as;

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
    /// Make a message that waits a dead letter, `cancelled`. Audited.
    Cancel(CancelArgs),
}

#[derive(Debug, Args)]
pub(super) struct CancelArgs {
    /// The id of the row.
    #[arg(required_unless_present = "key")]
    id: Option<i64>,
    /// Its idempotency key instead.
    #[arg(long, conflicts_with = "id")]
    key: Option<String>,
    #[command(flatten)]
    author: AuthorArgs,
    /// As JSON.
    #[arg(long)]
    json: bool,
}

pub(super) async fn messages(config: Config, url: Option<&str>, command: MessagesCommand) -> anyhow::Result<ExitCode> {
    let purpose = match command {
        MessagesCommand::List(_) | MessagesCommand::Show { .. } | MessagesCommand::Explain { .. } => Purpose::Look,
        MessagesCommand::Cancel(_) => Purpose::Change,
    };
    let outbox = OutboxAccess::by(&config, url, purpose).await?;
    let desk = outbox.desk();
    match command {
        MessagesCommand::List(args) => list::list(desk.as_ref(), args).await?,
        MessagesCommand::Show { message, json } => show(&outbox, &message, json).await?,
        MessagesCommand::Explain { message, json } => {
            explain::explain(&outbox, &message, json).await?;
        }
        MessagesCommand::Cancel(args) => cancel(desk.as_ref(), outbox.by_hand().as_ref(), args).await?,
    }
    Ok(ExitCode::SUCCESS)
}

async fn cancel(desk: &dyn Desk, by_hand: &dyn ByHand, args: CancelArgs) -> anyhow::Result<()> {
    let id = match (args.id, args.key) {
        (Some(id), _) => MessageId(id),
        (None, key) => {
            let key = key.unwrap_or_default();
            let found = desk.message_by_key(&key).await?;
            MessageId(found.with_context(|| format!("no message has the idempotency key `{key}`"))?.id)
        }
    };
    let cancelled = by_hand.cancel(id, &args.author.into_author()).await?;
    match &cancelled {
        Cancelled::Done { id } => print_as(args.json, &cancelled, |_| format!("message {id} is cancelled")),
        Cancelled::Refused(refused) => bail!("message {} was not cancelled: {}", refused.id, refused.because),
    }
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
    found.with_context(|| format!("no message has the id or the idempotency key `{message}`"))
}
