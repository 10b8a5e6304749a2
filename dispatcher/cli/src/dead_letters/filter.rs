//! The flags that select dead letters.

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap_complete::ArgValueCandidates;
use outbox_desk::{DeadLetterFilter, Moment, Selection};
use outbox_store::DeadReason;

use crate::completions;
use crate::known::KnownArgs;
use crate::messages::ids_of;
use crate::session::{Misuse, OutboxAccess};

#[derive(Debug, Args)]
pub(super) struct FilterArgs {
    /// Only of this group: `list` shows the fingerprints.
    #[arg(long, add = ArgValueCandidates::new(completions::fingerprints))]
    fingerprint: Option<String>,
    /// Only of this channel.
    #[arg(long, add = ArgValueCandidates::new(completions::channels))]
    channel: Option<String>,
    /// Only dead for this reason: `permanent`, `exhausted`, `expired`, `in_doubt` or `cancelled`.
    #[arg(long, value_parser = reasons())]
    reason: Option<DeadReason>,
    /// Only whose last answer had this status code.
    #[arg(long, value_name = "CODE")]
    status_code: Option<i32>,
    /// Only of this destination, for example `https://shop.example:443`.
    #[arg(long)]
    destination: Option<String>,
    #[command(flatten)]
    known: KnownArgs,
    /// Only dead since then or later: how long ago (2h), or a time (2026-05-01T14:00:00Z).
    #[arg(long, value_name = "TIME")]
    since: Option<Moment>,
    /// Only dead since then or earlier.
    #[arg(long, value_name = "TIME")]
    until: Option<Moment>,
    /// Only whose error contains this text, in letters large or small.
    #[arg(long, value_name = "TEXT")]
    error_contains: Option<String>,
}

/// Ids, or a filter, or all.
#[derive(Debug, Args)]
pub(super) struct SelectionArgs {
    /// The ids of the rows, or their idempotency keys.
    #[arg(value_name = "MESSAGE")]
    messages: Vec<String>,
    #[command(flatten)]
    filter: FilterArgs,
    /// Only to this target, as it is written.
    #[arg(long)]
    target: Option<String>,
    /// All dead letters, where there is neither an id nor a filter.
    #[arg(long)]
    all: bool,
}

impl FilterArgs {
    /// The filter. A URL of a destination stands for its origin, as in messages.
    pub(super) fn into_filter(self, outbox: &OutboxAccess, target: Option<String>) -> Result<DeadLetterFilter, Misuse> {
        let Self { fingerprint, channel, reason, status_code, destination, known, since, until, error_contains } = self;
        let tags = known.tags()?;
        let KnownArgs { key_prefix, tenant, .. } = known;
        let destination = destination.map(|name| outbox.destination(&name).unwrap_or(name));
        Ok(DeadLetterFilter {
            channel,
            reason,
            status_code,
            fingerprint,
            destination,
            target,
            key_prefix,
            tags,
            tenant,
            since,
            until,
            error_contains,
        })
    }
}

impl SelectionArgs {
    /// The selection. A name that is no message's is an error before anything is changed.
    pub(super) async fn into_selection(self, outbox: &OutboxAccess) -> anyhow::Result<Selection> {
        let Self { messages, filter, target, all } = self;
        let filter = filter.into_filter(outbox, target)?;
        let filtered = filter != DeadLetterFilter::default();
        match (messages.is_empty(), filtered, all) {
            (false, false, false) => Ok(Selection::Ids(ids_of(outbox.desk().as_ref(), &messages).await?)),
            (true, true, false) | (true, false, true) => Ok(Selection::Filter(filter)),
            (true, false, false) => {
                Err(Misuse::new("name dead letters, a filter such as --fingerprint, or --all").into())
            }
            (false, ..) | (true, true, true) => Err(Misuse::new("name either messages, or a filter, or --all").into()),
        }
    }
}

/// The reasons by name, so that a shell can complete them.
fn reasons() -> impl TypedValueParser<Value = DeadReason> {
    let names = DeadReason::ALL.map(DeadReason::as_str);
    PossibleValuesParser::new(names).try_map(|word| {
        let found = DeadReason::ALL.into_iter().find(|reason| reason.as_str() == word);
        found.ok_or("no reason is called so")
    })
}
