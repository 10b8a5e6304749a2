//! `outbox destinations`: shows what holds destinations up, pauses them and resumes them.

use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Subcommand};
use clap_complete::ArgValueCandidates;
use outbox_desk::{DestinationEntry, HeldUp, Paused, Resumed};

use super::session::{AuthorArgs, Misuse, OutboxAccess, Purpose, ReasonedArgs};
use crate::completions;
use outbox_admin::api::pause_length;
use outbox_config::Config;
use outbox_console::text::{Cell, Page, print_as, shortened, span, to_the_second};

#[derive(Debug, Subcommand)]
pub(super) enum DestinationsCommand {
    /// What holds destinations and channels up, and how many rows wait for that.
    List(ListArgs),
    /// Send nothing to a destination, or to a whole channel, for a while. Audited.
    Pause(PauseArgs),
    /// End every pause of a destination, or of a channel; what waited is due again. Audited.
    Resume(ResumeArgs),
}

impl DestinationsCommand {
    /// Whether the command only shows something.
    pub(super) fn looks(&self) -> bool {
        matches!(self, Self::List(_))
    }
}

#[derive(Debug, Args)]
pub(super) struct ListArgs {
    /// Also those that nothing holds up.
    #[arg(long)]
    all: bool,
    /// As JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(super) struct PauseArgs {
    /// A channel, or a URL of the destination, as `https://shop.example`.
    #[arg(add = ArgValueCandidates::new(completions::channels))]
    name: String,
    /// For how long, as 2h [default: until somebody resumes it].
    #[arg(long = "for", value_name = "TIME", value_parser = pause_length)]
    lasting: Option<Duration>,
    #[command(flatten)]
    author: ReasonedArgs,
    /// As JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(super) struct ResumeArgs {
    /// A channel, or a URL of the destination, as `https://shop.example`.
    #[arg(add = ArgValueCandidates::new(completions::channels))]
    name: String,
    #[command(flatten)]
    author: AuthorArgs,
    /// As JSON.
    #[arg(long)]
    json: bool,
}

pub(super) async fn destinations(
    config: Config,
    url: Option<&str>,
    command: DestinationsCommand,
) -> anyhow::Result<ExitCode> {
    let purpose = match command {
        DestinationsCommand::List(_) => Purpose::Look,
        DestinationsCommand::Pause(_) | DestinationsCommand::Resume(_) => Purpose::Change,
    };
    let outbox = OutboxAccess::by(&config, url, purpose).await?;
    match command {
        DestinationsCommand::List(ListArgs { all, json }) => {
            print_as(json, &outbox.desk().destinations(all).await?[..], list)?;
        }
        DestinationsCommand::Pause(PauseArgs { name, lasting, author, json }) => {
            let (destination, author) = (outbox.destination(&name)?, author.into_author());
            if author.why.is_empty() {
                return Err(Misuse::new("say --why: it is what others are told while the pause lasts").into());
            }
            print_as(json, &outbox.by_hand().pause(&destination, lasting, &author).await?, paused)?;
        }
        DestinationsCommand::Resume(ResumeArgs { name, author, json }) => {
            let destination = outbox.destination(&name)?;
            print_as(json, &outbox.by_hand().resume(&destination, &author.into_author()).await?, resumed)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn list(entries: &[DestinationEntry]) -> Page {
    if entries.is_empty() {
        return "nothing is held up".into();
    }
    let rows = entries.iter().map(|entry| {
        [
            entry.destination.clone().into(),
            Cell::state(held(&entry.held)),
            Cell::whole(entry.failures),
            Cell::whole(entry.waiting),
            shortened(entry.reason.as_deref().unwrap_or("-"), 200).into(),
        ]
    });
    let mut page = Page::default();
    page.table(["DESTINATION", "STATE", "FAILURES", "WAITING", "REASON"], rows);
    page
}

pub(super) fn held(held: &HeldUp) -> String {
    match held {
        HeldUp::Paused { by, until: _, remaining_ms } => {
            let left = remaining_ms.map_or_else(String::new, |left| format!(" for {}", span(left)));
            let by = by.as_deref().map_or_else(String::new, |by| format!(" by {by}"));
            format!("paused{left}{by}")
        }
        HeldUp::Broken { until: _, remaining_ms: remaining @ 1.. } => {
            format!("breaker open for {}", span(*remaining))
        }
        HeldUp::Broken { until: _, remaining_ms: _ } => "breaker open: being tried with a few messages".to_owned(),
        HeldUp::Asked { until: _, remaining_ms } => format!("asked to be left alone for {}", span(*remaining_ms)),
        HeldUp::Aside { until: _, remaining_ms } => format!("rows put aside for {}", span(*remaining_ms)),
        HeldUp::Open => "takes messages".to_owned(),
    }
}

fn paused(done: &Paused) -> String {
    let until = done.until.as_deref().map_or_else(|| "somebody resumes it".to_owned(), to_the_second);
    format!(
        "{0} is paused until {until}; what is in flight goes on\ntake back:       outbox destinations resume {0}",
        done.destination
    )
}

fn resumed(done: &Resumed) -> String {
    match (done.audit_id, done.brought_back) {
        (None, _) => format!("nothing held {} up", done.destination),
        (Some(_), 0) => format!("{} takes messages again", done.destination),
        (Some(_), 1) => format!("{} takes messages again; 1 that waited is due again", done.destination),
        (Some(_), back) => format!("{} takes messages again; {back} that waited are due again", done.destination),
    }
}
