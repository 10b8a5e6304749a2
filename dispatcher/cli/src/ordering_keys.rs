//! `outbox ordering-keys`: ordering keys that a dead letter halts.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use clap_complete::ArgValueCandidates;
use outbox_schema::desk::{HaltedKeyPage, KeyCursor};

use super::nearest;
use super::session::{OutboxAccess, Purpose};
use crate::completions;
use outbox_dispatcher::config::Config;
use outbox_dispatcher::text::{Cell, Page, print_as, warning};

#[derive(Debug, Subcommand)]
pub(super) enum OrderingKeysCommand {
    /// List the keys that a dead letter halts, with that letter: redrive it, or purge it.
    List(ListArgs),
}

#[derive(Debug, Args)]
pub(super) struct ListArgs {
    /// Those that a dead letter halts. No others can be listed.
    #[arg(long, required = true)]
    halted: bool,
    /// Only of this channel.
    #[arg(long, add = ArgValueCandidates::new(completions::channels))]
    channel: Option<String>,
    /// At most this many.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    limit: u32,
    /// From where the last page ended.
    #[arg(long, value_name = "CHANNEL/KEY")]
    after: Option<KeyCursor>,
    /// As JSON.
    #[arg(long)]
    json: bool,
}

pub(super) async fn ordering_keys(
    config: Config,
    url: Option<&str>,
    command: OrderingKeysCommand,
) -> anyhow::Result<ExitCode> {
    let OrderingKeysCommand::List(ListArgs { halted: _, channel, limit, after, json }) = command;
    let outbox = OutboxAccess::by(&config, url, Purpose::Look).await?;
    let page = outbox.desk().halted_keys(&outbox.halting(), channel.as_deref(), after.as_ref(), limit).await?;
    if let Some(name) = channel.filter(|_| page.keys.is_empty() && !json) {
        nearest::of_channel(&outbox, &name).await?.iter().for_each(|unknown| warning(unknown));
    }
    print_as(json, &page, in_words)?;
    Ok(ExitCode::SUCCESS)
}

fn in_words(found: &HaltedKeyPage) -> Page {
    let mut page = Page::default();
    if found.keys.is_empty() {
        page.line("no halted ordering keys");
    } else {
        let rows = found.keys.iter().map(|key| {
            [
                key.channel.clone().into(),
                key.ordering_key.clone().into(),
                Cell::whole(key.dead_letter),
                Cell::state(key.dead_reason.clone().unwrap_or_default()),
                Cell::time(&key.dead_at),
                Cell::whole(key.waiting),
                Cell::whole(key.first_waiting),
            ]
        });
        let head = ["CHANNEL", "ORDERING KEY", "DEAD LETTER", "REASON", "DEAD SINCE", "WAITING", "FIRST"];
        page.table(head, rows);
    }
    if let Some(next) = &found.next {
        page.line(format!("more with --after '{next}'"));
    }
    page
}
