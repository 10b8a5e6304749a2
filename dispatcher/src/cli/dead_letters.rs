//! `outbox dead-letters`: what could not be delivered, and sending it again.

use std::fmt::Write as _;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::bail;
use clap::{Args, Subcommand};
use outbox_schema::desk::{DeadLetter, DeadLetterFilter, Selection};
use outbox_schema::{DeadReason, Desk, MessageId};

use super::messages::show;
use super::session;
use super::text::{print_as, shortened, table};
use crate::config::Config;

#[derive(Debug, Subcommand)]
pub(super) enum DeadLettersCommand {
    /// List dead letters, the newest message first.
    List {
        #[command(flatten)]
        filter: FilterArgs,
        /// Only messages with an id below this one: where the last page ended.
        #[arg(long, value_name = "ID")]
        before: Option<i64>,
        /// At most this many.
        #[arg(long, default_value_t = 100)]
        limit: u32,
        /// As JSON.
        #[arg(long)]
        json: bool,
    },
    /// Show a dead letter with its attempts.
    Show {
        /// The id of the row, or its idempotency key.
        message: String,
        /// As JSON.
        #[arg(long)]
        json: bool,
    },
    /// Make dead letters due again, with attempts and age starting anew. Audited.
    Redrive(RedriveArgs),
}

#[derive(Debug, Args)]
pub(super) struct FilterArgs {
    /// Only of this channel.
    #[arg(long)]
    channel: Option<String>,
    /// Only dead for this reason: `permanent`, `exhausted`, `expired`, `in_doubt` or `cancelled`.
    #[arg(long, value_parser = reason)]
    reason: Option<DeadReason>,
    /// Only of this destination, for example `https://shop.example:443`.
    #[arg(long)]
    destination: Option<String>,
    /// Only dead for no longer than this, for example 2h.
    #[arg(long, value_parser = humantime::parse_duration)]
    since: Option<Duration>,
}

#[derive(Debug, Args)]
pub(super) struct RedriveArgs {
    /// The ids of the messages.
    ids: Vec<i64>,
    #[command(flatten)]
    filter: FilterArgs,
    /// All dead letters, where there is neither an id nor a filter.
    #[arg(long)]
    all: bool,
    /// Why, for the audit.
    #[arg(long, default_value = "")]
    why: String,
    /// Who, for the audit [default: the user of the system].
    #[arg(long)]
    by: Option<String>,
    /// As JSON.
    #[arg(long)]
    json: bool,
}

pub(super) async fn dead_letters(config: Config, command: DeadLettersCommand) -> anyhow::Result<ExitCode> {
    let desk = session::desk(&config).await?;
    match command {
        DeadLettersCommand::List { filter, before, limit, json } => {
            let filter = DeadLetterFilter { before: before.map(MessageId), limit: Some(limit), ..filter.into_filter() };
            list(desk.as_ref(), &filter, json).await?;
        }
        DeadLettersCommand::Show { message, json } => show(desk.as_ref(), &message, json).await?,
        DeadLettersCommand::Redrive(args) => redrive(desk.as_ref(), args).await?,
    }
    Ok(ExitCode::SUCCESS)
}

async fn list(desk: &dyn Desk, filter: &DeadLetterFilter, json: bool) -> anyhow::Result<()> {
    let letters = desk.dead_letters(filter).await?;
    print_as(json, &letters, |letters| as_table(letters, filter))
}

fn as_table(letters: &[DeadLetter], filter: &DeadLetterFilter) -> String {
    let Some(last) = letters.last() else {
        return "no dead letters".to_owned();
    };
    let rows: Vec<_> = letters
        .iter()
        .map(|letter| {
            [
                letter.id.to_string(),
                letter.channel.clone(),
                letter.dead_reason.clone().unwrap_or_default(),
                letter.attempts.to_string(),
                letter.finished_at.clone().unwrap_or_default(),
                shortened(&letter.target, 40),
                shortened(letter.last_error.as_deref().unwrap_or(""), 80),
            ]
        })
        .collect();
    let mut text = table(["ID", "CHANNEL", "REASON", "ATTEMPTS", "DEAD SINCE", "TARGET", "ERROR"], &rows);
    if filter.limit.is_some_and(|limit| rows.len() >= limit as usize) {
        let _ = writeln!(text, "more with --before {}", last.id);
    }
    text
}

async fn redrive(desk: &dyn Desk, args: RedriveArgs) -> anyhow::Result<()> {
    let selection = selection(args.ids, args.filter, args.all)?;
    let done = desk.redrive(&selection, &session::author(args.by), &args.why).await?;
    print_as(args.json, &done, |done| {
        let mut text = format!("{} redriven", done.redriven.len());
        if !done.skipped.is_empty() {
            let skipped: Vec<_> = done.skipped.iter().map(ToString::to_string).collect();
            let _ = write!(text, "; left as they are (not there, not dead, or in flight): {}", skipped.join(", "));
        }
        text
    })
}

fn selection(ids: Vec<i64>, filter: FilterArgs, all: bool) -> anyhow::Result<Selection> {
    let filter = filter.into_filter();
    let filtered = filter != DeadLetterFilter::default();
    match (ids.is_empty(), filtered, all) {
        (false, false, false) => Ok(Selection::Ids(ids.into_iter().map(MessageId).collect())),
        (true, true, false) | (true, false, true) => Ok(Selection::Filter(filter)),
        (true, false, false) => bail!("name the ids of dead letters, a filter such as --channel, or --all"),
        (false, ..) | (true, true, true) => bail!("name either ids, or a filter, or --all"),
    }
}

impl FilterArgs {
    fn into_filter(self) -> DeadLetterFilter {
        let Self { channel, reason, destination, since } = self;
        DeadLetterFilter { channel, reason, destination, since, before: None, limit: None }
    }
}

fn reason(word: &str) -> Result<DeadReason, String> {
    let named = DeadReason::ALL.into_iter().find(|reason| reason.as_str() == word);
    named.ok_or_else(|| {
        let known: Vec<_> = DeadReason::ALL.iter().map(|reason| reason.as_str()).collect();
        format!("it must be one of {}", known.join(", "))
    })
}
