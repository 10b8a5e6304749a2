//! `outbox invalid-targets`: targets that are known to be gone.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use clap_complete::ArgValueCandidates;
use outbox_desk::{Cleared, InvalidTargetPage, InvalidTargetSelection, Moment};

use super::session::{AuthorArgs, Misuse, OutboxAccess, Purpose, confirmed};
use crate::completions;
use crate::nearest::{self, NOTHING_MATCHED};
use outbox_config::Config;
use outbox_console::text::{Cell, Page, print_as, shortened, to_the_second, warning};

/// The most targets that are shown before they are cleared.
const SHOWN: u32 = 20;

#[derive(Debug, Subcommand)]
pub(super) enum InvalidTargetsCommand {
    /// List them, the last recorded first.
    List(ListArgs),
    /// Forget them: they are recorded anew when they are found to be gone once more. Audited.
    Clear(ClearArgs),
}

impl InvalidTargetsCommand {
    /// Whether the command only shows something.
    pub(super) fn looks(&self) -> bool {
        matches!(self, Self::List(_))
    }
}

#[derive(Debug, Args)]
pub(super) struct ListArgs {
    /// Only of this channel.
    #[arg(long, add = ArgValueCandidates::new(completions::channels))]
    channel: Option<String>,
    /// Only this one, as messages say it.
    #[arg(long)]
    target: Option<String>,
    /// At most this many.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    limit: u32,
    /// From where the last page ended.
    #[arg(long, value_name = "ID")]
    after: Option<i64>,
    /// As JSON.
    #[arg(long)]
    json: bool,
}

/// Targets, or what they have in common, or all.
#[derive(Debug, Args)]
struct SelectionArgs {
    /// The targets, as messages say them.
    #[arg(value_name = "TARGET")]
    targets: Vec<String>,
    /// Only of this channel.
    #[arg(long, value_name = "NAME", add = ArgValueCandidates::new(completions::channels))]
    channel: Option<String>,
    /// Only last found to be gone then or earlier: how long ago (90d), or a time (2026-05-01T14:00:00Z).
    #[arg(long, value_name = "TIME")]
    older_than: Option<Moment>,
    /// All of them, where nothing else is said.
    #[arg(long)]
    all: bool,
}

impl SelectionArgs {
    fn into_selection(self) -> Result<InvalidTargetSelection, Misuse> {
        let Self { targets, channel, older_than, all } = self;
        let selection = InvalidTargetSelection { targets, channel, older_than };
        match (selection == InvalidTargetSelection::default(), all) {
            (true, true) | (false, false) => Ok(selection),
            (true, false) => Err(Misuse::new("name targets, --channel, --older-than, or --all")),
            (false, true) => Err(Misuse::new("name either --all, or which")),
        }
    }
}

#[derive(Debug, Args)]
pub(super) struct ClearArgs {
    #[command(flatten)]
    selection: SelectionArgs,
    /// Say what would be forgotten, and change nothing.
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Do not ask.
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    author: AuthorArgs,
    /// As JSON.
    #[arg(long)]
    json: bool,
}

pub(super) async fn invalid_targets(
    config: Config,
    url: Option<&str>,
    command: InvalidTargetsCommand,
) -> anyhow::Result<ExitCode> {
    let purpose = match command {
        InvalidTargetsCommand::List(_) => Purpose::Look,
        InvalidTargetsCommand::Clear(ref args) => Purpose::of(args.dry_run),
    };
    let outbox = OutboxAccess::by(&config, url, purpose).await?;
    let desk = outbox.desk();
    match command {
        InvalidTargetsCommand::List(ListArgs { channel, target, limit, after, json }) => {
            let selection = InvalidTargetSelection { targets: target.into_iter().collect(), channel, older_than: None };
            let found = desk.invalid_targets(&selection, after, limit).await?;
            if found.total == 0 {
                hint(&outbox, selection.channel.as_deref()).await?;
            }
            print_as(json, &found, list)?;
        }
        InvalidTargetsCommand::Clear(args) => return clear(&outbox, args).await,
    }
    Ok(ExitCode::SUCCESS)
}

/// Says of a channel that nobody has what it may have meant.
async fn hint(outbox: &OutboxAccess, channel: Option<&str>) -> anyhow::Result<()> {
    if let Some(channel) = channel {
        nearest::of_channel(outbox, channel).await?.iter().for_each(|unknown| warning(unknown));
    }
    Ok(())
}

async fn clear(outbox: &OutboxAccess, args: ClearArgs) -> anyhow::Result<ExitCode> {
    let ClearArgs { selection, dry_run, yes, author, json } = args;
    let selection = selection.into_selection()?;
    let found = outbox.desk().invalid_targets(&selection, None, SHOWN).await?;
    if found.total == 0 {
        hint(outbox, selection.channel.as_deref()).await?;
    }
    let code = if found.total == 0 { ExitCode::from(NOTHING_MATCHED) } else { ExitCode::SUCCESS };
    if dry_run {
        print_as(json, &found, |found| {
            let mut page = first(found);
            page.blank();
            page.line(format!("{} would be forgotten; nothing was changed", found.total));
            page
        })?;
        return Ok(code);
    }
    let asks = !yes && found.total > 0;
    if asks && !confirmed(first(&found), &format!("forget these {} targets?", found.total))? {
        anyhow::bail!("nothing was forgotten");
    }
    print_as(json, &outbox.by_hand().clear_invalid_targets(&selection, &author.into_author()).await?, cleared)?;
    Ok(code)
}

fn list(found: &InvalidTargetPage) -> Page {
    let mut page = first(found);
    if let Some(next) = found.next {
        page.line(format!("{} in all; more with --after {next}", found.total));
    }
    page
}

fn first(found: &InvalidTargetPage) -> Page {
    if found.targets.is_empty() {
        return "no such targets".into();
    }
    let rows = found.targets.iter().map(|target| {
        [
            target.channel.clone().into(),
            Cell::time(to_the_second(&target.observed_at)),
            shortened(target.reason.as_deref().unwrap_or("-"), 80).into(),
            target.target.clone().into(),
        ]
    });
    let mut page = Page::default();
    page.table(["CHANNEL", "SINCE", "REASON", "TARGET"], rows);
    page
}

fn cleared(done: &Cleared) -> String {
    format!("{} forgotten", done.cleared)
}
