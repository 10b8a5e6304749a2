//! Due rows, on the connections that are kept for looks and for claims.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use outbox_schema::MessageId;
use sqlx::postgres::PgRow;

use super::claim::{self, Claim, DueMessage, READING, apart};
use super::errors::{failed, fenced, is_lost};
use super::looks::{self, Look, headers, keys_step, lanes_step};
use super::{PostgresStore, names};
use crate::store::Header;
use crate::store::due::{
    CLAIMING, DEFERRING, DueRows, LOOKING, LaneLook, LookAndClaim, LookedAndClaimed, RingPlace, RingStep, RowsToClaim,
};
use crate::store::headers::newest_of;
use crate::store::rows::by_channel;
use crate::store::wire::millis_i64;
use crate::{ChannelTerms, Message, Shard, StoreError, TermId, WalkStart};

/// A claim that took so long may have waited for a standby, and been let go without one: by an operator, or since the server has
/// no standby any more. It is asked for once more: where it was made, that waits for the same.
const WAITED: Duration = Duration::from_secs(1);

impl PostgresStore {
    /// The rows of a look. `query` makes its statement, anew for a connection that turned out to be lost.
    async fn looked(&self, query: impl Fn() -> Look) -> Result<Vec<PgRow>, StoreError> {
        let mut connection = self.of_the_looks.take_unasked().await.map_err(|error| failed(LOOKING, error))?;
        let mut rows = query().fetch_all(&mut connection).await;
        if rows.as_ref().is_err_and(is_lost) {
            connection = self.of_the_looks.make().await.map_err(|error| failed(LOOKING, error))?;
            rows = query().fetch_all(&mut connection).await;
        }
        let rows = rows.map_err(|error| failed(LOOKING, error))?;
        self.of_the_looks.keep(connection);
        Ok(rows)
    }

    /// The rows that a claim took and showed, in their order. `query` makes its statement: with what rows say, or without.
    async fn claimed(&self, term: &TermId, query: impl Fn(bool) -> Claim) -> Result<Vec<DueMessage>, StoreError> {
        let mut connection = self.of_the_loop.take_unasked().await.map_err(|error| failed(CLAIMING, error))?;
        let asked = Instant::now();
        let mut rows = query(true).fetch_all(&mut connection).await;
        if rows.is_ok() && asked.elapsed() > WAITED {
            rows = query(true).fetch_all(&mut connection).await;
        }
        // The claim may have been made. A repeat under its id makes it only once.
        if rows.as_ref().is_err_and(is_lost) {
            connection = self.of_the_loop.make().await.map_err(|error| failed(CLAIMING, error))?;
            rows = query(true).fetch_all(&mut connection).await;
        }
        let rows = rows.map_err(|error| match error.as_database_error() {
            // An earlier try of the same claim has committed meanwhile. The next try finds it.
            Some(database) if database.is_unique_violation() => {
                StoreError::Unavailable { doing: CLAIMING, source: error.into() }
            }
            Some(_) | None => fenced(term, CLAIMING, error),
        });
        let mut rows = match rows {
            Err(StoreError::Refused { .. }) => {
                let rows = query(false).fetch_all(&mut connection).await;
                let mut rows = rows.map_err(|error| fenced(term, READING, error))?;
                apart(&mut connection, &mut rows).await?;
                rows
            }
            rows => rows?,
        };
        self.of_the_loop.keep(connection);
        rows.sort_by_key(|row| row.place);
        Ok(rows)
    }
}

#[async_trait]
impl DueRows for PostgresStore {
    async fn look(&self, shard: Shard, behind: WalkStart, limit: u32) -> Result<Vec<Header>, StoreError> {
        headers(&self.looked(|| looks::look(shard, &behind, limit)).await?)
    }

    async fn newest(&self, shard: Shard, limit: u32) -> Result<Vec<Header>, StoreError> {
        Ok(newest_of(headers(&self.looked(|| looks::newest(shard, limit)).await?)?, limit))
    }

    async fn look_at_lanes(&self, shard: Shard, lanes: &[LaneLook], limit: u32) -> Result<Vec<Header>, StoreError> {
        headers(&self.looked(|| looks::look_at_lanes(shard, lanes, limit)).await?)
    }

    async fn next_lanes(
        &self,
        shard: Shard,
        from: Option<&RingPlace>,
        lanes: u32,
        each: u32,
    ) -> Result<RingStep, StoreError> {
        lanes_step(&self.looked(|| looks::next_lanes(shard, from, lanes, each)).await?)
    }

    async fn next_keys(
        &self,
        shard: Shard,
        from: Option<&RingPlace>,
        keys: u32,
        each: u32,
        halting: &[String],
    ) -> Result<RingStep, StoreError> {
        keys_step(&self.looked(|| looks::next_keys(shard, from, keys, each, halting)).await?)
    }

    async fn claim_rows(&self, term: &TermId, request: &RowsToClaim<'_>) -> Result<Vec<Message>, StoreError> {
        Ok(DueMessage::claimed(self.claimed(term, |bodies| claim::claim_rows(term, request, bodies)).await?))
    }

    async fn look_and_claim(&self, term: &TermId, request: &LookAndClaim<'_>) -> Result<LookedAndClaimed, StoreError> {
        let rows = self.claimed(term, |bodies| claim::look_and_claim(term, request, bodies)).await?;
        Ok(DueMessage::looked_and_claimed(rows))
    }

    async fn defer_unknown(
        &self,
        term: &TermId,
        rows: &[MessageId],
        channels: &[ChannelTerms],
        delay: Duration,
    ) -> Result<BTreeMap<String, u64>, StoreError> {
        let mut step = self.session(true).await.map_err(|error| failed(DEFERRING, error))?;
        sqlx::query(query!("postgres/poller/require_term"))
            .bind(term.shard.0)
            .bind(term.epoch.0)
            .bind(term.holder.as_str())
            .execute(&mut *step)
            .await
            .map_err(|error| fenced(term, DEFERRING, error))?;
        let channels: Vec<String> = sqlx::query_scalar(query!("postgres/poller/defer"))
            .bind(term.shard.0)
            .bind(rows.iter().map(|id| id.0).collect::<Vec<_>>())
            .bind(names(channels))
            .bind(millis_i64(delay))
            .fetch_all(&mut *step)
            .await
            .map_err(|error| failed(DEFERRING, error))?;
        step.commit().await.map_err(|error| failed(DEFERRING, error))?;
        Ok(by_channel(channels.into_iter()))
    }
}
