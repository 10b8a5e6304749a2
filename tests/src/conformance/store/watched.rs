//! The due rows of each test, watched: what comes out of a claim is a set of what was asked for, and a repeated claim brings nothing
//! new.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use outbox_schema::MessageId;
use outbox_store::store::due::{
    DueRows, Header, LaneLook, LookAndClaim, LookedAndClaimed, RingPlace, RingStep, RowsToClaim,
};
use outbox_store::{ChannelTerms, ClaimId, Message, Revision, Shard, StoreError, TermId, WalkStart};
use parking_lot::Mutex;

/// A message as a claim takes it.
type Row = (MessageId, Revision);

/// Due rows, and what the claims of them brought.
#[derive(Debug)]
pub(super) struct Watched {
    due: Arc<dyn DueRows>,
    claims: Mutex<HashMap<ClaimId, HashSet<Row>>>,
}

impl Watched {
    pub(super) fn of(due: Arc<dyn DueRows>) -> Arc<dyn DueRows> {
        Arc::new(Self { due, claims: Mutex::default() })
    }

    /// Judges what a claim has brought, of which rows only those may come that were asked for.
    fn judge(&self, claim: ClaimId, brought: &[Message], asked_for: impl Fn(&Row) -> bool) {
        let brought: Vec<Row> = brought.iter().map(|message| (message.id(), message.revision())).collect();
        let rows: HashSet<Row> = brought.iter().copied().collect();
        assert_eq!(rows.len(), brought.len(), "a message came twice in one claim: {brought:?}");
        if rows.is_empty() {
            // A claim that gets no row is not made: the next under its id may be the first.
            return;
        }
        let mut claims = self.claims.lock();
        let first = claims.entry(claim).or_insert_with(|| {
            assert!(rows.iter().all(asked_for), "a message came that nobody asked for: {brought:?}");
            rows.clone()
        });
        assert!(rows.is_subset(first), "a repeated claim brought more than the first: {rows:?}, {first:?}");
    }
}

#[async_trait]
impl DueRows for Watched {
    async fn look(&self, shard: Shard, behind: WalkStart, limit: u32) -> Result<Vec<Header>, StoreError> {
        self.due.look(shard, behind, limit).await
    }

    async fn newest(&self, shard: Shard, limit: u32) -> Result<Vec<Header>, StoreError> {
        self.due.newest(shard, limit).await
    }

    async fn look_at_lanes(&self, shard: Shard, lanes: &[LaneLook], limit: u32) -> Result<Vec<Header>, StoreError> {
        self.due.look_at_lanes(shard, lanes, limit).await
    }

    async fn next_lanes(
        &self,
        shard: Shard,
        from: Option<&RingPlace>,
        lanes: u32,
        each: u32,
    ) -> Result<RingStep, StoreError> {
        self.due.next_lanes(shard, from, lanes, each).await
    }

    async fn next_keys(
        &self,
        shard: Shard,
        from: Option<&RingPlace>,
        keys: u32,
        each: u32,
        halting: &[String],
    ) -> Result<RingStep, StoreError> {
        self.due.next_keys(shard, from, keys, each, halting).await
    }

    async fn claim_rows(&self, term: &TermId, request: &RowsToClaim<'_>) -> Result<Vec<Message>, StoreError> {
        let claimed = self.due.claim_rows(term, request).await?;
        self.judge(request.claim, &claimed, |row| request.rows.contains(row));
        Ok(claimed)
    }

    async fn look_and_claim(&self, term: &TermId, request: &LookAndClaim<'_>) -> Result<LookedAndClaimed, StoreError> {
        let looked = self.due.look_and_claim(term, request).await?;
        self.judge(request.claim, &looked.messages, |(id, _)| !request.known.contains(id));
        Ok(looked)
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
