//! `outbox messages`: all there is to know of one message, and cancelling it.

use std::fmt::Write as _;
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::{Args, Subcommand};
use outbox_schema::desk::{AttemptEntry, AuditEntry, Cancelled, MessageRecord, NamingClaim};
use outbox_schema::{ByHand, Desk, MessageId};

use super::session::{AuthorArgs, Reached};
use super::text::{print_as, span};
use crate::config::Config;

#[derive(Debug, Subcommand)]
pub(super) enum MessagesCommand {
    /// Show a message with its attempts and what was done to it.
    Show {
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
    let outbox = Reached::by(&config, url).await?;
    match command {
        MessagesCommand::Show { message, json } => show(outbox.desk().as_ref(), &message, json).await?,
        MessagesCommand::Cancel(args) => cancel(outbox.desk().as_ref(), outbox.by_hand().as_ref(), args).await?,
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

/// Prints a message, found by its id or by its key.
pub(super) async fn show(desk: &dyn Desk, message: &str, json: bool) -> anyhow::Result<()> {
    print_as(json, &find(desk, message).await?, in_words)
}

/// The message of that id or that key.
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

fn in_words(message: &MessageRecord) -> String {
    let mut text = String::new();
    let mut line = |name: &str, value: &str| {
        let _ = writeln!(text, "{name:<16} {value}");
    };
    let state = match &message.dead_reason {
        Some(reason) => format!("{} ({reason})", message.status),
        None => message.status.clone(),
    };
    let attempts = match message.max_attempts {
        Some(most) => format!("{} of {most}", message.attempts),
        None => message.attempts.to_string(),
    };
    line("message", &message.id.to_string());
    line("status", &state);
    line("channel", &message.channel);
    line("target", &message.target);
    line("destination", &message.destination);
    line("idempotency key", &message.idempotency_key);
    line("attempts", &attempts);
    line("created", &message.created_at);
    if message.status == "PENDING" {
        line("due", &message.available_at);
    }
    let optional = [
        ("put off since", &message.deferred_from),
        ("expires", &message.expires_at),
        ("first attempt", &message.first_attempt_at),
        ("finished", &message.finished_at),
        ("receipt", &message.receipt),
        ("last error", &message.last_error),
        ("ordering key", &message.ordering_key),
        ("headers", &message.headers),
        ("traceparent", &message.traceparent),
    ];
    for (name, value) in optional {
        if let Some(value) = value {
            line(name, value);
        }
    }
    line("payload", &message.payload);
    if let Some(claim) = &message.claim {
        text.push_str(&claimed(claim));
    }
    for attempt in &message.attempt_log {
        text.push_str(&attempted(attempt));
    }
    for entry in &message.audit {
        text.push_str(&audited(entry));
    }
    text
}

fn audited(entry: &AuditEntry) -> String {
    // The whole operation is what an undo asks for.
    let id = entry.part_of.unwrap_or(entry.id);
    let why = entry.why.as_ref().map_or_else(String::new, |why| format!(": {why}"));
    let mut text = format!("audit {id:<10} {} {} by {}{why}\n", entry.at, entry.action, entry.who);
    if let Some(details) = &entry.details {
        let _ = writeln!(text, "                 before: {details}");
    }
    text
}

fn claimed(claim: &NamingClaim) -> String {
    let settles = match &claim.settles_at {
        Some(at) => format!("; being settled until {at}"),
        None => String::new(),
    };
    format!("in flight        since {} by {} in epoch {}{settles}\n", claim.claimed_at, claim.holder, claim.epoch)
}

fn attempted(attempt: &AttemptEntry) -> String {
    let when = attempt.started_at.as_ref().or(attempt.claimed_at.as_ref()).map_or("", String::as_str);
    let took = attempt.duration_ms.map_or_else(String::new, |ms| format!(" after {}", span(ms)));
    let code = attempt.status_code.map_or_else(String::new, |code| format!(" [{code}]"));
    let mut text = format!(
        "attempt {:<8} {when} {}{code}{took}, epoch {} on {}",
        attempt.number, attempt.outcome, attempt.epoch, attempt.holder
    );
    if let Some(error) = &attempt.error {
        let _ = write!(text, ": {error}");
    }
    text.push('\n');
    if let Some(excerpt) = &attempt.excerpt {
        let _ = writeln!(text, "                 answer: {}", excerpt.trim());
    }
    text
}
