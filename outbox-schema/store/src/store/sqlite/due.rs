//! Due rows on SQLite: looks on a connection of their own, and claims by the statements that MySQL shares.

use std::collections::BTreeMap;
use std::time::Duration;

use async_trait::async_trait;
use outbox_schema::MessageId;
use sqlx::Sqlite;
use sqlx::pool::PoolConnection;

use super::SqliteStore;
use super::errors::failed;
use super::looks::Looks;
use crate::sql::AnyConnection;
use crate::store::Header;
use crate::store::claim::{self, is_made};
use crate::store::due::{DueRows, LOOKING, LaneLook, LookAndClaim, LookedAndClaimed, RingPlace, RingStep, RowsToClaim};
use crate::{ChannelTerms, Message, Shard, StoreError, TermId, WalkStart};

impl SqliteStore {
    /// A connection without a transaction: a look locks nothing.
    async fn connection(&self) -> Result<PoolConnection<Sqlite>, StoreError> {
        self.pool.acquire().await.map_err(|error| failed(LOOKING, error))
    }
}

#[async_trait]
impl DueRows for SqliteStore {
    async fn look(&self, shard: Shard, behind: WalkStart, limit: u32) -> Result<Vec<Header>, StoreError> {
        let mut connection = self.connection().await?;
        Looks(&mut connection).look(shard, behind, limit, &[], &[]).await
    }

    async fn newest(&self, shard: Shard, limit: u32) -> Result<Vec<Header>, StoreError> {
        let mut connection = self.connection().await?;
        Looks(&mut connection).newest(shard, limit).await
    }

    async fn look_at_lanes(&self, shard: Shard, lanes: &[LaneLook], limit: u32) -> Result<Vec<Header>, StoreError> {
        let mut connection = self.connection().await?;
        Looks(&mut connection).look_at_lanes(shard, lanes, limit).await
    }

    async fn next_lanes(
        &self,
        shard: Shard,
        from: Option<&RingPlace>,
        lanes: u32,
        each: u32,
    ) -> Result<RingStep, StoreError> {
        let mut connection = self.connection().await?;
        Looks(&mut connection).next_lanes(shard, from, lanes, each).await
    }

    async fn next_keys(
        &self,
        shard: Shard,
        from: Option<&RingPlace>,
        keys: u32,
        each: u32,
        halting: &[String],
    ) -> Result<RingStep, StoreError> {
        let mut connection = self.connection().await?;
        Looks(&mut connection).next_keys(shard, from, keys, each, halting).await
    }

    async fn claim_rows(&self, term: &TermId, request: &RowsToClaim<'_>) -> Result<Vec<Message>, StoreError> {
        claim::claim_rows(&self.database(), term, request).await
    }

    async fn look_and_claim(&self, term: &TermId, request: &LookAndClaim<'_>) -> Result<LookedAndClaimed, StoreError> {
        let LookAndClaim { claim, behind, limit, known, not_of, .. } = *request;
        let mut connection = self.connection().await?;
        let found = if is_made(&mut AnyConnection::Sqlite(&mut connection), term, claim).await? {
            None
        } else {
            Some(Looks(&mut connection).look(term.shard, behind, limit, known, not_of).await?)
        };
        drop(connection);
        claim::claim_found(&self.database(), term, request, found).await
    }

    async fn defer_unknown(
        &self,
        term: &TermId,
        rows: &[MessageId],
        channels: &[ChannelTerms],
        delay: Duration,
    ) -> Result<BTreeMap<String, u64>, StoreError> {
        claim::defer_unknown(&self.database(), term, rows, channels, delay).await
    }
}
