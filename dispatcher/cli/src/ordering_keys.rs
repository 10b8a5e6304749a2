//! `outbox ordering-keys`: ordering keys that a dead letter halts.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use clap_complete::ArgValueCandidates;
use outbox_desk::{HaltedKey, HaltedKeyPage, KeyCursor};

use super::nearest;
use super::session::{OutboxAccess, Purpose};
use crate::completions;
use outbox_config::Config;
use outbox_console::text::{Cell, Page, print_as, warning};

#[derive(Debug, Subcommand)]
pub(super) enum OrderingKeysCommand {
    /// List the keys that a dead letter halts, with that letter: redrive it, or purge it.
    List(ListArgs),
}

#[derive(Debug, Args)]
pub(super) struct ListArgs {
    /// Those that a dead letter halts, also where this is not said: no others can be listed.
    #[arg(long)]
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

/// How many messages of a key wait.
fn waiting(key: &HaltedKey) -> String {
    let more = if key.waiting >= HaltedKey::COUNTED { " or more" } else { "" };
    format!("{}{more}", key.waiting)
}

fn in_words(found: &HaltedKeyPage) -> Page {
    let mut page = Page::default();
    if found.keys.is_empty() {
        // A page ends early where many dead letters halt no key.
        page.line(match &found.next {
            Some(_) => "no halted ordering key up to here, and there are more dead letters",
            None => "no halted ordering keys",
        });
    } else {
        let rows = found.keys.iter().map(|key| {
            [
                key.channel.clone().into(),
                key.ordering_key.clone().into(),
                Cell::whole(key.dead_letter),
                Cell::state(key.dead_reason.clone().unwrap_or_default()),
                Cell::time(&key.dead_at),
                Cell::whole(waiting(key)),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_that_ended_early_does_not_say_that_no_key_is_halted() {
        let next = KeyCursor { channel: "orders".to_owned(), ordering_key: "k".to_owned() };
        let shown = |next: Option<KeyCursor>| {
            let page = in_words(&HaltedKeyPage { keys: Vec::new(), next });
            page.on(&outbox_console::text::Screen::none())
        };
        assert_eq!(
            shown(Some(next)),
            "no halted ordering key up to here, and there are more dead letters\nmore with --after 'orders/k'\n"
        );
        assert_eq!(shown(None), "no halted ordering keys\n");
    }
}
