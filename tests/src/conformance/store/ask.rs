//! How a test claims what is due: it looks, takes what has waited for longest, and claims that by its ids.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::time::Duration;

use outbox_schema::MessageId;
use outbox_store::store::due::{ClaimTerms, DueRows, Header, RowsToClaim};
use outbox_store::{ChannelTerms, ClaimId, Message, OnDeadOrdered, Revision, StoreError, TermId, WalkStart};

use super::Outbox;

/// What is claimed of what is due: the highest priority first, then the longest due, of each ordering key the first.
#[derive(Debug, Clone, Copy)]
pub struct Ask<'a> {
    /// The id of the claim. A test may repeat it.
    pub claim: ClaimId,
    /// The most rows.
    pub limit: u32,
    /// Rows that are left out: they are in flight.
    pub excluded: &'a [MessageId],
    /// What the claim keeps of its channels.
    pub terms: ClaimTerms<'a>,
}

/// What a claim keeps of these channels: their rows settle after ten minutes.
pub fn terms(channels: &[ChannelTerms]) -> ClaimTerms<'_> {
    ClaimTerms {
        channels,
        timeout: Duration::from_secs(1),
        lease_ttl: Duration::from_mins(5),
        margin: Duration::from_mins(5),
    }
}

/// The rows as a look showed them.
pub fn seen(headers: &[Header]) -> Vec<(MessageId, Revision)> {
    headers.iter().map(|header| (header.id, header.revision)).collect()
}

impl<'a> Ask<'a> {
    /// For much.
    pub fn of(channels: &'a [ChannelTerms]) -> Self {
        Self { claim: ClaimId::mint(), limit: 100, excluded: &[], terms: terms(channels) }
    }

    /// Claims it.
    ///
    /// # Errors
    /// As of [`DueRows::claim_rows`].
    pub async fn claim(&self, due: &dyn DueRows, term: &TermId) -> Result<Vec<Message>, StoreError> {
        let rows = seen(&self.first(due, term).await?);
        due.claim_rows(term, &RowsToClaim { claim: self.claim, rows: &rows, terms: &self.terms }).await
    }

    /// Defers for a minute what a look shows of channels that these are not. Says how many rows of each were deferred.
    ///
    /// # Errors
    /// As of [`DueRows::defer_unknown`].
    pub async fn defer_unknown(&self, due: &dyn DueRows, term: &TermId) -> Result<BTreeMap<String, u64>, StoreError> {
        let known = |header: &Header| self.terms.channels.iter().any(|channel| *channel.name == *header.lane.channel);
        let mut headers = self.first(due, term).await?;
        headers.retain(|header| !known(header));
        let rows: Vec<_> = headers.iter().map(|header| header.id).collect();
        due.defer_unknown(term, &rows, self.terms.channels, Duration::from_mins(1)).await
    }

    /// The rows that go first.
    async fn first(&self, due: &dyn DueRows, term: &TermId) -> Result<Vec<Header>, StoreError> {
        let most = self.limit + u32::try_from(self.excluded.len()).unwrap_or(u32::MAX);
        let halting = self.terms.channels.iter().filter(|channel| channel.on_dead_ordered == OnDeadOrdered::Halt);
        let halting: Vec<_> = halting.map(|channel| channel.name.clone()).collect();
        let mut headers = due.look(term.shard, WalkStart::default(), most).await?;
        let mut from = None;
        loop {
            let step = due.next_keys(term.shard, from.as_ref(), most, 1, &halting).await?;
            headers.extend(step.headers);
            from = step.next;
            if from.is_none() {
                break;
            }
        }
        headers.retain(|header| !self.excluded.contains(&header.id));
        headers.sort_by_key(|header| (Reverse(header.priority), header.at, header.id));
        headers.truncate(self.limit as usize);
        Ok(headers)
    }
}

impl Outbox {
    /// Claims what this asks for.
    pub async fn claim(&self, term: &TermId, ask: &Ask<'_>) -> Vec<Message> {
        self.try_claim(term, ask).await.unwrap()
    }

    /// Claims what may be refused.
    ///
    /// # Errors
    /// As of [`DueRows::claim_rows`].
    pub async fn try_claim(&self, term: &TermId, ask: &Ask<'_>) -> Result<Vec<Message>, StoreError> {
        ask.claim(&*self.due(), term).await
    }

    /// Claims all that is due.
    pub async fn claim_all(&self, term: &TermId, channels: &[ChannelTerms]) -> (ClaimId, Vec<Message>) {
        let ask = Ask::of(channels);
        (ask.claim, self.claim(term, &ask).await)
    }

    /// Defers what is due of other channels.
    pub async fn defer_unknown(&self, term: &TermId, channels: &[ChannelTerms]) -> BTreeMap<String, u64> {
        Ask::of(channels).defer_unknown(&*self.due(), term).await.unwrap()
    }
}
