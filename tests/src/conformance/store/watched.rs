//! The store of each test, watched: what comes out of a claim is a set, without what it had to leave out, and a repeated claim brings
//! nothing new. So no poller has a message of one revision in two claims: it leaves out what it has in hand.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use outbox_schema::destination::DestinationState;
use outbox_schema::mark::MarkReport;
use outbox_schema::store::{Hidden, HiddenLook, OpenedTerm, Settlement, TermCounts, Wakeups};
use outbox_schema::{
    ChannelTerms, ClaimId, ClaimRequest, Claimed, Holder, Mark, MessageId, Revision, Shard, Store, StoreError, TermEnd,
    TermId,
};

/// A message as a claim takes it.
type Row = (MessageId, Revision);

/// A store, and what the claims on it brought.
#[derive(Debug)]
pub(super) struct Watched {
    store: Arc<dyn Store>,
    claims: Mutex<HashMap<ClaimId, HashSet<Row>>>,
}

impl Watched {
    pub(super) fn of(store: Arc<dyn Store>) -> Arc<dyn Store> {
        Arc::new(Self { store, claims: Mutex::default() })
    }

    /// Judges what a claim has brought.
    fn judge(&self, request: &ClaimRequest<'_>, claimed: &Claimed) {
        let brought: Vec<Row> = claimed.messages.iter().map(|message| (message.id(), message.revision())).collect();
        let rows: HashSet<Row> = brought.iter().copied().collect();
        assert_eq!(rows.len(), brought.len(), "a message came twice in one claim: {brought:?}");
        let left_out = |row: &&Row| request.excluded.contains(&row.0);
        assert_eq!(rows.iter().find(left_out), None, "a message came that the claim had to leave out");
        if rows.is_empty() {
            // One that asks, or finds nothing, makes no claim: the next under its id may be the first.
            return;
        }
        let mut claims = self.claims.lock().unwrap();
        let first = claims.entry(request.claim).or_insert_with(|| rows.clone());
        assert!(rows.is_subset(first), "a repeated claim brought more than the first: {rows:?}, {first:?}");
    }
}

#[async_trait]
impl Store for Watched {
    async fn claim(&self, term: &TermId, request: &ClaimRequest<'_>) -> Result<Claimed, StoreError> {
        let claimed = self.store.claim(term, request).await?;
        self.judge(request, &claimed);
        Ok(claimed)
    }

    async fn release(&self, shard: Shard, claim: ClaimId) -> Result<(), StoreError> {
        self.store.release(shard, claim).await?;
        self.claims.lock().unwrap().remove(&claim);
        Ok(())
    }

    async fn begin_term(&self, shard: Shard, holder: &Holder) -> Result<OpenedTerm, StoreError> {
        self.store.begin_term(shard, holder).await
    }

    async fn end_term(&self, term: &TermId, end: TermEnd, counts: TermCounts) -> Result<(), StoreError> {
        self.store.end_term(term, end, counts).await
    }

    async fn hidden(&self, shard: Shard, look: &HiddenLook<'_>) -> Result<Hidden, StoreError> {
        self.store.hidden(shard, look).await
    }

    async fn destinations(&self, names: &[String]) -> Result<Vec<DestinationState>, StoreError> {
        self.store.destinations(names).await
    }

    async fn mark(&self, marks: &[Mark], finished: &[ClaimId]) -> Result<MarkReport, StoreError> {
        self.store.mark(marks, finished).await
    }

    async fn record_unmarked(&self, marks: &[Mark], why: &str) -> Result<(), StoreError> {
        self.store.record_unmarked(marks, why).await
    }

    async fn settle(
        &self,
        term: &TermId,
        channels: &[ChannelTerms],
        unanswered: &[MessageId],
    ) -> Result<Settlement, StoreError> {
        self.store.settle(term, channels, unanswered).await
    }

    async fn wakeups(&self) -> Result<Option<Box<dyn Wakeups>>, StoreError> {
        self.store.wakeups().await
    }

    fn distrust(&self) {
        self.store.distrust();
    }
}
