//! A store that remembers since when it could not write, for `/readyz`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use outbox_schema::MessageId;
use outbox_store::destination::DestinationState;
use outbox_store::mark::MarkReport;
use outbox_store::store::due::{
    DueRows, Header, LaneLook, LookAndClaim, LookedAndClaimed, RingPlace, RingStep, RowsToClaim,
};
use outbox_store::store::{OpenedTerm, Settlement, TermCounts, Wakeups};
use outbox_store::{
    ChannelTerms, ClaimId, Epoch, Holder, Lineages, Mark, Message, Shard, Store, StoreError, TermEnd, TermId, WalkStart,
};

use crate::health::answering::{Answering, Silence};

/// Wraps a store, and watches the answers to the necessary calls: terms, looks, claims and marks.
#[derive(Debug)]
pub struct StoreHealth {
    store: Arc<dyn Store>,
    /// What its connections tell of failovers.
    pub lineages: Arc<Lineages>,
    answering: Answering,
}

impl StoreHealth {
    /// Watches `store`.
    pub fn new(store: Arc<dyn Store>, lineages: Arc<Lineages>) -> Self {
        Self { store, lineages, answering: Answering::new("the outbox database did not answer in time") }
    }

    async fn watch<T>(&self, answer: impl Future<Output = Result<T, StoreError>>) -> Result<T, StoreError> {
        self.answering.watch(answer, is_trouble).await
    }

    /// Since when nothing could be written. None where the last call was answered.
    pub fn trouble(&self) -> Option<Silence> {
        self.answering.trouble()
    }

    /// Why something failed, and why the servers that answer are of no use, where they are none.
    pub fn in_full(&self, why: String) -> String {
        match self.lineages.refusal() {
            Some(refusal) => format!("{why}: {refusal}"),
            None => why,
        }
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
    async fn begin_term(&self, shard: Shard, holder: &Holder, above: Epoch) -> Result<OpenedTerm, StoreError> {
        self.watch(self.store.begin_term(shard, holder, above)).await
    }

    async fn end_term(&self, term: &TermId, end: TermEnd, counts: TermCounts) -> Result<(), StoreError> {
        self.store.end_term(term, end, counts).await
    }

    async fn release(&self, shard: Shard, claim: ClaimId) -> Result<(), StoreError> {
        self.store.release(shard, claim).await
    }

    async fn destinations(&self, names: &[String]) -> Result<Vec<DestinationState>, StoreError> {
        self.store.destinations(names).await
    }

    async fn mark(&self, marks: &[Mark], finished: &[ClaimId]) -> Result<MarkReport, StoreError> {
        self.watch(self.store.mark(marks, finished)).await
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

#[async_trait]
impl DueRows for StoreHealth {
    async fn look(&self, shard: Shard, behind: WalkStart, limit: u32) -> Result<Vec<Header>, StoreError> {
        self.watch(self.store.look(shard, behind, limit)).await
    }

    async fn newest(&self, shard: Shard, limit: u32) -> Result<Vec<Header>, StoreError> {
        self.watch(self.store.newest(shard, limit)).await
    }

    async fn look_at_lanes(&self, shard: Shard, lanes: &[LaneLook], limit: u32) -> Result<Vec<Header>, StoreError> {
        self.watch(self.store.look_at_lanes(shard, lanes, limit)).await
    }

    async fn next_lanes(
        &self,
        shard: Shard,
        from: Option<&RingPlace>,
        lanes: u32,
        each: u32,
    ) -> Result<RingStep, StoreError> {
        self.watch(self.store.next_lanes(shard, from, lanes, each)).await
    }

    async fn next_keys(
        &self,
        shard: Shard,
        from: Option<&RingPlace>,
        keys: u32,
        each: u32,
        halting: &[String],
    ) -> Result<RingStep, StoreError> {
        self.watch(self.store.next_keys(shard, from, keys, each, halting)).await
    }

    async fn claim_rows(&self, term: &TermId, request: &RowsToClaim<'_>) -> Result<Vec<Message>, StoreError> {
        self.watch(self.store.claim_rows(term, request)).await
    }

    async fn look_and_claim(&self, term: &TermId, request: &LookAndClaim<'_>) -> Result<LookedAndClaimed, StoreError> {
        self.watch(self.store.look_and_claim(term, request)).await
    }

    async fn defer_unknown(
        &self,
        term: &TermId,
        rows: &[MessageId],
        channels: &[ChannelTerms],
        delay: Duration,
    ) -> Result<BTreeMap<String, u64>, StoreError> {
        self.store.defer_unknown(term, rows, channels, delay).await
    }
}
