//! `outbox operations`: changes of many messages, how far each is, and stopping it.

use std::io::{self, Write as _};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::bail;
use clap::{Args, Subcommand};
use outbox_desk::{Action, OperationEntry, OperationPage, OperationStatus};
use tokio::signal::unix::{SignalKind, signal};

use super::changes::undo_of;
use super::known::number;
use super::progress::INTERRUPTED;
use super::session::{AuthorArgs, OutboxAccess, Purpose};
use outbox_config::Config;
use outbox_console::text::{Advance, Cell, Page, how_far, print_as, span, to_the_second};

/// The column of the values of an operation.
const COLUMN: usize = 12;

/// How often whoever follows an operation is told how far it is.
const EACH: Duration = Duration::from_secs(1);

#[derive(Debug, Subcommand)]
pub(super) enum OperationsCommand {
    /// List redrives, replays, edits and the like, the newest first: who ordered them, and how far they are.
    List(ListArgs),
    /// Show one: how far it is, and what it did.
    Show(ShowArgs),
    /// Follow one to its end. Ctrl-C ends the following, and the operation goes on.
    Follow(ShowArgs),
    /// Stop one after its present batch, whoever carries it out. What it has changed stays changed.
    Stop(StopArgs),
}

impl OperationsCommand {
    /// Whether the command only shows something.
    pub(super) fn looks(&self) -> bool {
        matches!(self, Self::List(_) | Self::Show(_) | Self::Follow(_))
    }
}

#[derive(Debug, Args)]
pub(super) struct ListArgs {
    /// At most this many.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    limit: u32,
    /// From where the last page ended: only of lower ids.
    #[arg(long, value_name = "ID", value_parser = number)]
    after: Option<i64>,
    /// As JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(super) struct ShowArgs {
    /// The number of the operation.
    #[arg(value_parser = number)]
    id: i64,
    /// As JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(super) struct StopArgs {
    /// The number of the operation.
    #[arg(value_parser = number)]
    id: i64,
    #[command(flatten)]
    author: AuthorArgs,
    /// As JSON.
    #[arg(long)]
    json: bool,
}

pub(super) async fn operations(
    config: Config,
    url: Option<&str>,
    command: OperationsCommand,
) -> anyhow::Result<ExitCode> {
    let stops = matches!(command, OperationsCommand::Stop(_));
    let outbox = OutboxAccess::by(&config, url, if stops { Purpose::Change } else { Purpose::Look }).await?;
    match command {
        OperationsCommand::List(ListArgs { limit, after, json }) => {
            let page = match &outbox {
                OutboxAccess::Replica(replica) => replica.operations(after, limit).await?,
                OutboxAccess::Database(database, _) => outbox_desk::operations(database, after, limit).await?,
            };
            print_as(json, &page, in_words)?;
            Ok(ExitCode::SUCCESS)
        }
        OperationsCommand::Show(ShowArgs { id, json }) => {
            print_as(json, &there(&outbox, id).await?, shown)?;
            Ok(ExitCode::SUCCESS)
        }
        OperationsCommand::Follow(args) => follow(&outbox, args).await,
        OperationsCommand::Stop(args) => stop(&outbox, args).await,
    }
}

async fn there(outbox: &OutboxAccess, id: i64) -> anyhow::Result<OperationEntry> {
    let operation = match outbox {
        OutboxAccess::Replica(replica) => replica.operation(id).await?,
        OutboxAccess::Database(database, _) => outbox_desk::operation(database, id).await?,
    };
    match operation {
        Some(operation) => Ok(operation),
        None => bail!("no operation has the number {id}: `outbox operations list` shows those of the last 30 days"),
    }
}

/// Follows an operation to its end, or until Ctrl-C.
async fn follow(outbox: &OutboxAccess, args: ShowArgs) -> anyhow::Result<ExitCode> {
    // Before anything is said: whoever reads that may press Ctrl-C at once.
    let mut interrupts = signal(SignalKind::interrupt())?;
    tokio::select! {
        ended = follow_to_its_end(outbox, args) => ended,
        _ = interrupts.recv() => Ok(ExitCode::from(INTERRUPTED)),
    }
}

async fn follow_to_its_end(outbox: &OutboxAccess, ShowArgs { id, json }: ShowArgs) -> anyhow::Result<ExitCode> {
    let mut advance = Advance::new("done");
    loop {
        let operation = there(outbox, id).await?;
        if operation.status != OperationStatus::Open {
            advance.clear();
            print_as(json, &operation, shown)?;
            let done = operation.status == OperationStatus::Done;
            return Ok(if done { ExitCode::SUCCESS } else { ExitCode::FAILURE });
        }
        let OperationEntry { meant: of, done, lasted_ms, .. } = operation;
        let waits = if operation.waits { "; it waits for the poller" } else { "" };
        let far = format!("{}{waits}", how_far(done, of, "done", Duration::from_millis(lasted_ms)));
        if advance.is_on_terminal() {
            advance.say(of.map(|of| (done, of)), &far);
        } else if writeln!(io::stderr(), "{far}").is_err_and(|error| error.kind() == io::ErrorKind::BrokenPipe) {
            // Any other failure to report progress does not matter.
            return Ok(ExitCode::SUCCESS);
        }
        tokio::time::sleep(EACH).await;
    }
}

async fn stop(outbox: &OutboxAccess, StopArgs { id, author, json }: StopArgs) -> anyhow::Result<ExitCode> {
    let Some(stopped) = outbox.by_hand().stop(id, &author.into_author()).await? else {
        bail!("no operation has the number {id}: `outbox operations list` shows those of the last 30 days");
    };
    let operation = there(outbox, id).await?;
    print_as(json, &operation, |operation| {
        let mut page = Page::default();
        page.line(if stopped.stopped {
            format!("operation {id} is stopped")
        } else {
            format!("operation {id} had ended: it is {}", operation.status.as_str())
        });
        page.append(shown(operation));
        page
    })?;
    Ok(ExitCode::SUCCESS)
}

fn in_words(listed: &OperationPage) -> Page {
    let mut page = Page::default();
    if listed.operations.is_empty() {
        page.line("nobody has changed many messages at once in the last 30 days");
    } else {
        let heading = ["ID", "BEGAN", "ACTION", "STATE", "DONE", "OF", "LEFT", "WHO", "WHY"];
        page.table(heading, listed.operations.iter().map(row));
    }
    if let Some(next) = listed.next {
        page.line(format!("more with --after {next}"));
    }
    page
}

fn row(operation: &OperationEntry) -> [Cell; 9] {
    [
        Cell::whole(operation.id),
        Cell::time(to_the_second(&operation.began_at)),
        Cell::whole(&operation.action),
        Cell::whole(standing(operation)),
        Cell::whole(operation.done),
        Cell::whole(operation.meant.map_or_else(|| "-".to_owned(), |meant| meant.to_string())),
        Cell::whole(left(operation).unwrap_or_else(|| "-".to_owned())),
        operation.who.clone().unwrap_or_default().into(),
        operation.why.clone().unwrap_or_default().into(),
    ]
}

fn standing(operation: &OperationEntry) -> &'static str {
    match operation.status {
        OperationStatus::Open if operation.waits => "waits",
        status => status.as_str(),
    }
}

fn left(operation: &OperationEntry) -> Option<String> {
    operation.left_ms().and_then(|left| left.try_into().ok()).map(span)
}

fn shown(operation: &OperationEntry) -> Page {
    let mut page = Page::default();
    let of = operation.meant.map_or_else(String::new, |meant| format!(" of {meant}"));
    let rate = operation.rate().map_or_else(String::new, |rate| format!(", {rate}/s"));
    let left = left(operation).map_or_else(String::new, |left| format!(", {left} left"));
    let state = match operation.status {
        OperationStatus::Open if operation.waits => {
            "open; it waits for the poller, and nobody carries it out now".to_owned()
        }
        OperationStatus::Failed => {
            format!("failed: {}", operation.failure.as_deref().unwrap_or("no reason is on record"))
        }
        status => status.as_str().to_owned(),
    };
    page.fact("operation", COLUMN, format!("{} ({})", operation.id, operation.action));
    if let Some(order) = operation.order_in_words() {
        page.fact("order", COLUMN, order);
    }
    page.fact("state", COLUMN, state);
    page.fact("done", COLUMN, format!("{}{of}{rate}{left}", operation.done));
    page.fact("changed", COLUMN, operation.changed.to_string());
    page.fact("who", COLUMN, operation.who.clone().unwrap_or_default());
    page.fact("why", COLUMN, operation.why.clone().unwrap_or_default());
    page.fact("began", COLUMN, Cell::time(to_the_second(&operation.began_at)));
    if let Some(ended) = &operation.ended_at {
        page.fact("ended", COLUMN, Cell::time(to_the_second(ended)));
    }
    if operation.changed > 0 && operation.status != OperationStatus::Open {
        let undo = Action::named(&operation.action).and_then(|action| undo_of(action, operation.id));
        if let Some(undo) = undo {
            page.fact("take back", COLUMN, undo);
        }
    }
    page
}
