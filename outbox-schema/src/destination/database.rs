//! Destinations, on each of the databases. The statements differ by dialect; the steps and their order do not.

use std::collections::HashMap;
use std::time::Duration;

use async_trait::async_trait;
use serde::Serialize;
use sqlx::FromRow;

use super::statements::{
    ASIDE_CLEAR, ASIDE_FREE, ASIDE_KEEP, ASIDE_PUT, BRING_BACK, BRING_BACK_FREE, BY_HAND, CONFIGURED_FREE, RAMP,
};
use super::{Aside, ByHandChange, DestinationStore};
use crate::sql::{AnyConnection, Statement, Value, read, write};
use crate::store::term::hold;
use crate::store::wire::{as_json, ids_as_json, millis_i64};
use crate::{Database, MessageId, Shard, StoreError, TermId};

/// A row that is being deferred.
#[derive(Debug, Serialize)]
struct Put {
    id: i64,
    ms: i64,
}

/// The time until which rows of a destination are deferred.
#[derive(Debug, Serialize)]
struct Deferral<'a> {
    destination: &'a str,
    ms: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
}

#[derive(Debug, FromRow)]
struct ByHandRow {
    destination: String,
    stamp: i64,
    paused_ms: Option<i64>,
}

impl From<ByHandRow> for ByHandChange {
    fn from(row: ByHandRow) -> Self {
        let paused = row.paused_ms.and_then(|ms| u64::try_from(ms).ok()).filter(|ms| *ms > 0);
        Self { destination: row.destination, stamp: row.stamp, paused: paused.map(Duration::from_millis) }
    }
}

#[async_trait]
impl DestinationStore for Database {
    async fn put_aside(
        &self,
        term: &TermId,
        aside: &[Aside],
        excluded: &[MessageId],
        limit: u32,
    ) -> Result<Vec<u64>, StoreError> {
        const DOING: &str = "putting rows aside";
        let names = as_json(DOING, &aside.iter().map(|one| &one.destination).collect::<Vec<_>>())?;
        let channels = aside.iter().filter(|one| one.whole_channel).map(|one| &one.destination);
        let channels = as_json(DOING, &channels.collect::<Vec<_>>())?;
        let excluded = ids_as_json(excluded);
        let mut transaction = hold(self, DOING, term).await?;
        let free =
            [term.shard.into(), (&names).into(), (&excluded).into(), i64::from(limit).into(), (&channels).into()];
        let moved = put(&mut transaction.connection(), aside, &free).await.map_err(unavailable(DOING))?;
        transaction.commit().await.map_err(unavailable(DOING))?;
        Ok(moved)
    }

    async fn bring_back(&self, term: &TermId, destination: &str, limit: u32) -> Result<u64, StoreError> {
        const DOING: &str = "bringing rows back that were put aside";
        let mut transaction = hold(self, DOING, term).await?;
        let back =
            bring_back(&mut transaction.connection(), term, destination, limit).await.map_err(unavailable(DOING))?;
        transaction.commit().await.map_err(unavailable(DOING))?;
        Ok(back)
    }

    async fn bring_back_configured(&self, term: &TermId, channels: &[&str], limit: u32) -> Result<u64, StoreError> {
        const DOING: &str = "bringing rows back whose channel was not configured";
        let channels = as_json(DOING, channels)?;
        let free = [term.shard.into(), (&channels).into(), i64::from(limit).into()];
        let mut transaction = hold(self, DOING, term).await?;
        let back = bring_back_those(&mut transaction.connection(), &CONFIGURED_FREE, &free).await;
        let back = back.map_err(unavailable(DOING))?;
        transaction.commit().await.map_err(unavailable(DOING))?;
        Ok(back as u64)
    }

    async fn changes_by_hand(&self) -> Result<Vec<ByHandChange>, StoreError> {
        let rows: Vec<ByHandRow> =
            read(self, &BY_HAND, &[]).await.map_err(unavailable("reading what people paused and resumed"))?;
        Ok(rows.into_iter().map(Into::into).collect())
    }

    async fn remember_ramp(&self, destination: &str, rising_for: Duration) -> Result<(), StoreError> {
        let values = [destination.into(), millis_i64(rising_for).into()];
        write(self, &RAMP, &values).await.map_err(unavailable("remembering how far a rate has risen"))
    }
}

/// Puts those rows aside that [`ASIDE_FREE`] finds.
async fn put(connection: &mut AnyConnection<'_>, aside: &[Aside], free: &[Value<'_>]) -> sqlx::Result<Vec<u64>> {
    let free: Vec<(i64, String, String)> = connection.rows(&ASIDE_FREE, free).await?;
    let places: HashMap<&str, usize> =
        aside.iter().enumerate().map(|(place, one)| (one.destination.as_str(), place)).collect();
    let mut moved = vec![0_u64; aside.len()];
    let mut puts = Vec::with_capacity(free.len());
    for (id, destination, channel) in &free {
        // A deferral of the whole channel goes before that of the destination.
        let of_channel = places.get(channel.as_str()).filter(|place| aside[**place].whole_channel);
        let Some(&place) = of_channel.or_else(|| places.get(destination.as_str())) else { continue };
        puts.push(Put { id: *id, ms: due_in(&aside[place], moved[place]) });
        moved[place] += 1;
    }
    if puts.is_empty() {
        return Ok(moved);
    }
    connection.rows::<()>(&ASIDE_PUT, &[json(&puts)?.as_str().into()]).await?;
    let kept: Vec<_> = aside
        .iter()
        .zip(&moved)
        .filter(|(one, moved)| **moved > 0 && !one.step.is_zero())
        .map(|(one, moved)| Deferral {
            destination: &one.destination,
            ms: due_in(one, moved - 1),
            reason: one.reason.as_deref(),
        })
        .collect();
    if !kept.is_empty() {
        connection.rows::<()>(&ASIDE_KEEP, &[json(&kept)?.as_str().into()]).await?;
    }
    Ok(moved)
}

/// When a row is due again that has `before` rows before it.
fn due_in(aside: &Aside, before: u64) -> i64 {
    let before = u32::try_from(before).unwrap_or(u32::MAX);
    let due = aside.from.saturating_add(aside.step.saturating_mul(before));
    millis_i64(due.min(aside.most.max(aside.from)))
}

async fn bring_back(
    connection: &mut AnyConnection<'_>,
    term: &TermId,
    destination: &str,
    limit: u32,
) -> sqlx::Result<u64> {
    connection.rows::<()>(&ASIDE_CLEAR, &[destination.into()]).await?;
    Ok(bring_back_rows(connection, Some(term.shard), destination, limit as usize).await? as u64)
}

/// Makes deferred rows of a destination or channel due again at their own times, `limit` at most, in one shard or in
/// all. Returns their number.
pub(crate) async fn bring_back_rows(
    connection: &mut AnyConnection<'_>,
    shard: Option<Shard>,
    destination: &str,
    limit: usize,
) -> sqlx::Result<usize> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let values = [Value::Number(shard.map(|shard| shard.0.into())), destination.into(), limit.into()];
    bring_back_those(connection, &BRING_BACK_FREE, &values).await
}

/// Makes the rows that `free` finds due again at their own times. Returns their number.
async fn bring_back_those(
    connection: &mut AnyConnection<'_>,
    free: &'static Statement,
    values: &[Value<'_>],
) -> sqlx::Result<usize> {
    let free: Vec<(i64,)> = connection.rows(free, values).await?;
    if !free.is_empty() {
        let ids: Vec<_> = free.iter().map(|(id,)| MessageId(*id)).collect();
        connection.rows::<()>(&BRING_BACK, &[ids_as_json(&ids).as_str().into()]).await?;
    }
    Ok(free.len())
}

fn json<T: Serialize>(rows: &[T]) -> sqlx::Result<String> {
    serde_json::to_string(rows).map_err(|error| sqlx::Error::Encode(error.into()))
}

fn unavailable(doing: &'static str) -> impl FnOnce(sqlx::Error) -> StoreError {
    move |source| StoreError::Unavailable { doing, source: source.into() }
}
