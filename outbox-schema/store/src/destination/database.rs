//! Destinations, on each of the databases. The statements differ by dialect; the steps and their order do not.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use async_trait::async_trait;
use outbox_schema::MessageId;
use serde::Serialize;
use sqlx::FromRow;

use super::statements::{
    ASIDE_CLEAR, ASIDE_KEEP, ASIDE_PUT, BRING_BACK, BY_HAND, CONFIGURED, DEFERRED, DUE, LOCKED, RAMP,
};
use super::{Aside, BroughtBack, ByHandChange, DestinationStore, Look};
use crate::look::{Passed, Place, Step};
use crate::sql::{AnyConnection, AnyTransaction, Value, read, write};
use crate::store::lossy::Lossy;
use crate::store::rows::pause_of;
use crate::store::term::hold;
use crate::store::wire::{as_json, ids_as_json, millis_i64};
use crate::{Database, Shard, StoreError, TermId};

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
    pause_kind: Option<String>,
    paused_ms: Option<i64>,
    failures: i32,
}

impl From<ByHandRow> for ByHandChange {
    fn from(row: ByHandRow) -> Self {
        Self {
            destination: row.destination,
            stamp: row.stamp,
            pause: pause_of(row.pause_kind.as_deref(), row.paused_ms),
            failures: row.failures.try_into().unwrap_or(0),
        }
    }
}

/// A row that is locked.
#[derive(Debug, FromRow)]
struct LockedRow {
    id: i64,
    #[sqlx(try_from = "Lossy<String>")]
    destination: String,
    #[sqlx(try_from = "Lossy<String>")]
    channel: String,
    /// Whether a look still shows the row.
    due: bool,
    /// Whether the row is deferred: it has a time of its own to come back to.
    deferred: bool,
}

/// What is put aside, by name.
struct Asides<'a> {
    all: &'a [Aside],
    places: HashMap<&'a str, usize>,
}

impl<'a> Asides<'a> {
    fn of(all: &'a [Aside]) -> Self {
        Self { all, places: all.iter().enumerate().map(|(place, one)| (one.destination.as_str(), place)).collect() }
    }

    /// The place of what holds a row of that destination and channel. A deferral of the whole channel goes before that of the
    /// destination.
    fn holding(&self, destination: &str, channel: &str) -> Option<usize> {
        let of_channel = self.places.get(channel).filter(|place| self.all[**place].whole_channel);
        of_channel.or_else(|| self.places.get(destination)).copied()
    }
}

#[async_trait]
impl DestinationStore for Database {
    async fn put_aside(
        &self,
        term: &TermId,
        aside: &[Aside],
        excluded: &[MessageId],
        look: &mut Look,
    ) -> Result<Vec<u64>, StoreError> {
        const DOING: &str = "putting rows aside";
        let asides = Asides::of(aside);
        // Without a lock: a walk over many rows must keep neither a term nor an application waiting.
        let (mut found, next) = look_on(self, DOING, term.shard, &asides, look).await?;
        let excluded: HashSet<i64> = excluded.iter().map(|id| id.0).collect();
        found.retain(|id| !excluded.contains(id));
        let mut moved = vec![0; aside.len()];
        if !found.is_empty() {
            let mut transaction = hold(self, DOING, term).await?;
            put(&mut transaction.connection(), &asides, &found, &mut moved).await.map_err(unavailable(DOING))?;
            transaction.commit().await.map_err(unavailable(DOING))?;
        }
        look.from = next;
        Ok(moved)
    }

    async fn bring_back(&self, term: &TermId, destination: &str, limit: u32) -> Result<BroughtBack, StoreError> {
        const DOING: &str = "bringing rows back that were put aside";
        let limit = limit as usize;
        let found = deferred(self, Some(term.shard), destination, limit).await.map_err(unavailable(DOING))?;
        let mut transaction = hold(self, DOING, term).await?;
        let mut connection = transaction.connection();
        connection.rows::<()>(&ASIDE_CLEAR, &[destination.into()]).await.map_err(unavailable(DOING))?;
        let back = bring_back_those(&mut connection, &found, limit).await.map_err(unavailable(DOING))?;
        transaction.commit().await.map_err(unavailable(DOING))?;
        Ok(back)
    }

    async fn bring_back_configured(
        &self,
        term: &TermId,
        channels: &[&str],
        limit: u32,
    ) -> Result<BroughtBack, StoreError> {
        const DOING: &str = "bringing rows back whose channel was not configured";
        let channels = as_json(DOING, channels)?;
        let values = [term.shard.into(), (&channels).into(), i64::from(limit).into()];
        let found = read(self, &CONFIGURED, &values).await.map_err(unavailable(DOING))?;
        let mut transaction = hold(self, DOING, term).await?;
        let back = bring_back_those(&mut transaction.connection(), &found, limit as usize).await;
        let back = back.map_err(unavailable(DOING))?;
        transaction.commit().await.map_err(unavailable(DOING))?;
        Ok(back)
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

/// The due rows that the next step of a look finds for what is put aside, the first to go first, and where the step after it goes
/// on: behind the last row that it looked at, or with the next priority.
async fn look_on(
    database: &Database,
    doing: &'static str,
    shard: Shard,
    asides: &Asides<'_>,
    look: &Look,
) -> Result<(Vec<i64>, Option<Place>), StoreError> {
    let names = as_json(doing, &asides.all.iter().map(|one| &one.destination).collect::<Vec<_>>())?;
    let channels = asides.all.iter().filter(|one| one.whole_channel).map(|one| &one.destination);
    let channels = as_json(doing, &channels.collect::<Vec<_>>())?;
    let place = look.from.clone().unwrap_or(Place::FIRST);
    let (mut found, mut step) = (Vec::new(), Step::new(shard, place, look.rows, look.limit));
    let mut transaction = AnyTransaction::to_read(database).await.map_err(unavailable(doing))?;
    let mut connection = transaction.connection();
    while let Some(stretch) = step.next(&mut connection).await.map_err(unavailable(doing))? {
        let values = [&stretch.values()[..], &[(&names).into(), (&channels).into(), step.left().into()]].concat();
        let some: Vec<Passed> = connection.rows(&DUE, &values).await.map_err(unavailable(doing))?;
        step.brings(&some, &stretch);
        found.extend(some.into_iter().map(|row| row.id));
    }
    transaction.commit().await.map_err(unavailable(doing))?;
    Ok((found, step.goes_on()))
}

/// Of these rows, those that still wait, locked. What somebody else has locked is left.
async fn locked(connection: &mut AnyConnection<'_>, ids: &[i64]) -> sqlx::Result<Vec<LockedRow>> {
    connection.rows(&LOCKED, &[json(ids)?.as_str().into()]).await
}

/// Puts those of the rows aside that are still due. Counts them for each destination.
async fn put(
    connection: &mut AnyConnection<'_>,
    asides: &Asides<'_>,
    found: &[i64],
    moved: &mut [u64],
) -> sqlx::Result<()> {
    let aside = asides.all;
    let free: HashMap<i64, LockedRow> = locked(connection, found).await?.into_iter().map(|row| (row.id, row)).collect();
    let mut puts = Vec::with_capacity(free.len());
    for row in found.iter().filter_map(|id| free.get(id)).filter(|row| row.due) {
        let Some(place) = asides.holding(&row.destination, &row.channel) else { continue };
        puts.push(Put { id: row.id, ms: due_in(&aside[place], moved[place]) });
        moved[place] += 1;
    }
    if puts.is_empty() {
        return Ok(());
    }
    connection.rows::<()>(&ASIDE_PUT, &[json(&puts)?.as_str().into()]).await?;
    let kept: Vec<_> = aside
        .iter()
        .zip(moved)
        .filter(|(one, moved)| **moved > 0 && !one.step.is_zero())
        .map(|(one, moved)| Deferral {
            destination: &one.destination,
            ms: due_in(one, *moved - 1),
            reason: one.reason.as_deref(),
        })
        .collect();
    if !kept.is_empty() {
        connection.rows::<()>(&ASIDE_KEEP, &[json(&kept)?.as_str().into()]).await?;
    }
    Ok(())
}

/// When a row is due again that has `before` rows before it.
fn due_in(aside: &Aside, before: u64) -> i64 {
    let before = u32::try_from(before).unwrap_or(u32::MAX);
    let due = aside.from.saturating_add(aside.step.saturating_mul(before));
    millis_i64(due.min(aside.most.max(aside.from)))
}

/// Deferred rows of a destination or channel, `limit` at most, of one shard or of all.
async fn deferred(
    database: &Database,
    shard: Option<Shard>,
    destination: &str,
    limit: usize,
) -> sqlx::Result<Vec<(i64,)>> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let values = [Value::Number(shard.map(|shard| shard.0.into())), destination.into(), limit.into()];
    read(database, &DEFERRED, &values).await
}

/// Makes deferred rows of a destination or channel due again at their own times, `limit` at most, in all shards.
pub async fn bring_back_some(database: &Database, destination: &str, limit: usize) -> sqlx::Result<BroughtBack> {
    let found = deferred(database, None, destination, limit).await?;
    let mut transaction = AnyTransaction::to_write(database).await?;
    let back = bring_back_those(&mut transaction.connection(), &found, limit).await?;
    transaction.commit().await?;
    Ok(back)
}

/// Makes those of the rows due again at their own times that are still deferred. `limit` were looked for.
async fn bring_back_those(
    connection: &mut AnyConnection<'_>,
    found: &[(i64,)],
    limit: usize,
) -> sqlx::Result<BroughtBack> {
    if found.is_empty() {
        return Ok(BroughtBack { rows: 0, more: false });
    }
    let found: Vec<i64> = found.iter().map(|(id,)| *id).collect();
    let free = locked(connection, &found).await?;
    // What somebody else has locked may stay deferred, and is looked at again.
    let more = found.len() >= limit || free.len() < found.len();
    let ids: Vec<_> = free.into_iter().filter(|row| row.deferred).map(|row| MessageId(row.id)).collect();
    if !ids.is_empty() {
        connection.rows::<()>(&BRING_BACK, &[ids_as_json(&ids).as_str().into()]).await?;
    }
    Ok(BroughtBack { rows: ids.len() as u64, more })
}

fn json<T: Serialize>(rows: &[T]) -> sqlx::Result<String> {
    serde_json::to_string(rows).map_err(|error| sqlx::Error::Encode(error.into()))
}

fn unavailable(doing: &'static str) -> impl FnOnce(sqlx::Error) -> StoreError {
    move |source| StoreError::Unavailable { doing, source: source.into() }
}
