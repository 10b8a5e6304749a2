//! Redriving makes dead letters due again. Purging walks them in the same way.

use std::num::NonZeroU32;
use std::time::Instant;

use super::dead::{meant, now_us};
use super::operation::{BATCH, Operation, Standing, lock_terms, pause, said_of};
use super::progress::{Progress, Watch};
use super::statements::REDRIVE;
use super::{Author, Pace, Purged, Redriven, Selection, Skipped};
use crate::retention::{PURGE, PURGE_ATTEMPTS};
use crate::sql::{AnyConnection, AnyTransaction};
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
    let mut details = said_of(selection);
    details["meant"] = done.meant.into();
    details["canary"] = pace.canary.map(NonZeroU32::get).into();
    details["rate"] = pace.rate.map(NonZeroU32::get).into();
    let operation = Operation::begin(database, "redrive", &details, author).await?;
    done.audit_id = Some(operation.audit_id);

    let mut progress = Progress { audit_id: operation.audit_id, of: Some(ids.len() as u64), done: 0, changed: 0 };
    let mut schedule = None;
    for batch in ids.chunks(BATCH) {
        if watch(progress).is_break() {
            return Ok(done);
        }
        let began = Instant::now();
        let mut transaction = AnyTransaction::to_write(database).await?;
        let mut connection = transaction.connection();
        let schedule = match &mut schedule {
            Some(schedule) => schedule,
            None => schedule.insert(Schedule::from(&mut connection, pace).await?),
        };
        let (redriven, skipped) = redrive_batch(&mut connection, &operation, batch, schedule).await?;
        transaction.commit().await?;
        done.redriven += redriven.len() as u64;
        done.messages.extend(redriven.into_iter().take(Redriven::SHOWN.saturating_sub(done.messages.len())));
        done.skipped.extend(skipped);
        progress = Progress { done: progress.done + batch.len() as u64, changed: done.redriven, ..progress };
        if progress.done < ids.len() as u64 {
            pause(began).await;
        }
    }
    // The change is done, whether it was to go on or not.
    let _ = watch(progress);
    Ok(done)
}

async fn redrive_batch(
    connection: &mut AnyConnection<'_>,
    operation: &Operation,
    batch: &[MessageId],
    schedule: &mut Schedule,
) -> sqlx::Result<(Vec<MessageId>, Vec<Skipped>)> {
    // No claim is being made now. On MySQL a claim reads in one statement which message of a key is first, and in a
    // second one whether a dead letter halts that key. A redrive between the two would let the next message of the key
    // go first.
    lock_terms(connection).await?;
    let (fit, skipped) = Standing::lock(connection, batch).await?.split(batch, Status::Dead);
    operation.audit_each(connection, &ids_as_json(&fit)).await?;
    let due: serde_json::Value =
        fit.iter().map(|id| serde_json::json!({ "id": id, "due_us": schedule.next_us() })).collect();
    connection.rows::<()>(&REDRIVE, &[due.to_string().as_str().into()]).await?;
    Ok((fit, skipped))
}

/// When the messages of a redrive come due, one after the other.
struct Schedule {
    start_us: i64,
    rate: Option<i64>,
    handed_out: i64,
}

impl Schedule {
    async fn from(connection: &mut AnyConnection<'_>, pace: Pace) -> sqlx::Result<Self> {
        let rate = pace.rate.map(|rate| i64::from(rate.get()));
        Ok(Self { start_us: now_us(connection).await?, rate, handed_out: 0 })
    }

    fn next_us(&mut self) -> i64 {
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
    let mut details = said_of(selection);
    details["meant"] = done.meant.into();
    let operation = Operation::begin(database, "purge", &details, author).await?;
    done.audit_id = Some(operation.audit_id);

    let mut progress = Progress { audit_id: operation.audit_id, of: Some(done.meant), done: 0, changed: 0 };
    for batch in ids.chunks(BATCH) {
        if watch(progress).is_break() {
            return Ok(done);
        }
        let began = Instant::now();
        let mut transaction = AnyTransaction::to_write(database).await?;
        let mut connection = transaction.connection();
        let (fit, skipped) = Standing::lock(&mut connection, batch).await?.split(batch, Status::Dead);
        let gone = ids_as_json(&fit);
        operation.audit_each(&mut connection, &gone).await?;
        connection.rows::<()>(&PURGE_ATTEMPTS, &[(&gone).into()]).await?;
        connection.rows::<()>(&PURGE, &[(&gone).into()]).await?;
        transaction.commit().await?;
        done.purged += fit.len() as u64;
        done.skipped.extend(skipped);
        progress = Progress { done: progress.done + batch.len() as u64, changed: done.purged, ..progress };
        if progress.done < done.meant {
            pause(began).await;
        }
    }
    let _ = watch(progress);
    Ok(done)
}
