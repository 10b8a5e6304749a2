//! Headers of due rows, and claims by ids. Looks read beside whoever writes: only a claim takes the lock of the file.

use std::collections::BTreeMap;
use std::time::Duration;

use async_trait::async_trait;

use super::SqliteStore;
use super::claim::{self, DOING, is_made};
use super::errors::failed;
use crate::store::due::{
    DueRows, Header, Lane, LaneLook, LookAndClaim, LookedAndClaimed, RingPlace, RingStep, RowsToClaim,
};
use crate::store::headers::{
    HeaderRow, Start, claim_found, due_of_keys, each_once, in_order, names_of, newest_of, ring_place,
};
use crate::store::lossy::Lossy;
use crate::store::steps::{Batch, TermRow};
use crate::store::wire::{ChannelRow, as_json, ids_as_json};
use crate::{ChannelTerms, Message, MessageId, Shard, StoreError, TermId, WalkStart};

const LOOKING: &str = "looking for due messages";

#[async_trait]
impl DueRows for SqliteStore {
    async fn look(&self, shard: Shard, behind: WalkStart, limit: u32) -> Result<Vec<Header>, StoreError> {
        self.due(shard, behind, limit, &[], &[]).await
    }

    async fn newest(&self, shard: Shard, limit: u32) -> Result<Vec<Header>, StoreError> {
        let rows = sqlx::query_as(concat!(query!("sqlite/due/shown"), query!("sqlite/due/newest")))
            .bind(shard.0)
            .bind(limit)
            .fetch_all(&self.pool)
            .await;
        Ok(newest_of(rows.map_err(|error| failed(LOOKING, error))?, limit))
    }

    async fn look_at_lanes(&self, shard: Shard, lanes: &[LaneLook], limit: u32) -> Result<Vec<Header>, StoreError> {
        let starts = |look: &LaneLook| {
            let (channel, tenant) = (hex(&look.lane.channel), hex(&look.lane.tenant));
            Start::of_all(look.behind).map(move |start| (channel.clone(), tenant.clone(), start))
        };
        self.of_lanes(shard, lanes.iter().flat_map(starts).collect(), limit).await
    }

    async fn next_lanes(
        &self,
        shard: Shard,
        from: Option<&RingPlace>,
        lanes: u32,
        each: u32,
    ) -> Result<RingStep, StoreError> {
        let (names, next) = self.step(query!("sqlite/due/next_lanes"), shard, from, lanes).await?;
        let starts = names.into_iter().flat_map(|(channel, tenant)| {
            Start::of_all(WalkStart::default()).map(move |start| (channel.clone(), tenant.clone(), start))
        });
        Ok(RingStep { headers: self.of_lanes(shard, starts.collect(), each).await?, next })
    }

    async fn next_keys(
        &self,
        shard: Shard,
        from: Option<&RingPlace>,
        keys: u32,
        each: u32,
        halting: &[String],
    ) -> Result<RingStep, StoreError> {
        let (names, next) = self.step(query!("sqlite/due/next_keys"), shard, from, keys).await?;
        let rows = sqlx::query_as(concat!(query!("sqlite/due/shown"), query!("sqlite/due/look_at_keys")))
            .bind(shard.0)
            .bind(as_json(LOOKING, &names)?)
            .bind(each)
            .bind(as_json(LOOKING, halting)?)
            .fetch_all(&self.pool)
            .await;
        Ok(RingStep { headers: due_of_keys(rows.map_err(|error| failed(LOOKING, error))?), next })
    }

    async fn claim_rows(&self, term: &TermId, request: &RowsToClaim<'_>) -> Result<Vec<Message>, StoreError> {
        let channels = as_json(DOING, &ChannelRow::all(request.terms.channels))?;
        let mut tx = self.begin(DOING).await?;
        let messages = if is_made(&mut *tx, term, request.claim).await? {
            claim::made(&mut tx, request.claim, &channels).await?
        } else {
            let mut fitting: Vec<(i64, i64, i32)> = sqlx::query_as(query!("sqlite/due/claim_rows"))
                .bind(term.shard.0)
                .bind(as_json(DOING, &each_once(request.rows))?)
                .bind(&channels)
                .fetch_all(&mut *tx)
                .await
                .map_err(|error| failed(DOING, error))?;
            fitting.sort_unstable();
            let fitting: Vec<_> = fitting.into_iter().map(|(_place, id, revision)| (id, revision)).collect();
            let messages =
                if fitting.is_empty() { Vec::new() } else { claim::read(&mut tx, fitting.clone(), &channels).await? };
            if let Some(batch) = Batch::of_rows(DOING, &fitting, &messages, request.terms)? {
                claim::insert(&mut tx, term, request.claim, batch).await?;
            }
            messages
        };
        tx.commit().await.map_err(|error| failed(DOING, error))?;
        Ok(messages)
    }

    async fn look_and_claim(&self, term: &TermId, request: &LookAndClaim<'_>) -> Result<LookedAndClaimed, StoreError> {
        if is_made(&self.pool, term, request.claim).await? {
            let again = RowsToClaim { claim: request.claim, rows: &[], terms: request.terms };
            let messages = self.claim_rows(term, &again).await?;
            let ids: Vec<_> = messages.iter().map(Message::id).collect();
            let rows = sqlx::query_as(concat!(query!("sqlite/due/shown"), query!("sqlite/due/by_ids")))
                .bind(ids_as_json(&ids))
                .fetch_all(&self.pool)
                .await;
            return Ok(LookedAndClaimed { headers: in_order(rows.map_err(|error| failed(LOOKING, error))?), messages });
        }
        let headers = self.due(term.shard, request.behind, request.limit, request.known, request.not_of).await?;
        claim_found(self, term, request, headers).await
    }

    async fn defer_unknown(
        &self,
        term: &TermId,
        rows: &[MessageId],
        channels: &[ChannelTerms],
        delay: Duration,
    ) -> Result<BTreeMap<String, u64>, StoreError> {
        let doing = "deferring messages of unknown channels";
        let channels = as_json(doing, &ChannelRow::all(channels))?;
        let mut tx = self.begin(doing).await?;
        let found: sqlx::Result<Option<TermRow>> =
            sqlx::query_as(query!("sqlite/poller/term_lock_shared")).bind(term.shard.0).fetch_optional(&mut *tx).await;
        TermRow::require(found.map_err(|error| failed(doing, error))?.as_ref(), term)?;
        let unknown: Vec<(i64, Lossy<String>)> = sqlx::query_as(query!("sqlite/due/unknown"))
            .bind(term.shard.0)
            .bind(ids_as_json(rows))
            .bind(&channels)
            .fetch_all(&mut *tx)
            .await
            .map_err(|error| failed(doing, error))?;
        let unknown = unknown.into_iter().map(|(id, channel)| (id, channel.into())).collect();
        let deferred = claim::defer(&mut tx, term.shard, unknown, ("[]", &channels), delay).await?;
        tx.commit().await.map_err(|error| failed(doing, error))?;
        Ok(deferred)
    }
}

/// A lane by its names, which are bytes, and where a look at it begins.
type LaneStart = (String, String, Start);

impl SqliteStore {
    async fn due(
        &self,
        shard: Shard,
        behind: WalkStart,
        limit: u32,
        known: &[MessageId],
        not_of: &[Lane],
    ) -> Result<Vec<Header>, StoreError> {
        let not_of: Vec<_> = not_of.iter().map(|lane| [&lane.channel, &lane.tenant]).collect();
        let rows: sqlx::Result<Vec<HeaderRow>> =
            sqlx::query_as(concat!(query!("sqlite/due/shown"), query!("sqlite/due/look")))
                .bind(shard.0)
                .bind(as_json(LOOKING, &Start::of_all(behind).collect::<Vec<_>>())?)
                .bind(limit)
                .bind(ids_as_json(known))
                .bind(as_json(LOOKING, &not_of)?)
                .fetch_all(&self.pool)
                .await;
        Ok(in_order(rows.map_err(|error| failed(LOOKING, error))?))
    }

    async fn of_lanes(&self, shard: Shard, starts: Vec<LaneStart>, limit: u32) -> Result<Vec<Header>, StoreError> {
        let rows = sqlx::query_as(concat!(query!("sqlite/due/shown"), query!("sqlite/due/look_at_lanes")))
            .bind(shard.0)
            .bind(as_json(LOOKING, &starts)?)
            .bind(limit)
            .fetch_all(&self.pool)
            .await;
        Ok(in_order(rows.map_err(|error| failed(LOOKING, error))?))
    }

    /// The names on a ring behind a place, as bytes, and the place behind them.
    async fn step(
        &self,
        statement: &'static str,
        shard: Shard,
        from: Option<&RingPlace>,
        most: u32,
    ) -> Result<(Vec<(String, String)>, Option<RingPlace>), StoreError> {
        let from = from.map(names_of);
        let names: sqlx::Result<Vec<(String, String)>> = sqlx::query_as(statement)
            .bind(shard.0)
            .bind(from.as_ref().map(|(channel, _)| channel))
            .bind(from.as_ref().map(|(_, name)| name))
            .bind(most)
            .fetch_all(&self.pool)
            .await;
        let names = names.map_err(|error| failed(LOOKING, error))?;
        let last = names.iter().max().filter(|_| names.len() >= most as usize);
        let next = last.map(|(channel, name)| ring_place(channel, name));
        Ok((names, next))
    }
}

fn hex(text: &str) -> String {
    let digit = |nibble: u8| char::from_digit(nibble.into(), 16).unwrap_or_default();
    text.bytes().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}
