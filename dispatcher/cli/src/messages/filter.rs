//! The flags that select messages, whatever became of them.

use clap::Args;
use clap_complete::ArgValueCandidates;
use outbox_desk::{MessageFilter, Moment};

use crate::completions;
use crate::known::KnownArgs;
use crate::session::{Misuse, OutboxAccess};

#[derive(Debug, Args)]
pub(super) struct FilterArgs {
    /// Only of this channel.
    #[arg(long, add = ArgValueCandidates::new(completions::channels))]
    channel: Option<String>,
    /// Only of this destination, for example `https://shop.example:443`.
    #[arg(long)]
    destination: Option<String>,
    /// Only to this target, as it is written.
    #[arg(long)]
    target: Option<String>,
    #[command(flatten)]
    known: KnownArgs,
    /// Only with this ordering key.
    #[arg(long, value_name = "KEY")]
    ordering_key: Option<String>,
    /// Only of this priority.
    #[arg(long, value_parser = clap::value_parser!(u8).range(0..=3))]
    priority: Option<u8>,
    /// Only with this text within the last error, in any case of letters.
    #[arg(long, value_name = "TEXT")]
    error_contains: Option<String>,
    /// Only created since then or later: how long ago (2h), or a time (2026-05-01T14:00:00Z).
    #[arg(long, value_name = "TIME")]
    since: Option<Moment>,
    /// Only created then or earlier.
    #[arg(long, value_name = "TIME")]
    until: Option<Moment>,
}

impl FilterArgs {
    /// The filter. A URL of a destination stands for its origin, as in messages.
    pub(super) fn into_filter(self, outbox: &OutboxAccess) -> Result<MessageFilter, Misuse> {
        let Self { channel, destination, target, known, ordering_key, priority, error_contains, since, until } = self;
        let tags = known.tags()?;
        let KnownArgs { key_prefix, tenant, .. } = known;
        let destination = destination.map(|name| outbox.destination(&name).unwrap_or(name));
        Ok(MessageFilter {
            status: None,
            channel,
            destination,
            target,
            key_prefix,
            tags,
            tenant,
            ordering_key,
            priority,
            error_contains,
            since,
            until,
        })
    }
}
