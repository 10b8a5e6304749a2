//! Replaying sends again what was delivered: each message by a row of its own, which says what it repeats. So the first row
//! stays as it was.

use std::collections::BTreeSet;
use std::num::NonZeroU32;

use async_trait::async_trait;
use serde::Serialize;
use uuid::Uuid;

use super::batches::{Batch, BatchedChange, in_batches};
use super::edit::not_json;
use super::operation::{Operation, Standing};
use super::progress::Watch;
use super::redrive::Schedule;
use super::statements::{REPLAY, REPLAYED, REPLAYS};
use super::{Author, MessageSelection, Pace, Refusal, Replay, Replayed, Skipped};
use crate::sql::AnyConnection;
use crate::store::wire::ids_as_json;
use crate::{Database, MessageId, Status};

/// How to replay.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
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

pub(super) async fn replay(
    database: &Database,
    selection: &MessageSelection,
    manner: ReplayManner,
    author: &Author,
    watch: Watch<'_>,
) -> sqlx::Result<Replayed> {
    let mut ids = selection.ids(database, Status::Success).await?;
    ids.retain(|id| manner.after.is_none_or(|after| *id > after));
    let mut done = Replayed { meant: ids.len() as u64, ..Replayed::default() };
    ids.truncate(manner.pace.canary.map_or(usize::MAX, |most| most.get() as usize));
    if ids.is_empty() {
        return Ok(done);
    }
    let mut details = selection.said(done.meant);
    details["canary"] = manner.pace.canary.map(NonZeroU32::get).into();
    details["rate"] = manner.pace.rate.map(NonZeroU32::get).into();
    details["new_key"] = manner.new_key.into();
    details["again"] = manner.again.into();
    details["after"] = manner.after.map(|after| after.0).into();
    let operation = Operation::begin(database, "replay", &details, author).await?;
    done.audit_id = Some(operation.audit_id);

    let mut replaying = Replaying { manner, schedule: None, done };
    in_batches(database, &operation, &ids, &mut replaying, watch).await?;
    Ok(replaying.done)
}

struct Replaying {
    manner: ReplayManner,
    /// None before the first batch.
    schedule: Option<Schedule>,
    done: Replayed,
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
impl BatchedChange for Replaying {
    async fn batch(
        &mut self,
        connection: &mut AnyConnection<'_>,
        operation: &Operation,
        batch: &[MessageId],
    ) -> sqlx::Result<Batch> {
        let Self { manner, schedule, done } = self;
        let schedule = match schedule {
            Some(schedule) => schedule,
            None => schedule.insert(Schedule::from(connection, manner.pace).await?),
        };
        let (mut fit, mut skipped) = Standing::lock(connection, batch).await?.split(batch, Status::Success);
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
        Ok(Batch::of(done.replayed))
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
