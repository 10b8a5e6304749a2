//! `outbox prune`: removes by hand the rows that are past their retention, as the poller does by itself.

use std::io::{self, IsTerminal};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::bail;
use clap::Args;
use outbox_desk::{Change, Preview, RunsBy};
use outbox_store::retention::Retention;

use super::changes::{make, pruned, would};
use super::session::{AuthorArgs, OutboxAccess, Purpose, confirmed};
use outbox_admin::api::kept_for;
use outbox_config::Config;
use outbox_console::text::{Page, warning};
use outbox_dispatcher::wiring;

#[derive(Debug, Args)]
pub(super) struct PruneArgs {
    /// Remove what was delivered longer ago than this, as 7d; or `never` [default: what the fleet keeps].
    #[arg(long, value_name = "AGE", value_parser = age)]
    success: Option<Age>,
    /// Remove dead letters that died longer ago than this, as 90d; or `never` [default: what the fleet keeps].
    #[arg(long, value_name = "AGE", value_parser = age)]
    dead: Option<Age>,
    /// Say how many would be removed, and change nothing.
    #[arg(long)]
    dry_run: bool,
    /// Do not ask. Where standard input is no terminal, nobody is asked.
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    author: AuthorArgs,
    /// As JSON.
    #[arg(long)]
    json: bool,
}

/// The age from which rows are removed. None: no row is removed, however old.
#[derive(Debug, Clone, Copy)]
struct Age(Option<Duration>);

pub(super) async fn prune(config: Config, url: Option<&str>, args: PruneArgs) -> anyhow::Result<ExitCode> {
    let outbox = OutboxAccess::by(&config, url, Purpose::of(args.dry_run)).await?;
    let kept = kept(&outbox, &config, &args).await;
    let retention = Retention {
        success: args.success.map_or(kept.success, |Age(age)| age),
        dead: args.dead.map_or(kept.dead, |Age(age)| age),
        ..kept
    };
    let change = Change::Prune { retention, of: None };
    if args.dry_run {
        return would(&outbox, &change, args.json).await;
    }
    if !args.yes
        && io::stdin().is_terminal()
        && let Some(Preview::Past(found)) = Preview::of(outbox.desk().as_ref(), &change).await?
        && !confirmed(Page::default(), &pruned(&found, "would be removed for good: remove them?"))?
    {
        bail!("nothing was removed");
    }
    make(&outbox, &change, &args.author.into_author(), args.json).await
}

/// How long the fleet keeps messages, and not whoever asks: what is removed cannot be taken back. These settings, where no replica
/// says it: those of an earlier release do not, and a role may lack the right to read their rows.
async fn kept(outbox: &OutboxAccess, config: &Config, args: &PruneArgs) -> Retention {
    let mine = wiring::retention(config);
    let replicas = outbox.replicas().await.unwrap_or_default();
    let Some(fleet) = replicas.runs_by().and_then(RunsBy::retention) else { return mine };
    let each = [
        ("success", fleet.success, mine.success, args.success.is_some()),
        ("dead", fleet.dead, mine.dead, args.dead.is_some()),
    ];
    for (name, fleet, mine, given) in each {
        if fleet != mine && !given {
            let [fleet, mine] = [fleet, mine].map(text);
            warning(&format!(
                "retention.{name} is {fleet} in the fleet, which counts here, and {mine} in these settings: --{name} says another age"
            ));
        }
    }
    fleet
}

fn text(age: Option<Duration>) -> String {
    age.map_or_else(|| "never".to_owned(), |age| humantime::format_duration(age).to_string())
}

fn age(text: &str) -> Result<Age, &'static str> {
    kept_for(text).map(Age)
}
