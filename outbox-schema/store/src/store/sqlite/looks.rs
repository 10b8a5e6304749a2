//! Looks on one connection. They read beside whoever writes: only a claim takes the lock of the file.

use outbox_schema::MessageId;
use sqlx::SqliteConnection;

use super::errors::failed;
use crate::store::due::{LOOKING, LaneLook, RingPlace, RingStep};
use crate::store::headers::{HeaderRow, Start, due_of_keys, headers, in_order, names_of, newest_of, ring_place};
use crate::store::wire::{as_json, ids_as_json};
use crate::store::{Header, Lane};
use crate::{Shard, StoreError, WalkStart};

/// A lane by its names, which are bytes, and where a look at it begins.
type LaneStart = (String, String, Start);

/// Looks on a connection, as [`DueRows`](crate::DueRows) says.
#[derive(Debug)]
pub(super) struct Looks<'c>(pub(super) &'c mut SqliteConnection);

impl Looks<'_> {
    /// The due rows behind a place, but for these rows and those of these lanes.
    pub(super) async fn look(
        &mut self,
        shard: Shard,
        behind: WalkStart,
        limit: u32,
        known: &[MessageId],
        not_of: &[Lane],
    ) -> Result<Vec<Header>, StoreError> {
        let not_of: Vec<_> = not_of.iter().map(|lane| [&lane.channel, &lane.tenant]).collect();
        let rows: sqlx::Result<Vec<HeaderRow>> = sqlx::query_as(query!("sqlite/due/shown", "sqlite/due/look"))
            .bind(shard.0)
            .bind(as_json(LOOKING, &Start::of_all(behind).collect::<Vec<_>>())?)
            .bind(limit)
            .bind(ids_as_json(known))
            .bind(as_json(LOOKING, &not_of)?)
            .fetch_all(&mut *self.0)
            .await;
        Ok(in_order(rows.map_err(|error| failed(LOOKING, error))?))
    }

    pub(super) async fn newest(&mut self, shard: Shard, limit: u32) -> Result<Vec<Header>, StoreError> {
        let rows = sqlx::query_as(query!("sqlite/due/shown", "sqlite/due/newest"))
            .bind(shard.0)
            .bind(limit)
            .fetch_all(&mut *self.0)
            .await;
        Ok(newest_of(headers(rows.map_err(|error| failed(LOOKING, error))?), limit))
    }

    pub(super) async fn look_at_lanes(
        &mut self,
        shard: Shard,
        lanes: &[LaneLook],
        limit: u32,
    ) -> Result<Vec<Header>, StoreError> {
        let starts = |look: &LaneLook| {
            let (channel, tenant) = (hex(&look.lane.channel), hex(&look.lane.tenant));
            Start::of_all(look.behind).map(move |start| (channel.clone(), tenant.clone(), start))
        };
        self.of_lanes(shard, lanes.iter().flat_map(starts).collect(), limit).await
    }

    pub(super) async fn next_lanes(
        &mut self,
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

    pub(super) async fn next_keys(
        &mut self,
        shard: Shard,
        from: Option<&RingPlace>,
        keys: u32,
        each: u32,
        halting: &[String],
    ) -> Result<RingStep, StoreError> {
        let (names, next) = self.step(query!("sqlite/due/next_keys"), shard, from, keys).await?;
        let rows = sqlx::query_as(query!("sqlite/due/shown", "sqlite/due/look_at_keys"))
            .bind(shard.0)
            .bind(as_json(LOOKING, &names)?)
            .bind(each)
            .bind(as_json(LOOKING, halting)?)
            .fetch_all(&mut *self.0)
            .await;
        Ok(RingStep { headers: due_of_keys(rows.map_err(|error| failed(LOOKING, error))?), next })
    }

    async fn of_lanes(&mut self, shard: Shard, starts: Vec<LaneStart>, limit: u32) -> Result<Vec<Header>, StoreError> {
        let rows = sqlx::query_as(query!("sqlite/due/shown", "sqlite/due/look_at_lanes"))
            .bind(shard.0)
            .bind(as_json(LOOKING, &starts)?)
            .bind(limit)
            .fetch_all(&mut *self.0)
            .await;
        Ok(in_order(rows.map_err(|error| failed(LOOKING, error))?))
    }

    /// The names on a ring behind a place, as bytes, and the place behind them.
    async fn step(
        &mut self,
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
            .fetch_all(&mut *self.0)
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
