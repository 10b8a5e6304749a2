//! `outbox recurring`: shows when recurring messages are due, pauses them, resumes them, and has one written at once.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use clap_complete::ArgValueCandidates;
use jiff::Timestamp;
use outbox_config::Config;
use outbox_config::recurring::Timetable;
use outbox_console::text::{Cell, Page, print_as, to_the_second};
use outbox_desk::{RecurringAction, RecurringDone, RecurringEntry};
use serde::Serialize;

use super::session::{AuthorArgs, OutboxAccess, Purpose};
use crate::completions;

#[derive(Debug, Subcommand)]
pub(super) enum RecurringCommand {
    /// The recurring messages that a poller knows, and when each is due.
    List(ListArgs),
    /// The next times of one of them.
    Next(NextArgs),
    /// Let its times pass without a message, until somebody resumes it. Audited.
    Pause(ChangeArgs),
    /// Go on with its next time; what passed meanwhile is not made up for. Audited.
    Resume(ChangeArgs),
    /// Have the poller write one at once, also while it is paused. Audited.
    Fire(ChangeArgs),
}

impl RecurringCommand {
    /// Whether the command only shows something.
    pub(super) fn looks(&self) -> bool {
        matches!(self, Self::List(_) | Self::Next(_))
    }
}

#[derive(Debug, Args)]
pub(super) struct ListArgs {
    /// As JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(super) struct NextArgs {
    /// The name: NAME of [recurring.NAME].
    #[arg(add = ArgValueCandidates::new(completions::recurring))]
    name: String,
    /// How many of the next times to show.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    limit: u32,
    /// As JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(super) struct ChangeArgs {
    /// The name: NAME of [recurring.NAME].
    #[arg(add = ArgValueCandidates::new(completions::recurring))]
    name: String,
    #[command(flatten)]
    author: AuthorArgs,
    /// As JSON.
    #[arg(long)]
    json: bool,
}

/// A time, and how the clocks of its zone show it.
#[derive(Debug, Serialize)]
struct Next {
    at: String,
    local: String,
}

pub(super) async fn recurring(
    config: Config,
    url: Option<&str>,
    command: RecurringCommand,
) -> anyhow::Result<ExitCode> {
    let purpose = if command.looks() { Purpose::Look } else { Purpose::Change };
    let (action, args) = match command {
        // The settings are enough, and a name need not be known to a poller yet.
        RecurringCommand::Next(args) => return next(&config, url, args).await,
        RecurringCommand::List(ListArgs { json }) => {
            let outbox = OutboxAccess::by(&config, url, purpose).await?;
            print_as(json, &outbox.desk().recurring().await?[..], list)?;
            return Ok(ExitCode::SUCCESS);
        }
        RecurringCommand::Pause(args) => (RecurringAction::Pause, args),
        RecurringCommand::Resume(args) => (RecurringAction::Resume, args),
        RecurringCommand::Fire(args) => (RecurringAction::Fire, args),
    };
    let outbox = OutboxAccess::by(&config, url, purpose).await?;
    let ChangeArgs { name, author, json } = args;
    let done = outbox.by_hand().change_recurring(&name, action, &author.into_author()).await?;
    let done = done.ok_or_else(|| unknown(&name))?;
    print_as(json, &done, |done| said(action, done))?;
    Ok(ExitCode::SUCCESS)
}

/// The next times of a message of the settings, or else of one that a poller knows.
async fn next(config: &Config, url: Option<&str>, args: NextArgs) -> anyhow::Result<ExitCode> {
    let NextArgs { name, limit, json } = args;
    let timetable = if let Some(recurring) = config.recurring.get(&name).filter(|_| url.is_none()) {
        recurring.timetable.clone()
    } else {
        let known = OutboxAccess::by(config, url, Purpose::Look).await?.desk().recurring().await?;
        let known = known.into_iter().find(|known| known.name == name).ok_or_else(|| unknown(&name))?;
        Timetable::parse(&known.cron, &known.timezone).map_err(anyhow::Error::msg)?
    };
    let after = |time: &Timestamp| timetable.after(*time);
    let times = std::iter::successors(after(&Timestamp::now()), after).take(usize::try_from(limit)?);
    let times: Vec<_> = times.map(|time| Next { at: time.to_string(), local: timetable.shown(time) }).collect();
    print_as(json, &times[..], |times| {
        let mut page = Page::default();
        page.table(["AT", "LOCAL"], times.iter().map(|next| [Cell::time(&next.at), next.local.clone().into()]));
        page
    })?;
    Ok(ExitCode::SUCCESS)
}

fn unknown(name: &str) -> anyhow::Error {
    anyhow::anyhow!("no poller has known a recurring message {name:?}: see `outbox recurring list`")
}

fn list(entries: &[RecurringEntry]) -> Page {
    if entries.is_empty() {
        return "no poller has known a recurring message".into();
    }
    let time =
        |time: &Option<String>| time.as_deref().map_or_else(|| "-".into(), |time| Cell::time(to_the_second(time)));
    let rows = entries.iter().map(|entry| {
        [
            entry.name.clone().into(),
            entry.cron.clone().into(),
            entry.timezone.clone().into(),
            Cell::state(state(entry)),
            time(&entry.fired_for),
            time(&entry.next_at),
        ]
    });
    let mut page = Page::default();
    page.table(["NAME", "CRON", "TIMEZONE", "STATE", "LAST", "NEXT"], rows);
    page
}

fn state(entry: &RecurringEntry) -> String {
    let by = || entry.paused_by.as_deref().map_or_else(String::new, |by| format!(" by {by}"));
    let paused = entry.paused_at.as_ref().map(|_| format!("paused{}", by()));
    paused.unwrap_or_else(|| "on".to_owned())
}

fn said(action: RecurringAction, done: &RecurringDone) -> String {
    let name = &done.recurring.name;
    match (action, done.audit_id) {
        (RecurringAction::Pause, Some(_)) => {
            format!(
                "{name} is paused; its times pass without a message\ntake back:       outbox recurring resume {name}"
            )
        }
        (RecurringAction::Pause, None) => format!("{name} was {} already", state(&done.recurring)),
        (RecurringAction::Resume, Some(_)) => format!("{name} goes on with its next time"),
        (RecurringAction::Resume, None) => format!("{name} was not paused"),
        (RecurringAction::Fire, Some(_)) => format!("the poller writes {name} within a second"),
        (RecurringAction::Fire, None) => {
            format!("somebody has asked for {name} already, and the poller has not written it yet")
        }
    }
}
