//! The flags that select dead letters.

use clap::Args;
use outbox_schema::desk::{DeadLetterFilter, Moment, Selection};
use outbox_schema::{DeadReason, MessageId};

use crate::session::Misuse;

#[derive(Debug, Args)]
pub(super) struct FilterArgs {
    /// Only of this group: `list` shows the fingerprints.
    #[arg(long)]
    fingerprint: Option<String>,
    /// Only of this channel.
    #[arg(long)]
    channel: Option<String>,
    /// Only dead for this reason: `permanent`, `exhausted`, `expired`, `in_doubt` or `cancelled`.
    #[arg(long, value_parser = reason)]
    reason: Option<DeadReason>,
    /// Only whose last answer had this status code.
    #[arg(long, value_name = "CODE")]
    status_code: Option<i32>,
    /// Only of this destination, for example `https://shop.example:443`.
    #[arg(long)]
    destination: Option<String>,
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
    /// The ids of the messages.
    ids: Vec<i64>,
    #[command(flatten)]
    filter: FilterArgs,
    /// All dead letters, where there is neither an id nor a filter.
    #[arg(long)]
    all: bool,
}

impl FilterArgs {
    pub(super) fn into_filter(self) -> DeadLetterFilter {
        let Self { fingerprint, channel, reason, status_code, destination, since, until, error_contains } = self;
        DeadLetterFilter { channel, reason, status_code, fingerprint, destination, since, until, error_contains }
    }
}

impl SelectionArgs {
    pub(super) fn into_selection(self) -> Result<Selection, Misuse> {
        let Self { ids, filter, all } = self;
        let filter = filter.into_filter();
        let filtered = filter != DeadLetterFilter::default();
        match (ids.is_empty(), filtered, all) {
            (false, false, false) => Ok(Selection::Ids(ids.into_iter().map(MessageId).collect())),
            (true, true, false) | (true, false, true) => Ok(Selection::Filter(filter)),
            (true, false, false) => {
                Err(Misuse::new("name the ids of dead letters, a filter such as --fingerprint, or --all"))
            }
            (false, ..) | (true, true, true) => Err(Misuse::new("name either ids, or a filter, or --all")),
        }
    }
}

fn reason(word: &str) -> Result<DeadReason, String> {
    let named = DeadReason::ALL.into_iter().find(|reason| reason.as_str() == word);
    named.ok_or_else(|| {
        let known: Vec<_> = DeadReason::ALL.iter().map(|reason| reason.as_str()).collect();
        format!("it must be one of {}", known.join(", "))
    })
}
