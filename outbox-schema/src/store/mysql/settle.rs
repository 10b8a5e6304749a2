//! Settling: the rows that earlier terms left in doubt.

use std::time::Duration;

use super::errors::failed;
use super::{MySqlStore, Step};
use crate::store::Settlement;
use crate::store::rows::UnsettledRow;
use crate::store::steps::{Decision, DoubtRow, TermRow};
use crate::store::wire::{ChannelRow, as_json};
use crate::{ChannelTerms, MessageId, Shard, StoreError, TermId};

const DOING: &str = "settling claims";

impl MySqlStore {
    pub(super) async fn settle_in_steps(
        &self,
        term: &TermId,
        channels: &[ChannelTerms],
    ) -> Result<Settlement, StoreError> {
        let channels = as_json(DOING, &ChannelRow::all(channels))?;
        let mut step = self.begin(DOING).await?;
        let locked: Option<TermRow> = sqlx::query_as(query!("mysql/poller/term_lock_shared"))
            .bind(term.shard.0)
            .fetch_optional(&mut *step)
            .await
            .map_err(|error| failed(DOING, error))?;
        TermRow::require(locked.as_ref(), term)?;

        let decisions = decide(&mut step, term.shard, &channels).await?;
        step.commit().await.map_err(|error| failed(DOING, error))?;
        let mut step = Step::open(&self.pool).await.map_err(|error| failed(DOING, error))?;
        let (unsettled, next) = unsettled(&mut step, term.shard).await?;
        step.finish();
        Ok(Settlement { decided: decisions.into_iter().map(Into::into).collect(), unsettled, next })
    }
}

/// Decides the rows of the claims whose settling time is over, and ends those claims and those of which nothing is left.
pub(super) async fn decide(step: &mut Step, shard: Shard, channels: &str) -> Result<Vec<Decision>, StoreError> {
    let over: Vec<String> = sqlx::query_scalar(query!("mysql/poller/settle_lock"))
        .bind(shard.0)
        .fetch_all(&mut **step)
        .await
        .map_err(|error| failed(DOING, error))?;
    if over.is_empty() {
        return Ok(Vec::new());
    }
    let over = as_json(DOING, &over)?;
    let doubt: Vec<DoubtRow> = sqlx::query_as(query!("mysql/poller/settle_doubt"))
        .bind(&over)
        .bind(channels)
        .fetch_all(&mut **step)
        .await
        .map_err(|error| failed(DOING, error))?;
    let decisions: Vec<Decision> = doubt.into_iter().map(Into::into).collect();
    let decided = as_json(DOING, &decisions)?;
    for (statement, argument) in [
        (query!("mysql/poller/settle"), &decided),
        (query!("mysql/poller/settle_record"), &decided),
        (query!("mysql/poller/claims_delete"), &over),
    ] {
        sqlx::query(statement).bind(argument).execute(&mut **step).await.map_err(|error| failed(DOING, error))?;
    }
    Ok(decisions)
}

/// Rows of claims that wait for their settling time, and when the first of these is over.
pub(super) async fn unsettled(step: &mut Step, shard: Shard) -> Result<(Vec<MessageId>, Option<Duration>), StoreError> {
    let rows: Vec<UnsettledRow> = sqlx::query_as(query!("mysql/poller/unsettled"))
        .bind(shard.0)
        .fetch_all(&mut **step)
        .await
        .map_err(|error| failed("reading unsettled claims", error))?;
    Ok(UnsettledRow::split(&rows))
}
