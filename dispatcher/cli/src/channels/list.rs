//! `outbox channels list`.

use clap::Args;
use outbox_config::{ChannelConfig, Config};
use outbox_console::text::{Cell, Page, print_as};
use outbox_store::InDoubtPolicy;
use serde::Serialize;

#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// As JSON.
    #[arg(long)]
    json: bool,
}

/// A channel of the settings.
#[derive(Debug, Serialize)]
struct Entry<'a> {
    name: &'a str,
    kind: &'static str,
    /// Where its messages go. None: to the URLs that rows name.
    base_url: Option<&'a str>,
    in_doubt: InDoubtPolicy,
    max_attempts: u32,
    timeout_seconds: f64,
}

impl<'a> Entry<'a> {
    fn of(channel: &'a ChannelConfig) -> Self {
        Self {
            name: &channel.name,
            kind: channel.kind,
            base_url: Some(channel.settings.base_url()).filter(|url| !url.is_empty()),
            in_doubt: channel.in_doubt,
            max_attempts: channel.retry.max_attempts,
            timeout_seconds: channel.timeout.as_secs_f64(),
        }
    }

    fn row(&self) -> [Cell; 6] {
        let delivery = match self.in_doubt {
            InDoubtPolicy::Resend => "at least once",
            InDoubtPolicy::DeadLetter => "at most once",
        };
        [
            Cell::whole(self.name),
            Cell::whole(self.kind),
            self.base_url.unwrap_or("the URL of each row").to_owned().into(),
            Cell::whole(delivery),
            Cell::whole(self.max_attempts),
            Cell::whole(format!("{} s", self.timeout_seconds)),
        ]
    }
}

pub(super) fn list(config: &Config, args: &ListArgs) -> anyhow::Result<()> {
    let entries: Vec<_> = config.channels.values().map(Entry::of).collect();
    print_as(args.json, &entries[..], |entries| {
        let mut page = Page::default();
        page.table(["NAME", "KIND", "WHERE TO", "DELIVERY", "ATTEMPTS", "TIMEOUT"], entries.iter().map(Entry::row));
        page
    })
}
