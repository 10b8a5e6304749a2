//! The flags that select messages, whatever became of them.

use clap::Args;
use clap_complete::ArgValueCandidates;
use outbox_desk::{InDoubt, MessageFilter, Moment};

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
    /// Only with so many attempts at least: `2..`.
    #[arg(long, value_name = "N..", value_parser = least)]
    attempts: Option<u32>,
    /// Only what was ever in doubt, and so may have been delivered twice; with the epoch of a term, what was in it.
    #[arg(long, value_name = "EPOCH", num_args = 0..=1, default_missing_value = "any", require_equals = true)]
    in_doubt: Option<InDoubt>,
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
        let Self { channel, destination, target, known, ordering_key, priority, error_contains, .. } = self;
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
            attempts_from: self.attempts,
            in_doubt: self.in_doubt,
            since: self.since,
            until: self.until,
        })
    }
}

/// The least number of a range without an end.
fn least(text: &str) -> Result<u32, String> {
    let number = text.strip_suffix("..").unwrap_or(text).parse();
    number.map_err(|_| "it is a number of attempts, as `2..`".to_owned())
}
