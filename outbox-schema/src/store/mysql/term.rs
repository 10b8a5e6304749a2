//! Terms: minted, and ended.

use super::errors::failed;
use super::settle::unsettled;
use super::{MySqlStore, Step};
use crate::store::rows::DestinationRow;
use crate::store::steps::TermRow;
use crate::store::{OpenedTerm, TermCounts};
use crate::{Epoch, Holder, Shard, StoreError, TermEnd, TermId};

impl MySqlStore {
    pub(super) async fn begin_term_in_steps(&self, shard: Shard, holder: &Holder) -> Result<OpenedTerm, StoreError> {
        let doing = "beginning a term";
        let mut step = self.begin(doing).await?;
        let epoch = mint(&mut step, shard, holder).await.map_err(|error| failed(doing, error))?;
        step.commit().await.map_err(|error| failed(doing, error))?;

        let mut step = Step::open(&self.pool).await.map_err(|error| failed(doing, error))?;
        let destinations: Vec<DestinationRow> = sqlx::query_as(query!("mysql/poller/destinations_known"))
            .fetch_all(&mut *step)
            .await
            .map_err(|error| failed(doing, error))?;
        let (unsettled, _) = unsettled(&mut step, shard).await?;
        step.finish();
        Ok(OpenedTerm {
            epoch: Epoch(epoch),
            unsettled,
            destinations: destinations.into_iter().map(Into::into).collect(),
        })
    }

    pub(super) async fn end_term_in_steps(
        &self,
        term: &TermId,
        end: TermEnd,
        counts: TermCounts,
    ) -> Result<(), StoreError> {
        let doing = "ending a term";
        let mut step = Step::open(&self.pool).await.map_err(|error| failed(doing, error))?;
        sqlx::query(query!("mysql/poller/close_gate"))
            .bind(term.shard.0)
            .bind(term.epoch.0)
            .bind(term.holder.as_str())
            .execute(&mut *step)
            .await
            .map_err(|error| failed(doing, error))?;
        sqlx::query(query!("mysql/poller/end_term"))
            .bind(end.as_str())
            .bind(counts.claimed.cast_signed())
            .bind(counts.delivered.cast_signed())
            .bind(counts.failed.cast_signed())
            .bind(term.shard.0)
            .bind(term.epoch.0)
            .bind(term.holder.as_str())
            .execute(&mut *step)
            .await
            .map_err(|error| failed(doing, error))?;
        step.finish();
        Ok(())
    }
}

/// Mints the next epoch, then freezes the claims that earlier terms left. Claimers hold the term row shared, so once it is
/// locked no claim of an earlier term can still appear.
pub(super) async fn mint(step: &mut Step, shard: Shard, holder: &Holder) -> Result<i64, sqlx::Error> {
    sqlx::query(query!("mysql/poller/term_ensure")).bind(shard.0).execute(&mut **step).await?;
    let term: TermRow = sqlx::query_as(query!("mysql/poller/term_lock")).bind(shard.0).fetch_one(&mut **step).await?;
    if term.holder == holder.as_str() {
        return Ok(term.epoch); // the answer to an earlier call was lost
    }

    let minted = term.epoch + 1;
    sqlx::query(query!("mysql/poller/term_mint")).bind(holder.as_str()).bind(shard.0).execute(&mut **step).await?;
    sqlx::query(query!("mysql/poller/term_log_lost")).bind(shard.0).bind(term.epoch).execute(&mut **step).await?;
    sqlx::query(query!("mysql/poller/term_log"))
        .bind(shard.0)
        .bind(minted)
        .bind(holder.as_str())
        .execute(&mut **step)
        .await?;

    sqlx::query(query!("mysql/poller/supersede_lock")).bind(shard.0).fetch_all(&mut **step).await?;
    sqlx::query(query!("mysql/poller/supersede")).bind(shard.0).execute(&mut **step).await?;
    Ok(minted)
}
