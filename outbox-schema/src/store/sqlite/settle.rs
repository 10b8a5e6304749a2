//! Settling: the rows that earlier terms left in doubt.

use std::time::Duration;

use sqlx::SqliteTransaction;

use super::SqliteStore;
use super::errors::failed;
use crate::store::Settlement;
use crate::store::rows::UnsettledRow;
use crate::store::steps::{Decision, DoubtRow, TermRow};
use crate::store::wire::{ChannelRow, as_json};
use crate::{ChannelTerms, MessageId, Shard, StoreError, TermId};

const DOING: &str = "settling claims";

impl SqliteStore {
    pub(super) async fn unsettled(&self, shard: Shard) -> Result<(Vec<MessageId>, Option<Duration>), StoreError> {
        let rows: Vec<UnsettledRow> = sqlx::query_as(query!("sqlite/poller/unsettled"))
            .bind(shard.0)
            .fetch_all(&self.pool)
            .await
            .map_err(|error| failed("reading unsettled claims", error))?;
        Ok(UnsettledRow::split(&rows))
    }

    pub(super) async fn settle_in_steps(
        &self,
        term: &TermId,
        channels: &[ChannelTerms],
    ) -> Result<Settlement, StoreError> {
        let channels = as_json(DOING, &ChannelRow::all(channels))?;
        let mut tx = self.begin(DOING).await?;
        let locked: Option<TermRow> = sqlx::query_as(query!("sqlite/poller/term_lock_shared"))
            .bind(term.shard.0)
            .fetch_optional(&mut *tx)
            .await
            .map_err(|error| failed(DOING, error))?;
        TermRow::require(locked.as_ref(), term)?;

        let decisions = decide(&mut tx, term.shard, &channels).await?;
        tx.commit().await.map_err(|error| failed(DOING, error))?;
        let (unsettled, next) = self.unsettled(term.shard).await?;
        Ok(Settlement { decided: decisions.into_iter().map(Into::into).collect(), unsettled, next })
    }
}

/// Decides the rows of claims whose settling time is over. Ends those claims, and the claims without rows.
pub(super) async fn decide(
    tx: &mut SqliteTransaction<'static>,
    shard: Shard,
    channels: &str,
) -> Result<Vec<Decision>, StoreError> {
    let over: Vec<String> = sqlx::query_scalar(query!("sqlite/poller/settle_over"))
        .bind(shard.0)
        .fetch_all(&mut **tx)
        .await
        .map_err(|error| failed(DOING, error))?;
    if over.is_empty() {
        return Ok(Vec::new());
    }
    let over = as_json(DOING, &over)?;
    let doubt: Vec<DoubtRow> = sqlx::query_as(query!("sqlite/poller/settle_doubt"))
        .bind(&over)
        .bind(channels)
        .fetch_all(&mut **tx)
        .await
        .map_err(|error| failed(DOING, error))?;
    let decisions: Vec<Decision> = doubt.into_iter().map(Into::into).collect();
    let decided = as_json(DOING, &decisions)?;
    for (statement, argument) in [
        (query!("sqlite/poller/settle"), &decided),
        (query!("sqlite/poller/settle_record"), &decided),
        (query!("sqlite/poller/claims_delete"), &over),
    ] {
        sqlx::query(statement).bind(argument).execute(&mut **tx).await.map_err(|error| failed(DOING, error))?;
    }
    Ok(decisions)
}
