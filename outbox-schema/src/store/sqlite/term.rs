//! Terms: minted, and ended.

use sqlx::SqliteTransaction;

use super::SqliteStore;
use super::errors::failed;
use crate::store::rows::DestinationRow;
use crate::store::steps::TermRow;
use crate::store::{OpenedTerm, TermCounts};
use crate::{Epoch, Holder, Shard, StoreError, TermEnd, TermId};

impl SqliteStore {
    pub(super) async fn begin_term_in_steps(&self, shard: Shard, holder: &Holder) -> Result<OpenedTerm, StoreError> {
        let doing = "beginning a term";
        let mut tx = self.begin(doing).await?;
        let epoch = mint(&mut tx, shard, holder).await.map_err(|error| failed(doing, error))?;
        tx.commit().await.map_err(|error| failed(doing, error))?;

        let destinations: Vec<DestinationRow> = sqlx::query_as(query!("sqlite/poller/destinations_known"))
            .fetch_all(&self.pool)
            .await
            .map_err(|error| failed(doing, error))?;
        let (unsettled, _) = self.unsettled(shard).await?;
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
        sqlx::query(query!("sqlite/poller/close_gate"))
            .bind(term.shard.0)
            .bind(term.epoch.0)
            .bind(term.holder.as_str())
            .execute(&self.pool)
            .await
            .map_err(|error| failed(doing, error))?;
        sqlx::query(query!("sqlite/poller/end_term"))
            .bind(term.shard.0)
            .bind(term.epoch.0)
            .bind(term.holder.as_str())
            .bind(end.as_str())
            .bind(counts.claimed.cast_signed())
            .bind(counts.delivered.cast_signed())
            .bind(counts.failed.cast_signed())
            .execute(&self.pool)
            .await
            .map_err(|error| failed(doing, error))?;
        Ok(())
    }
}

/// Mints the next epoch, and then freezes the claims that earlier terms left. Claimers write. So once this transaction
/// writes, no claim of an earlier term can still appear.
pub(super) async fn mint(
    tx: &mut SqliteTransaction<'static>,
    shard: Shard,
    holder: &Holder,
) -> Result<i64, sqlx::Error> {
    sqlx::query(query!("sqlite/poller/term_ensure")).bind(shard.0).execute(&mut **tx).await?;
    let term: TermRow =
        sqlx::query_as(query!("sqlite/poller/term_lock_shared")).bind(shard.0).fetch_one(&mut **tx).await?;
    if term.holder == holder.as_str() {
        return Ok(term.epoch); // the answer to an earlier call was lost
    }

    let minted = term.epoch + 1;
    sqlx::query(query!("sqlite/poller/term_mint")).bind(holder.as_str()).bind(shard.0).execute(&mut **tx).await?;
    sqlx::query(query!("sqlite/poller/term_log_lost")).bind(shard.0).bind(term.epoch).execute(&mut **tx).await?;
    sqlx::query(query!("sqlite/poller/term_log"))
        .bind(shard.0)
        .bind(minted)
        .bind(holder.as_str())
        .execute(&mut **tx)
        .await?;

    sqlx::query(query!("sqlite/poller/supersede")).bind(shard.0).execute(&mut **tx).await?;
    Ok(minted)
}
