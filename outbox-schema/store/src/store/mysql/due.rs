//! Due rows on MySQL and MariaDB: looks on a session of their own, and claims by the statements that SQLite shares.

use std::collections::BTreeMap;
use std::time::Duration;

use async_trait::async_trait;
use outbox_schema::MessageId;

use super::errors::failed;
use super::looks::Looks;
use super::{MySqlStore, Step};
use crate::sql::AnyConnection;
use crate::store::Header;
use crate::store::claim::{self, is_made};
use crate::store::due::{DueRows, LOOKING, LaneLook, LookAndClaim, LookedAndClaimed, RingPlace, RingStep, RowsToClaim};
use crate::{ChannelTerms, Message, Shard, StoreError, TermId, WalkStart};

impl MySqlStore {
    /// A session without a transaction: a look locks nothing.
    async fn session(&self) -> Result<Step, StoreError> {
        Step::open(&self.pool).await.map_err(|error| failed(LOOKING, error))
    }
}

#[async_trait]
impl DueRows for MySqlStore {
    async fn look(&self, shard: Shard, behind: WalkStart, limit: u32) -> Result<Vec<Header>, StoreError> {
        let mut session = self.session().await?;
        let headers = Looks(&mut session).look(shard, behind, limit, &[], &[]).await?;
        session.finish();
        Ok(headers)
    }

    async fn newest(&self, shard: Shard, limit: u32) -> Result<Vec<Header>, StoreError> {
        let mut session = self.session().await?;
        let headers = Looks(&mut session).newest(shard, limit).await?;
        session.finish();
        Ok(headers)
    }

    async fn look_at_lanes(&self, shard: Shard, lanes: &[LaneLook], limit: u32) -> Result<Vec<Header>, StoreError> {
        let mut session = self.session().await?;
        let headers = Looks(&mut session).look_at_lanes(shard, lanes, limit).await?;
        session.finish();
        Ok(headers)
    }

    async fn next_lanes(
        &self,
        shard: Shard,
        from: Option<&RingPlace>,
        lanes: u32,
        each: u32,
    ) -> Result<RingStep, StoreError> {
        let mut session = self.session().await?;
        let step = Looks(&mut session).next_lanes(shard, from, lanes, each).await?;
        session.finish();
        Ok(step)
    }

    async fn next_keys(
        &self,
        shard: Shard,
        from: Option<&RingPlace>,
        keys: u32,
        each: u32,
        halting: &[String],
    ) -> Result<RingStep, StoreError> {
        let mut session = self.session().await?;
        let step = Looks(&mut session).next_keys(shard, from, keys, each, halting).await?;
        session.finish();
        Ok(step)
    }

    async fn claim_rows(&self, term: &TermId, request: &RowsToClaim<'_>) -> Result<Vec<Message>, StoreError> {
        claim::claim_rows(&self.database(), term, request).await
    }

    async fn look_and_claim(&self, term: &TermId, request: &LookAndClaim<'_>) -> Result<LookedAndClaimed, StoreError> {
        let LookAndClaim { claim, behind, limit, known, not_of, .. } = *request;
        let mut session = self.session().await?;
        let found = if is_made(&mut AnyConnection::MySql(&mut session), term, claim).await? {
            None
        } else {
            Some(Looks(&mut session).look(term.shard, behind, limit, known, not_of).await?)
        };
        session.finish();
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
