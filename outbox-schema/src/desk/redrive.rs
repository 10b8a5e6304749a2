//! Redriving makes dead letters due again. Purging walks them in the same way.

use std::num::NonZeroU32;

use async_trait::async_trait;

use super::batches::{Batch, BatchedChange, in_batches};
use super::dead::{meant, now_us};
use super::operation::{Operation, Standing, lock_terms, said_of};
use super::progress::Watch;
use super::statements::REDRIVE;
use super::{Author, Pace, Purged, Redriven, Selection};
use crate::retention::{PURGE, PURGE_ATTEMPTS};
use crate::sql::AnyConnection;
use crate::store::wire::ids_as_json;
use crate::{Database, MessageId, Status};

pub(super) async fn redrive(
    database: &Database,
    selection: &Selection,
    pace: Pace,
    author: &Author,
    watch: Watch<'_>,
) -> sqlx::Result<Redriven> {
    let mut ids = meant(database, selection).await?;
    let mut done =
        Redriven { audit_id: None, meant: ids.len() as u64, redriven: 0, messages: Vec::new(), skipped: Vec::new() };
    ids.truncate(pace.canary.map_or(usize::MAX, |most| most.get() as usize));
    if ids.is_empty() {
        return Ok(done);
    }
    let mut details = said_of(selection, done.meant);
    details["canary"] = pace.canary.map(NonZeroU32::get).into();
    details["rate"] = pace.rate.map(NonZeroU32::get).into();
    let operation = Operation::begin(database, "redrive", &details, author).await?;
    done.audit_id = Some(operation.audit_id);

    let mut redriving = Redriving { pace, schedule: None, done };
    in_batches(database, &operation, &ids, &mut redriving, watch).await?;
    Ok(redriving.done)
}

struct Redriving {
    pace: Pace,
    /// None before the first batch.
    schedule: Option<Schedule>,
    done: Redriven,
}

#[async_trait]
impl BatchedChange for Redriving {
    async fn batch(
        &mut self,
        connection: &mut AnyConnection<'_>,
        operation: &Operation,
        batch: &[MessageId],
    ) -> sqlx::Result<Batch> {
        let schedule = match &mut self.schedule {
            Some(schedule) => schedule,
            None => self.schedule.insert(Schedule::from(connection, self.pace).await?),
        };
        // No claim is being made now. On MySQL a claim reads in one statement which message of a key is first, and in a
        // second one whether a dead letter halts that key. A redrive between the two would let the next message of the key
        // go first.
        lock_terms(connection).await?;
        let (fit, skipped) = Standing::lock(connection, batch).await?.split(batch, Status::Dead);
        operation.audit_each(connection, &ids_as_json(&fit)).await?;
        let due: serde_json::Value =
            fit.iter().map(|id| serde_json::json!({ "id": id, "due_us": schedule.next_us() })).collect();
        connection.rows::<()>(&REDRIVE, &[due.to_string().as_str().into()]).await?;
        self.done.redriven += fit.len() as u64;
        let room = Redriven::SHOWN.saturating_sub(self.done.messages.len());
        self.done.messages.extend(fit.into_iter().take(room));
        self.done.skipped.extend(skipped);
        Ok(Batch::of(self.done.redriven))
    }
}

/// When the messages of a redrive or of a replay come due, one after the other.
pub(super) struct Schedule {
    start_us: i64,
    rate: Option<i64>,
    handed_out: i64,
}

impl Schedule {
    pub(super) async fn from(connection: &mut AnyConnection<'_>, pace: Pace) -> sqlx::Result<Self> {
        let rate = pace.rate.map(|rate| i64::from(rate.get()));
        Ok(Self { start_us: now_us(connection).await?, rate, handed_out: 0 })
    }

    pub(super) fn next_us(&mut self) -> i64 {
        let after_us = self.rate.map_or(0, |rate| self.handed_out.saturating_mul(1_000_000) / rate);
        self.handed_out += 1;
        self.start_us.saturating_add(after_us)
    }
}

pub(super) async fn purge(
    database: &Database,
    selection: &Selection,
    author: &Author,
    watch: Watch<'_>,
) -> sqlx::Result<Purged> {
    let ids = meant(database, selection).await?;
    let mut done = Purged { audit_id: None, meant: ids.len() as u64, purged: 0, skipped: Vec::new() };
    if ids.is_empty() {
        return Ok(done);
    }
    let operation = Operation::begin(database, "purge", &said_of(selection, done.meant), author).await?;
    done.audit_id = Some(operation.audit_id);

    let mut purging = Purging(done);
    in_batches(database, &operation, &ids, &mut purging, watch).await?;
    Ok(purging.0)
}

struct Purging(Purged);

#[async_trait]
impl BatchedChange for Purging {
    async fn batch(
        &mut self,
        connection: &mut AnyConnection<'_>,
        operation: &Operation,
        batch: &[MessageId],
    ) -> sqlx::Result<Batch> {
        let Self(done) = self;
        let (fit, skipped) = Standing::lock(connection, batch).await?.split(batch, Status::Dead);
        let gone = ids_as_json(&fit);
        operation.audit_each(connection, &gone).await?;
        connection.rows::<()>(&PURGE_ATTEMPTS, &[(&gone).into()]).await?;
        connection.rows::<()>(&PURGE, &[(&gone).into()]).await?;
        done.purged += fit.len() as u64;
        done.skipped.extend(skipped);
        Ok(Batch::of(done.purged))
    }
}
