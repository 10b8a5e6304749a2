//! Claims: made, and read again where the answer was lost.

use std::collections::BTreeMap;

use sqlx::SqliteTransaction;
use sqlx::types::Json;

use super::SqliteStore;
use super::errors::failed;
use crate::claim::PRIORITIES;
use crate::store::fitting::{DueRow, Fitting};
use crate::store::lossy::Lossy;
use crate::store::rows::{Met, ReadRow, by_channel};
use crate::store::steps::{Batch, ClaimTermRow, TermRow};
use crate::store::wire::{ChannelRow, as_json, millis_i64};
use crate::{ClaimRequest, Claimed, Message, StoreError, TermId, WalkStart};

const DOING: &str = "claiming due messages";

/// What a claim would find.
#[derive(Debug, sqlx::FromRow)]
struct Peek {
    #[sqlx(flatten)]
    claim: ClaimTermRow,
    due: bool,
}

/// The request of a claim, in the form that statements take.
pub(super) struct ClaimParameters<'a> {
    term: &'a TermId,
    request: &'a ClaimRequest<'a>,
    excluded: String,
    channels: String,
    closed: String,
    closed_channels: String,
    /// For each priority, the milliseconds and the id behind which the walk begins.
    starts: String,
}

impl SqliteStore {
    pub(super) async fn claim_in_steps(
        &self,
        term: &TermId,
        request: &ClaimRequest<'_>,
    ) -> Result<Claimed, StoreError> {
        let asked = ClaimParameters::of(term, request)?;
        if !self.is_anything_due(&asked).await? {
            return Ok(Claimed::default());
        }
        let mut tx = self.begin(DOING).await?;
        let locked: Option<ClaimTermRow> = sqlx::query_as(query!("sqlite/poller/claim_term"))
            .bind(term.shard.0)
            .bind(request.claim.0.to_string())
            .fetch_optional(&mut *tx)
            .await
            .map_err(|error| failed(DOING, error))?;
        TermRow::require(locked.as_ref().map(|row| &row.term), term)?;

        let claimed =
            if locked.is_some_and(|row| row.made) { asked.made(&mut tx).await? } else { asked.claim(&mut tx).await? };
        tx.commit().await.map_err(|error| failed(DOING, error))?;
        Ok(claimed)
    }

    /// Whether any row is due, read without the lock of the file. A term that is over stays over, so it is fenced here
    /// already.
    async fn is_anything_due(&self, asked: &ClaimParameters<'_>) -> Result<bool, StoreError> {
        let peek: Option<Peek> = sqlx::query_as(query!("sqlite/poller/claim_peek"))
            .bind(asked.term.shard.0)
            .bind(asked.request.claim.0.to_string())
            .bind(&asked.excluded)
            .bind(&asked.closed)
            .bind(&asked.starts)
            .bind(&asked.closed_channels)
            .fetch_optional(&self.pool)
            .await
            .map_err(|error| failed(DOING, error))?;
        TermRow::require(peek.as_ref().map(|peek| &peek.claim.term), asked.term)?;
        Ok(peek.is_some_and(|peek| peek.due || peek.claim.made))
    }
}

fn starts(from: WalkStart) -> [Option<(i64, i64)>; PRIORITIES] {
    from.places().map(|place| place.map(|place| (place.us.div_euclid(1_000), place.id)))
}

impl<'a> ClaimParameters<'a> {
    pub(super) fn of(term: &'a TermId, request: &'a ClaimRequest<'a>) -> Result<Self, StoreError> {
        Ok(Self {
            term,
            request,
            excluded: as_json(DOING, request.excluded)?,
            channels: as_json(DOING, &ChannelRow::all(request.channels))?,
            closed: as_json(DOING, request.closed)?,
            closed_channels: as_json(DOING, request.closed_channels)?,
            starts: as_json(DOING, &starts(request.from))?,
        })
    }

    /// Walks, and writes the rows to claim and the rows that are in the way. Only then reads the claimed rows.
    pub(super) async fn claim(&self, tx: &mut SqliteTransaction<'static>) -> Result<Claimed, StoreError> {
        let due = self.walk(tx).await.map_err(|error| failed(DOING, error))?;
        let Fitting { taken, met, reached } = Fitting::of(due, self.request, self.request.from);
        let mut messages = Vec::new();
        if let Some(batch) = Batch::of(DOING, &taken, self.request)? {
            self.insert(tx, batch).await?;
            messages = read(tx, taken.iter().map(|row| (row.id, row.revision)).collect()).await?;
        }
        let deferred = if met.is_empty() { BTreeMap::new() } else { self.defer(tx, met).await? };
        Ok(Claimed { messages, deferred, reached })
    }

    /// Reads an earlier claim again, since the answer to that call was lost.
    async fn made(&self, tx: &mut SqliteTransaction<'static>) -> Result<Claimed, StoreError> {
        let (ids, revisions): (Json<Vec<i64>>, Json<Vec<i32>>) = sqlx::query_as(query!("sqlite/poller/claim_made"))
            .bind(self.request.claim.0.to_string())
            .fetch_one(&mut **tx)
            .await
            .map_err(|error| failed(DOING, error))?;
        let messages = read(tx, ids.0.into_iter().zip(revisions.0).collect()).await?;
        Ok(Claimed { messages, ..Claimed::default() })
    }

    async fn walk(&self, tx: &mut SqliteTransaction<'static>) -> Result<Vec<DueRow>, sqlx::Error> {
        sqlx::query_as(query!("sqlite/poller/claim_walk"))
            .bind(self.term.shard.0)
            .bind(&self.excluded)
            .bind(self.request.limit)
            .bind(&self.channels)
            .bind(&self.closed)
            .bind(&self.starts)
            .bind(self.request.keys.from.map(|key| &key.channel))
            .bind(self.request.keys.from.map(|key| &key.ordering_key))
            .bind(self.request.keys.until.map(|key| &key.channel))
            .bind(self.request.keys.until.map(|key| &key.ordering_key))
            .bind(&self.closed_channels)
            .fetch_all(&mut **tx)
            .await
    }

    async fn insert(&self, tx: &mut SqliteTransaction<'static>, batch: Batch) -> Result<(), StoreError> {
        sqlx::query(query!("sqlite/poller/claim_insert"))
            .bind(self.request.claim.0.to_string())
            .bind(self.term.shard.0)
            .bind(self.term.epoch.0)
            .bind(self.term.holder.as_str())
            .bind(batch.message_ids)
            .bind(batch.revisions)
            .bind(batch.settling_ms)
            .bind(batch.settling_closed_ms)
            .bind(batch.at_most_once)
            .execute(&mut **tx)
            .await
            .map(drop)
            .map_err(|error| failed(DOING, error))
    }

    /// Defers the rows that the walk met, and those that wait behind them. Returns how many rows of each channel these
    /// were.
    async fn defer(
        &self,
        tx: &mut SqliteTransaction<'static>,
        mut met: Met,
    ) -> Result<BTreeMap<String, u64>, StoreError> {
        let behind: Vec<(i64, Lossy<String>)> = sqlx::query_as(query!("sqlite/poller/defer_behind"))
            .bind(self.term.shard.0)
            .bind(&self.excluded)
            .bind(&self.channels)
            .fetch_all(&mut **tx)
            .await
            .map_err(|error| failed(DOING, error))?;
        met.extend(behind.into_iter().map(|(id, channel)| (id, channel.into())));
        sqlx::query(query!("sqlite/poller/defer"))
            .bind(as_json(DOING, &met.keys().collect::<Vec<_>>())?)
            .bind(millis_i64(self.request.unknown_channel_delay))
            .execute(&mut **tx)
            .await
            .map_err(|error| failed(DOING, error))?;
        Ok(by_channel(met.into_values()))
    }
}

/// The rows of a claim that may still be sent under it, in their order.
async fn read(tx: &mut SqliteTransaction<'static>, claimed: Vec<(i64, i32)>) -> Result<Vec<Message>, StoreError> {
    let rows = sqlx::query_as(query!("sqlite/poller/claimed"))
        .bind(as_json(DOING, &claimed)?)
        .fetch_all(&mut **tx)
        .await
        .map_err(|error| failed(DOING, error))?;
    Ok(ReadRow::in_order(rows))
}
