//! Replaying sends again what was delivered: each message by a row of its own, which says what it repeats. So the first row
//! stays as it was.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::batches::{Batch, BatchedChange, in_batches};
use super::edit::not_json;
use super::messages::{MessageFilter, MessageSummary, among, each};
use super::operation::{Operation, Standing, said_of_filter, said_of_ids};
use super::progress::Watch;
use super::redrive::Schedule;
use super::statements::{REPLAY, REPLAYED, REPLAYS};
use super::{Author, Pace, Refusal, Replay, Replayed, Skipped};
use crate::sql::AnyConnection;
use crate::store::wire::ids_as_json;
use crate::{Database, MessageId, Status};

/// The most groups of delivered messages that are told.
pub const DELIVERED_GROUPS: usize = 1_000;

/// The delivered messages to replay.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum DeliveredSelection {
    /// Messages by their ids.
    Ids(Vec<MessageId>),
    /// All delivered messages that a filter admits, but for those that are replays themselves. An empty filter is refused: it
    /// would mean the whole history.
    Filter(MessageFilter),
}

/// How to replay.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReplayManner {
    /// Whether each row gets a key of its own. Otherwise the receiver gets the key of the message that is repeated, and may
    /// recognise it.
    pub new_key: bool,
    /// Whether messages that were replayed before are sent once more. Otherwise they are left out, so that a command can be
    /// repeated: without its canary, or where nobody knows whether it came through.
    pub again: bool,
    /// How fast, and how many.
    pub pace: Pace,
}

/// Delivered messages of one channel and destination.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DeliveredGroup {
    /// The channel of the messages.
    pub channel: String,
    /// The destination of the messages.
    pub destination: String,
    /// The number of messages in the group.
    pub count: u64,
    /// When the first of them was created.
    pub first_created: String,
    /// When the last of them was created.
    pub last_created: String,
    /// The newest message of the group.
    pub example: MessageId,
}

impl DeliveredSelection {
    /// Whether the selection can be replayed.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub fn check(&self) -> Result<(), &'static str> {
        match self {
            Self::Ids(ids) if ids.is_empty() => Err("it names no message"),
            Self::Filter(filter) if filter.status.is_some_and(|status| status != Status::Success) => {
                Err("only delivered messages are replayed: leave the status out")
            }
            Self::Filter(filter) if MessageFilter { status: None, ..filter.clone() } == MessageFilter::default() => {
                Err(
                    "an empty filter would mean every message that was ever delivered: say which, such as a channel and since",
                )
            }
            Self::Ids(_) | Self::Filter(_) => Ok(()),
        }
    }

    async fn each(&self, database: &Database, mut take: impl FnMut(Vec<MessageSummary>) + Send) -> sqlx::Result<()> {
        let delivered = |filter: &MessageFilter| MessageFilter { status: Some(Status::Success), ..filter.clone() };
        match self {
            Self::Ids(ids) => {
                take(among(database, ids, &delivered(&MessageFilter::default())).await?);
                Ok(())
            }
            Self::Filter(filter) => {
                each(database, &delivered(filter), |mut page| {
                    page.retain(|message| message.replay_of.is_none());
                    take(page);
                })
                .await
            }
        }
    }

    /// The ids of the selection, in ascending order. Those that an operator names are all among them.
    async fn ids(&self, database: &Database) -> sqlx::Result<Vec<MessageId>> {
        let mut ids = match self {
            Self::Ids(ids) => ids.clone(),
            Self::Filter(_) => {
                let mut ids = Vec::new();
                self.each(database, |page| ids.extend(page.iter().map(|message| MessageId(message.id)))).await?;
                ids
            }
        };
        ids.sort_unstable();
        ids.dedup();
        Ok(ids)
    }

    fn said(&self, meant: u64) -> serde_json::Value {
        match self {
            Self::Ids(ids) => said_of_ids(ids, meant),
            Self::Filter(filter) => said_of_filter(filter, meant),
        }
    }
}

/// The delivered messages of a selection, the largest group first.
pub(super) async fn groups(database: &Database, selection: &DeliveredSelection) -> sqlx::Result<Vec<DeliveredGroup>> {
    let mut groups: BTreeMap<(String, String), DeliveredGroup> = BTreeMap::new();
    selection
        .each(database, |page| {
            for message in page {
                let name = (message.channel.clone(), message.destination.clone());
                let room = groups.len() < DELIVERED_GROUPS;
                match groups.get_mut(&name) {
                    Some(group) => group.add(&message),
                    None if room => drop(groups.insert(name, DeliveredGroup::of(message))),
                    None => {}
                }
            }
        })
        .await?;
    let mut groups: Vec<_> = groups.into_values().collect();
    groups.sort_by_key(|group| std::cmp::Reverse(group.count));
    Ok(groups)
}

impl DeliveredGroup {
    fn of(message: MessageSummary) -> Self {
        let MessageSummary { id, channel, destination, created_at, .. } = message;
        Self {
            channel,
            destination,
            count: 1,
            first_created: created_at.clone(),
            last_created: created_at,
            example: MessageId(id),
        }
    }

    /// Adds a message that is older than all others of the group.
    fn add(&mut self, message: &MessageSummary) {
        self.count += 1;
        self.first_created.clone_from(&message.created_at);
    }
}

pub(super) async fn replay(
    database: &Database,
    selection: &DeliveredSelection,
    manner: ReplayManner,
    author: &Author,
    watch: Watch<'_>,
) -> sqlx::Result<Replayed> {
    let mut ids = selection.ids(database).await?;
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
