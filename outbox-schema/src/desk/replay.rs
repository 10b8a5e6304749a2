//! Replaying sends again what was delivered: each message by a row of its own, which says what it repeats. So the first row
//! stays as it was.

use std::collections::BTreeSet;
use std::num::NonZeroU32;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::edit::not_json;
use super::operation::{Operation, Standing};
use super::operations::{Batch, Remaining, Work};
use super::redrive::Schedule;
use super::statements::{REPLAY, REPLAYED, REPLAYS};
use super::{MessageChange, MessageSelection, Pace, Refusal, Replay, Replayed, Skipped};
use crate::sql::AnyConnection;
use crate::store::wire::ids_as_json;
use crate::{Database, MessageId, Status};

/// How to replay.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplayManner {
    /// Whether each row gets a key of its own. Otherwise the receiver gets the key of the message that is repeated, and may
    /// recognise it.
    pub new_key: bool,
    /// Whether messages that were replayed before are sent once more. Otherwise they are left out, so that a command can be
    /// repeated: without its canary, or where nobody knows whether it came through.
    pub again: bool,
    /// Only messages with a higher id than this, to go on after a canary that was told to send messages `again`.
    pub after: Option<MessageId>,
    /// How fast, and how many.
    pub pace: Pace,
}

/// A replay of delivered messages.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Replaying {
    selection: MessageSelection,
    manner: ReplayManner,
    remaining: Remaining,
    /// None before the first batch.
    schedule: Option<Schedule>,
    done: Replayed,
}

impl Replaying {
    pub(super) fn of(selection: &MessageSelection, manner: ReplayManner) -> Self {
        let done = Replayed::default();
        Self { selection: selection.clone(), manner, remaining: Remaining::default(), schedule: None, done }
    }
}

/// A row to write, as the statement reads it.
#[derive(Serialize)]
struct Repeated {
    id: MessageId,
    key: String,
    due_us: i64,
    same_key: bool,
}

#[async_trait]
impl Work for Replaying {
    const ACTION: &'static str = "replay";
    type Done = Replayed;

    fn said(&self) -> serde_json::Value {
        let Self { manner, done, .. } = self;
        let mut details = self.selection.said(done.meant);
        details["canary"] = manner.pace.canary.map(NonZeroU32::get).into();
        details["rate"] = manner.pace.rate.map(NonZeroU32::get).into();
        details["new_key"] = manner.new_key.into();
        details["again"] = manner.again.into();
        details["after"] = manner.after.map(|after| after.0).into();
        details
    }

    async fn find(&mut self, database: &Database) -> sqlx::Result<Option<u64>> {
        let mut meant = self.selection.ids(database, MessageChange::Replay, &mut self.remaining.as_of_us).await?;
        meant.retain(|id| self.manner.after.is_none_or(|after| *id > after));
        self.done.meant = self.done.meant.max(meant.len() as u64);
        Ok(Some(self.remaining.keep(meant, self.manner.pace.canary.map(NonZeroU32::get))))
    }

    fn begun(&mut self, audit_id: i64) {
        self.done.audit_id = Some(audit_id);
    }

    async fn batch(&mut self, connection: &mut AnyConnection<'_>, operation: &Operation) -> sqlx::Result<Batch> {
        let Self { manner, remaining, schedule, done, .. } = self;
        let batch = remaining.next();
        let schedule = match schedule {
            Some(schedule) => schedule,
            None => schedule.insert(Schedule::from(connection, manner.pace).await?),
        };
        let (mut fit, mut skipped) = Standing::lock(connection, &batch).await?.split(&batch, Status::Success);
        if !manner.again {
            let before: Vec<(i64,)> = connection.rows(&REPLAYED, &[(&ids_as_json(&fit)).into()]).await?;
            let before: BTreeSet<_> = before.into_iter().map(|(id,)| id).collect();
            let (left, others) = fit.into_iter().partition(|id| before.contains(&id.0));
            fit = others;
            let left: Vec<MessageId> = left;
            skipped.extend(left.into_iter().map(|id| Skipped { id, because: Refusal::Replayed }));
        }
        let rows = fit.iter().map(|id| Repeated {
            id: *id,
            key: Uuid::now_v7().to_string(),
            due_us: schedule.next_us(),
            same_key: !manner.new_key,
        });
        let rows: Vec<_> = rows.collect();
        let keys: Vec<_> = rows.iter().map(|row| row.key.as_str()).collect();
        let (rows, keys) =
            (serde_json::to_string(&rows).map_err(not_json)?, serde_json::to_string(&keys).map_err(not_json)?);
        connection.rows::<()>(&REPLAY, &[(&rows).into()]).await?;
        let written: Vec<Replay> = connection.rows(&REPLAYS, &[(&keys).into()]).await?;
        operation.audit_parts(connection, &parts(written.iter().copied(), manner.new_key)).await?;

        done.replayed += written.len() as u64;
        let room = Replayed::SHOWN.saturating_sub(done.replays.len());
        done.replays.extend(written.into_iter().take(room));
        done.skipped.extend(skipped);
        done.last = batch.last().copied();
        Ok(Batch::of(&batch, done.replayed, remaining))
    }

    fn done(self) -> Replayed {
        self.done
    }
}

/// The entries of the messages that were repeated.
fn parts(replays: impl Iterator<Item = Replay>, new_key: bool) -> String {
    let part = |replay: Replay| {
        let details = serde_json::json!({ "replay": replay.id, "new_key": new_key });
        serde_json::json!({ "id": replay.replay_of, "details": details.to_string() })
    };
    serde_json::Value::Array(replays.map(part).collect()).to_string()
}
