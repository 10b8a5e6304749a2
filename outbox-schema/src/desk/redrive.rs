//! Redriving makes dead letters due again. Purging walks them in the same way.

use std::num::NonZeroU32;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::dead::{meant, now_us};
use super::operation::{Operation, Standing, lock_terms, said_of};
use super::operations::{Batch, Remaining, Work};
use super::statements::REDRIVE;
use super::{Pace, Purged, Redriven, Selection, Skips};
use crate::retention::{PURGE, PURGE_ATTEMPTS};
use crate::sql::AnyConnection;
use crate::store::wire::ids_as_json;
use crate::{Database, Status};

/// A redrive of dead letters.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Redriving {
    selection: Selection,
    pace: Pace,
    remaining: Remaining,
    /// None before the first batch.
    schedule: Option<Schedule>,
    done: Redriven,
}

impl Redriving {
    pub(super) fn of(selection: &Selection, pace: Pace) -> Self {
        let done = Redriven { audit_id: None, meant: 0, redriven: 0, messages: Vec::new(), skipped: Skips::default() };
        Self { selection: selection.clone(), pace, remaining: Remaining::default(), schedule: None, done }
    }
}

#[async_trait]
impl Work for Redriving {
    const ACTION: &'static str = "redrive";
    type Done = Redriven;

    fn said(&self) -> serde_json::Value {
        let mut details = said_of(&self.selection, self.done.meant);
        details["canary"] = self.pace.canary.map(NonZeroU32::get).into();
        details["rate"] = self.pace.rate.map(NonZeroU32::get).into();
        details
    }

    async fn find(&mut self, database: &Database) -> sqlx::Result<Option<u64>> {
        let meant = meant(database, &self.selection, &mut self.remaining.as_of_us).await?;
        self.done.meant = self.done.meant.max(meant.len() as u64);
        Ok(Some(self.remaining.keep(meant, self.pace.canary.map(NonZeroU32::get))))
    }

    fn begun(&mut self, audit_id: i64) {
        self.done.audit_id = Some(audit_id);
    }

    async fn batch(&mut self, connection: &mut AnyConnection<'_>, operation: &Operation) -> sqlx::Result<Batch> {
        let schedule = match &mut self.schedule {
            Some(schedule) => schedule,
            None => self.schedule.insert(Schedule::from(connection, self.pace).await?),
        };
        let batch = self.remaining.next();
        // No claim is being made now. On MySQL a claim reads in one statement which message of a key is first, and in a
        // second one whether a dead letter halts that key. A redrive between the two would let the next message of the key
        // go first.
        lock_terms(connection).await?;
        let (fit, skipped) = Standing::lock(connection, &batch).await?.split(&batch, Status::Dead);
        operation.audit_each(connection, &ids_as_json(&fit)).await?;
        let due: serde_json::Value =
            fit.iter().map(|id| serde_json::json!({ "id": id, "due_us": schedule.next_us() })).collect();
        connection.rows::<()>(&REDRIVE, &[due.to_string().as_str().into()]).await?;
        self.done.redriven += fit.len() as u64;
        let room = Redriven::SHOWN.saturating_sub(self.done.messages.len());
        self.done.messages.extend(fit.into_iter().take(room));
        self.done.skipped.extend(skipped);
        Ok(Batch::of(&batch, self.done.redriven, &self.remaining))
    }

    fn done(self) -> Redriven {
        self.done
    }
}

/// When the messages of a redrive or of a replay come due, one after the other.
#[derive(Debug, Serialize, Deserialize)]
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

/// A purge of dead letters.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Purging {
    selection: Selection,
    remaining: Remaining,
    done: Purged,
}

impl Purging {
    pub(super) fn of(selection: &Selection) -> Self {
        let done = Purged { audit_id: None, meant: 0, purged: 0, skipped: Skips::default() };
        Self { selection: selection.clone(), remaining: Remaining::default(), done }
    }
}

#[async_trait]
impl Work for Purging {
    const ACTION: &'static str = "purge";
    type Done = Purged;

    fn said(&self) -> serde_json::Value {
        said_of(&self.selection, self.done.meant)
    }

    async fn find(&mut self, database: &Database) -> sqlx::Result<Option<u64>> {
        let meant = meant(database, &self.selection, &mut self.remaining.as_of_us).await?;
        self.done.meant = self.done.meant.max(meant.len() as u64);
        Ok(Some(self.remaining.keep(meant, None)))
    }

    fn begun(&mut self, audit_id: i64) {
        self.done.audit_id = Some(audit_id);
    }

    async fn batch(&mut self, connection: &mut AnyConnection<'_>, operation: &Operation) -> sqlx::Result<Batch> {
        let Self { remaining, done, .. } = self;
        let batch = remaining.next();
        let (fit, skipped) = Standing::lock(connection, &batch).await?.split(&batch, Status::Dead);
        let gone = ids_as_json(&fit);
        operation.audit_each(connection, &gone).await?;
        connection.rows::<()>(&PURGE_ATTEMPTS, &[(&gone).into()]).await?;
        connection.rows::<()>(&PURGE, &[(&gone).into()]).await?;
        done.purged += fit.len() as u64;
        done.skipped.extend(skipped);
        Ok(Batch::of(&batch, done.purged, remaining))
    }

    fn done(self) -> Purged {
        self.done
    }
}
