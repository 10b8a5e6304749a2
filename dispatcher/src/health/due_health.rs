//! Due rows that remember since when they were not answered for, for `/readyz`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use outbox_schema::{
    ChannelTerms, DueRows, Header, LaneLook, LookAndClaim, LookedAndClaimed, Message, MessageId, RingPlace, RingStep,
    RowsToClaim, Shard, StoreError, TermId, WalkStart,
};

use crate::health::store_health::StoreHealth;

/// Wraps due rows, and watches the answers to all calls, as those of the store itself.
#[derive(Debug)]
pub struct DueHealth {
    /// The due rows.
    pub due: Arc<dyn DueRows>,
    /// The health of the same database.
    pub health: Arc<StoreHealth>,
}

#[async_trait]
impl DueRows for DueHealth {
    async fn look(&self, shard: Shard, behind: WalkStart, limit: u32) -> Result<Vec<Header>, StoreError> {
        self.health.watch(self.due.look(shard, behind, limit)).await
    }

    async fn newest(&self, shard: Shard, limit: u32) -> Result<Vec<Header>, StoreError> {
        self.health.watch(self.due.newest(shard, limit)).await
    }

    async fn look_at_lanes(&self, shard: Shard, lanes: &[LaneLook], limit: u32) -> Result<Vec<Header>, StoreError> {
        self.health.watch(self.due.look_at_lanes(shard, lanes, limit)).await
    }

    async fn next_lanes(
        &self,
        shard: Shard,
        from: Option<&RingPlace>,
        lanes: u32,
        each: u32,
    ) -> Result<RingStep, StoreError> {
        self.health.watch(self.due.next_lanes(shard, from, lanes, each)).await
    }

    async fn next_keys(
        &self,
        shard: Shard,
        from: Option<&RingPlace>,
        keys: u32,
        each: u32,
        halting: &[String],
    ) -> Result<RingStep, StoreError> {
        self.health.watch(self.due.next_keys(shard, from, keys, each, halting)).await
    }

    async fn claim_rows(&self, term: &TermId, request: &RowsToClaim<'_>) -> Result<Vec<Message>, StoreError> {
        self.health.watch(self.due.claim_rows(term, request)).await
    }

    async fn look_and_claim(&self, term: &TermId, request: &LookAndClaim<'_>) -> Result<LookedAndClaimed, StoreError> {
        self.health.watch(self.due.look_and_claim(term, request)).await
    }

    async fn defer_unknown(
        &self,
        term: &TermId,
        rows: &[MessageId],
        channels: &[ChannelTerms],
        delay: Duration,
    ) -> Result<BTreeMap<String, u64>, StoreError> {
        self.due.defer_unknown(term, rows, channels, delay).await
    }
}
