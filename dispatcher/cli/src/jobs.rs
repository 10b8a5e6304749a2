//! `outbox jobs`: shows the jobs of `outbox exclusive` and their runs, and pauses and resumes them.

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context;
use clap::{Args, Subcommand};
use clap_complete::ArgValueCandidates;
use outbox_config::Config;
use outbox_console::release::release_job;
use outbox_console::text::{Cell, Page, print_as, span, to_the_second};
use outbox_desk::{JobAction, JobDone, JobEntry, JobRunEntry, JobRunPage};
use outbox_dispatcher::wiring;

use super::known::number;
use super::session::{AuthorArgs, OutboxAccess, Purpose};
use crate::completions;

/// The column of the values of a run.
const COLUMN: usize = 10;

#[derive(Debug, Subcommand)]
pub(super) enum JobsCommand {
    /// The jobs that have run somewhere, and how each stands.
    List(ListArgs),
    /// The runs of a job, the newest first.
    History(HistoryArgs),
    /// Show one run, with the last that it wrote.
    Show(ShowArgs),
    /// Let no run of a job begin, until somebody resumes it. A run that goes on is left alone. Audited.
    Pause(ChangeArgs),
    /// Let its runs begin again. Audited.
    Resume(ChangeArgs),
    /// Take the seat from whoever has it, so that another may begin at once. By its next renewal that run is told to end, and has
    /// --kill-after. Audited.
    Release(ChangeArgs),
}

impl JobsCommand {
    /// Whether the command only shows something.
    pub(super) fn looks(&self) -> bool {
        matches!(self, Self::List(_) | Self::History(_) | Self::Show(_))
    }
}

#[derive(Debug, Args)]
pub(super) struct ListArgs {
    /// As JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(super) struct HistoryArgs {
    /// The name of the job.
    #[arg(add = ArgValueCandidates::new(completions::jobs))]
    name: String,
    /// At most this many.
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    limit: u32,
    /// From where the last page ended: only runs before this one.
    #[arg(long, value_name = "RUN", value_parser = number)]
    after: Option<i64>,
    /// As JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(super) struct ShowArgs {
    /// The name of the job.
    #[arg(add = ArgValueCandidates::new(completions::jobs))]
    name: String,
    /// The run: its token, as `outbox jobs history` lists it.
    #[arg(value_parser = number)]
    run: i64,
    /// As JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(super) struct ChangeArgs {
    /// The name of the job.
    #[arg(add = ArgValueCandidates::new(completions::jobs))]
    name: String,
    #[command(flatten)]
    author: AuthorArgs,
    /// As JSON.
    #[arg(long)]
    json: bool,
}

pub(super) async fn jobs(config: Config, url: Option<&str>, command: JobsCommand) -> anyhow::Result<ExitCode> {
    let purpose = if command.looks() { Purpose::Look } else { Purpose::Change };
    let outbox = OutboxAccess::by(&config, url, purpose).await?;
    match command {
        JobsCommand::List(ListArgs { json }) => print_as(json, &outbox.desk().jobs().await?[..], list)?,
        JobsCommand::History(HistoryArgs { name, limit, after, json }) => {
            let found = outbox.desk().job_runs(&name, after, limit).await?;
            print_as(json, &found.ok_or_else(|| unknown(&name))?, |page| history(&name, page))?;
        }
        JobsCommand::Show(ShowArgs { name, run, json }) => {
            let found = outbox.desk().job_run(&name, run).await?;
            let missing = || format!("no run {run} of a job {name:?} is kept: see `outbox jobs history {name}`");
            print_as(json, &found.with_context(missing)?, |run| shown(&name, run))?;
        }
        JobsCommand::Pause(args) => change(&outbox, JobAction::Pause, args).await?,
        JobsCommand::Resume(args) => change(&outbox, JobAction::Resume, args).await?,
        JobsCommand::Release(args) => release_by(&config, &outbox, args).await?,
    }
    Ok(ExitCode::SUCCESS)
}

async fn change(outbox: &OutboxAccess, action: JobAction, args: ChangeArgs) -> anyhow::Result<()> {
    let ChangeArgs { name, author, json } = args;
    let done = outbox.by_hand().change_job(&name, action, &author.into_author()).await?;
    print_as(json, &done.ok_or_else(|| unknown(&name))?, |done| said(action, done))?;
    Ok(())
}

/// A replica asks its own lease store; else that of the settings is asked.
async fn release_by(config: &Config, outbox: &OutboxAccess, args: ChangeArgs) -> anyhow::Result<()> {
    let OutboxAccess::Database(database, _) = outbox else { return change(outbox, JobAction::Release, args).await };
    let ChangeArgs { name, author, json } = args;
    let meta = database.require(&config.database.environment).await?;
    let lease = wiring::lease(config, &meta.outbox_id.to_string(), &Arc::default()).await?;
    let done = release_job(database, lease.as_ref(), &name, &author.into_author()).await?;
    print_as(json, &done.ok_or_else(|| unknown(&name))?, |done| said(JobAction::Release, done))?;
    Ok(())
}

fn unknown(name: &str) -> anyhow::Error {
    anyhow::anyhow!("no job {name:?} has run: see `outbox jobs list`")
}

fn list(entries: &[JobEntry]) -> Page {
    if entries.is_empty() {
        return "no job has run: `outbox exclusive NAME -- COMMAND` runs one".into();
    }
    let rows = entries.iter().map(|entry| {
        [
            entry.name.clone().into(),
            Cell::state(state(entry)),
            entry.token.map_or_else(|| "-".into(), Cell::whole),
            time(entry.started_at.as_deref()),
            took(entry.took_ms),
            entry.host.clone().unwrap_or_else(|| "-".to_owned()).into(),
            time(entry.last_success_at.as_deref()),
            Cell::whole(entry.skips),
        ]
    });
    let mut page = Page::default();
    page.table(["NAME", "STATE", "RUN", "STARTED", "TOOK", "HOST", "SUCCEEDED", "SKIPS"], rows);
    page
}

fn state(entry: &JobEntry) -> String {
    let state = match (entry.state.as_str(), &entry.ended_because, &entry.paused_by) {
        ("failed", Some(why), _) => why.clone(),
        ("paused", _, Some(by)) => format!("paused by {by}"),
        (state, ..) => state.to_owned(),
    };
    if entry.late { format!("{state}, late") } else { state }
}

fn history(name: &str, found: &JobRunPage) -> Page {
    if found.runs.is_empty() {
        return format!("no run of {name} is kept").into();
    }
    let rows = found.runs.iter().map(|run| {
        [
            Cell::whole(run.token),
            Cell::state(ended(run)),
            time(Some(&run.started_at)),
            took(run.took_ms),
            run.host.clone().into(),
            run.command.clone().into(),
        ]
    });
    let mut page = Page::default();
    page.table(["RUN", "END", "STARTED", "TOOK", "HOST", "COMMAND"], rows);
    if let Some(next) = found.next {
        page.line(format!("more: outbox jobs history {name} --after {next}"));
    }
    page
}

fn ended(run: &JobRunEntry) -> String {
    let why = run.ended_because.as_deref().unwrap_or("running");
    match (run.exit_code, run.signal) {
        (Some(code), _) if code != 0 => format!("{why} ({code})"),
        (_, Some(signal)) => format!("{why} (signal {signal})"),
        _ => why.to_owned(),
    }
}

fn shown(name: &str, run: &JobRunEntry) -> Page {
    let mut page = Page::default();
    page.line(format!("run {} of {name}: {}", run.token, ended(run)));
    page.fact("command", COLUMN, run.command.clone());
    page.fact("host", COLUMN, format!("{}, process {}", run.host, run.pid));
    page.fact("holder", COLUMN, run.holder.clone());
    page.fact("started", COLUMN, time(Some(&run.started_at)));
    page.fact("seen", COLUMN, time(Some(&run.seen_at)));
    page.fact("ended", COLUMN, time(run.ended_at.as_deref()));
    page.fact("took", COLUMN, took(run.took_ms));
    if let Some(tail) = &run.tail {
        page.blank();
        tail.lines().for_each(|line| page.line(line));
    }
    page
}

fn time(at: Option<&str>) -> Cell {
    at.map_or_else(|| "-".into(), |at| Cell::time(to_the_second(at)))
}

fn took(ms: Option<i64>) -> Cell {
    ms.map_or_else(|| "-".into(), |ms| span(ms).into())
}

fn said(action: JobAction, done: &JobDone) -> String {
    let name = &done.job.name;
    match (action, done.audit_id) {
        (JobAction::Pause, Some(_)) => {
            format!("{name} is paused; no run of it begins\ntake back:       outbox jobs resume {name}")
        }
        (JobAction::Pause, None) => format!("{name} was {} already", state(&done.job)),
        (JobAction::Resume, Some(_)) => format!("{name} goes on"),
        (JobAction::Resume, None) => format!("{name} was not paused"),
        (JobAction::Release, Some(_)) => {
            format!("the seat of {name} is free; its holder is told by the next renewal, and has --kill-after to end")
        }
        (JobAction::Release, None) => format!("nobody has the seat of {name}"),
    }
}
