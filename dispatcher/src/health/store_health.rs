//! A store that remembers since when it could not write, for `/readyz`.

use std::sync::Arc;

use async_trait::async_trait;
use outbox_schema::destination::DestinationState;
use outbox_schema::mark::MarkReport;
use outbox_schema::store::{Hidden, HiddenLook, OpenedTerm, Settlement, TermCounts, Wakeups};
use outbox_schema::{
    ChannelTerms, ClaimId, ClaimRequest, Claimed, Holder, Mark, MessageId, Shard, Store, StoreError, TermEnd, TermId,
};

use crate::health::answering::{Answering, Silence};

/// Wraps a store, and watches the answers to the necessary calls: terms, claims and marks.
#[derive(Debug)]
pub struct StoreHealth {
    store: Arc<dyn Store>,
    answering: Answering,
}

impl StoreHealth {
    /// Watches `store`.
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self { store, answering: Answering::new("the outbox database did not answer in time") }
    }

    /// Watches the answer to a further call.
    pub(crate) async fn watch<T>(&self, answer: impl Future<Output = Result<T, StoreError>>) -> Result<T, StoreError> {
        self.answering.watch(answer, is_trouble).await
    }

    /// Since when nothing could be written. None where the last call was answered.
    pub fn trouble(&self) -> Option<Silence> {
        self.answering.trouble()
    }
}

fn is_trouble(error: &StoreError) -> bool {
    match error {
        StoreError::Fenced { .. } => false,
        StoreError::Unavailable { .. } | StoreError::Refused { .. } => true,
    }
}

#[async_trait]
impl Store for StoreHealth {
    async fn begin_term(&self, shard: Shard, holder: &Holder) -> Result<OpenedTerm, StoreError> {
        self.answering.watch(self.store.begin_term(shard, holder), is_trouble).await
    }

    async fn end_term(&self, term: &TermId, end: TermEnd, counts: TermCounts) -> Result<(), StoreError> {
        self.store.end_term(term, end, counts).await
    }

    async fn claim(&self, term: &TermId, request: &ClaimRequest<'_>) -> Result<Claimed, StoreError> {
        self.answering.watch(self.store.claim(term, request), is_trouble).await
    }

    async fn release(&self, shard: Shard, claim: ClaimId) -> Result<(), StoreError> {
        self.store.release(shard, claim).await
    }

    async fn hidden(&self, shard: Shard, look: &HiddenLook<'_>) -> Result<Hidden, StoreError> {
        self.store.hidden(shard, look).await
    }

    async fn destinations(&self, names: &[String]) -> Result<Vec<DestinationState>, StoreError> {
        self.store.destinations(names).await
    }

    async fn mark(&self, marks: &[Mark], finished: &[ClaimId]) -> Result<MarkReport, StoreError> {
        self.answering.watch(self.store.mark(marks, finished), is_trouble).await
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
