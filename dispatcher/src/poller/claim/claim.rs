//! Claims: a row is claimed in the database, and the claim is committed, before it is sent. A claim names its rows by ids and
//! revisions. One is made at a time.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use outbox_store::store::due::{ClaimTerms, Header, RowsToClaim};
use outbox_store::{ClaimId, Message, Store, StoreError, TermEnd};
use tokio::time::Instant;

use super::given_up::Claiming;
use crate::backoff::Backoff;
use crate::poller::channels::Channels;
use crate::poller::measure::Measure;
use crate::term::Term;

/// Added to the settling time, so that the last mark can be written.
pub const SETTLING_MARGIN: Duration = Duration::from_secs(1);

/// The rows of one claim.
#[derive(Debug)]
pub(crate) struct Batch {
    /// The claim that was committed.
    pub claim: ClaimId,
    /// The channels at the time of the claim. Their longest timeout is in the claim's settling time.
    pub channels: Arc<Channels>,
    /// The claimed rows.
    pub messages: Vec<Message>,
}

/// A claim that has ended.
#[derive(Debug)]
pub(in crate::poller) struct Claimed {
    /// The rows that it was made for.
    pub chosen: Vec<Header>,
    /// The rows that it took. None where it was given up: it took too long, or its term is over.
    pub made: Option<(ClaimId, Vec<Message>)>,
    /// The channels at its time.
    pub channels: Arc<Channels>,
}

/// A claim.
#[derive(Debug)]
pub(in crate::poller) struct ClaimTask {
    pub store: Arc<dyn Store>,
    pub term: Arc<Term>,
    /// How many messages a claim may ask for, as the link to the database bears.
    pub size: Arc<Measure>,
    pub lease_ttl: Duration,
    pub channels: Arc<Channels>,
    pub chosen: Vec<Header>,
}

impl ClaimTask {
    /// Makes the claim, repeating it under the same id until its fate is known. One that took too long is given up: the next one asks
    /// for less.
    pub(in crate::poller) async fn run(self) -> Claimed {
        let made = self.claim().await;
        Claimed { chosen: self.chosen, made, channels: self.channels }
    }

    async fn claim(&self) -> Option<(ClaimId, Vec<Message>)> {
        let mut claiming = Claiming::new(&self.store, self.term.id.shard);
        let rows: Vec<_> = self.chosen.iter().map(|header| (header.id, header.revision)).collect();
        let bytes: u64 = self.chosen.iter().map(|header| header.bytes).sum();
        let used: HashSet<&str> = self.chosen.iter().map(|header| &*header.lane.channel).collect();
        let used = self.channels.terms().iter().filter(|terms| used.contains(terms.name.as_str()));
        let terms = ClaimTerms {
            channels: self.channels.terms(),
            timeout: used.map(|terms| terms.timeout).max().unwrap_or_default(),
            lease_ttl: self.lease_ttl,
            margin: SETTLING_MARGIN,
        };
        let request = RowsToClaim { claim: claiming.claim, rows: &rows, terms: &terms };
        let mut backoff = Backoff::new();
        loop {
            let began = Instant::now();
            let was_in_doubt = std::mem::replace(&mut claiming.in_doubt, true);
            let answer = self.store.claim_rows(&self.term.id, &request).await;
            claiming.in_doubt =
                was_in_doubt && answer.is_err() || matches!(answer, Err(StoreError::Unavailable { .. }));
            let error = match answer {
                Ok(messages) => {
                    self.size.worked(messages.len() as u64, began.elapsed());
                    return Some((claiming.claim, messages));
                }
                Err(StoreError::Fenced { .. }) => {
                    self.term.end(TermEnd::Fenced);
                    return None;
                }
                Err(error @ (StoreError::Unavailable { .. } | StoreError::Refused { .. })) => error,
            };
            tracing::error!(epoch = %self.term.id.epoch, messages = rows.len(), bytes, %error, "claim.failed");
            let too_large = claiming.in_doubt && self.size.failed(rows.len() as u64, began.elapsed());
            tokio::select! {
                () = self.term.ended() => return None,
                () = tokio::time::sleep(backoff.next()) => {}
            }
            if too_large {
                claiming.anew().await;
                return None;
            }
        }
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
