//! The messages that a change by hand means where they are no dead letters, and how many of them there are.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use outbox_schema::MessageId;
use outbox_store::Database;
use outbox_store::sql::{AnyTransaction, read};
use outbox_store::store::ids_as_json;
use serde::{Deserialize, Serialize};

use super::dead::first_asked;
use super::error::{DeskError, while_doing};
use super::messages::{MessageFilter, MessageSummary, among, each};
use super::operation::{said_of_filter, said_of_ids};
use super::statements::REPLAYED;
use super::{Action, Moment};

/// The messages that one statement asks about.
const AT_ONCE: usize = 5_000;

/// The most groups of messages that are told.
pub const MESSAGE_GROUPS: usize = 1_000;

/// The most messages that are counted where somebody waits for the count.
const COUNTED: usize = 100_000;

/// The messages that a change means: delivered ones to replay, or ones that wait, to cancel or to retry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
#[expect(clippy::large_enum_variant, reason = "there is one for each order")]
pub enum MessageSelection {
    /// Messages by their ids.
    Ids(Vec<MessageId>),
    /// All messages that a filter admits and the change is for. Of delivered ones, those that are no replays themselves. For a
    /// retry, those that were tried and are not due. An empty filter is refused: it would mean all there are.
    Filter(MessageFilter),
}

/// Messages of one channel and destination.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct MessageGroup {
    /// The channel of the messages.
    pub channel: String,
    /// The destination of the messages.
    pub destination: String,
    /// The number of messages in the group.
    pub count: u64,
    /// How many of them were replayed before. A replay leaves these out, unless it is told to send them `again`.
    #[serde(default)]
    pub replayed: u64,
    /// How many of them are deferred. A retry leaves these.
    #[serde(default)]
    pub deferred: u64,
    /// When the first of them was created.
    pub first_created: String,
    /// When the last of them was created.
    pub last_created: String,
    /// The newest message of the group.
    pub example: MessageId,
}

/// Groups of messages, as far as the messages were counted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CountedGroups {
    /// The groups, the largest first.
    pub groups: Vec<MessageGroup>,
    /// Whether there may be more messages than were counted.
    pub more: bool,
}

impl CountedGroups {
    /// Whether there is no message at all.
    pub fn is_none(&self) -> bool {
        self.groups.is_empty() && !self.more
    }
}

impl MessageSelection {
    /// Whether the change can be made by the selection.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub fn check(&self, action: Action) -> Result<(), &'static str> {
        let (status, replays) = (action.status(), action == Action::Replay);
        match self {
            Self::Ids(ids) if ids.is_empty() => Err("it names no message"),
            Self::Filter(filter) if filter.status.is_some() && filter.status != status => Err(if replays {
                "only delivered messages are replayed: leave the status out"
            } else {
                "only messages that wait are cancelled or retried: leave the status out"
            }),
            Self::Filter(filter) if MessageFilter { status: None, ..filter.clone() } == MessageFilter::default() => {
                Err(if replays {
                    "an empty filter would mean every message that was ever delivered: say which, such as a channel and since"
                } else {
                    "an empty filter would mean every message that waits: say which, such as a channel and a tag"
                })
            }
            Self::Ids(_) | Self::Filter(_) => Ok(()),
        }
    }

    /// Whether the change is for a message of its status at this moment.
    fn means(&self, message: &MessageSummary, action: Action, now: &str) -> bool {
        let is_named = matches!(self, Self::Ids(_));
        match action {
            Action::Replay => is_named || message.replay_of.is_none(),
            Action::Redrive | Action::Cancel | Action::Edit | Action::Undo | Action::Purge | Action::Prune => true,
            // Texts of RFC 3339 in UTC sort by time.
            Action::Retry => (is_named || message.first_attempt_at.is_some()) && message.available_at.as_str() > now,
        }
    }

    async fn each(
        &self,
        database: &Database,
        (action, now_us): (Action, i64),
        mut take: impl FnMut(Vec<MessageSummary>) -> ControlFlow<()> + Send,
    ) -> sqlx::Result<ControlFlow<()>> {
        let of_status = |filter: &MessageFilter| MessageFilter { status: action.status(), ..filter.clone() };
        let now = Moment::Ago(Duration::ZERO).fixed(now_us).to_string();
        let mut take = |mut page: Vec<MessageSummary>| {
            page.retain(|message| self.means(message, action, &now));
            take(page)
        };
        match self {
            Self::Ids(ids) => {
                // All of them are there already, so nothing is broken off.
                let _ = take(among(database, ids, &of_status(&MessageFilter::default())).await?);
                Ok(ControlFlow::Continue(()))
            }
            Self::Filter(filter) => each(database, &of_status(filter), take).await,
        }
    }

    /// The ids of the selection, in ascending order. Those that an operator names are all among them. What a filter means is what it
    /// meant at the first call, whose time `as_of_us` keeps.
    pub(super) async fn ids(
        &self,
        database: &Database,
        action: Action,
        as_of_us: &mut Option<i64>,
    ) -> sqlx::Result<Vec<MessageId>> {
        let mut ids = match self {
            Self::Ids(ids) => ids.clone(),
            Self::Filter(filter) => {
                let now_us = clock(database, as_of_us).await?;
                let (filter, mut ids) = (Self::Filter(filter.as_of(now_us)), Vec::new());
                let take = |page: Vec<MessageSummary>| {
                    ids.extend(page.iter().map(|message| MessageId(message.id)));
                    ControlFlow::Continue(())
                };
                let _ = filter.each(database, (action, now_us), take).await?;
                ids
            }
        };
        ids.sort_unstable();
        ids.dedup();
        Ok(ids)
    }

    /// What the audit says of the selection, which means so many messages.
    pub(super) fn said(&self, meant: u64) -> serde_json::Value {
        match self {
            Self::Ids(ids) => said_of_ids(ids, meant),
            Self::Filter(filter) => said_of_filter(filter, meant),
        }
    }
}

/// The database's clock when it was first asked for.
async fn clock(database: &Database, as_of_us: &mut Option<i64>) -> sqlx::Result<i64> {
    let mut transaction = AnyTransaction::to_read(database).await?;
    let now_us = first_asked(&mut transaction.connection(), as_of_us).await?;
    transaction.commit().await?;
    Ok(now_us)
}

/// The groups of [`Desk::message_groups`] for somebody who waits for them: as many messages as can be counted in this time, and
/// 100,000 at most.
pub async fn message_groups_within(
    database: &Database,
    patience: Duration,
    action: Action,
    selection: &MessageSelection,
) -> Result<CountedGroups, DeskError> {
    let counted = groups(database, action, (selection, None), Some(patience)).await;
    counted.map_err(while_doing("counting messages"))
}

/// The messages that a change of a selection means, the largest group first: with `after`, those with a higher id. With a
/// patience, only as many as can be counted in that time, and [`COUNTED`] at most.
pub(super) async fn groups(
    database: &Database,
    action: Action,
    (selection, after): (&MessageSelection, Option<MessageId>),
    patience: Option<Duration>,
) -> sqlx::Result<CountedGroups> {
    let (began, now_us) = (Instant::now(), clock(database, &mut None).await?);
    let mut places: HashMap<(String, String), usize> = HashMap::new();
    let (mut groups, mut found): (Vec<MessageGroup>, Vec<(MessageId, usize)>) = (Vec::new(), Vec::new());
    let mut too_many = false;
    let broken_off = selection
        .each(database, (action, now_us), |page| {
            for message in page.into_iter().filter(|message| after.is_none_or(|after| message.id > after.0)) {
                let name = (message.channel.clone(), message.destination.clone());
                let (id, known) = (MessageId(message.id), places.get(&name).copied());
                let place = known.unwrap_or(groups.len());
                match groups.get_mut(place) {
                    Some(group) => group.add(&message),
                    None if place < MESSAGE_GROUPS => {
                        places.insert(name, place);
                        groups.push(MessageGroup::of(message));
                    }
                    None => {
                        too_many = true;
                        continue;
                    }
                }
                found.push((id, place));
            }
            match patience {
                Some(patience) if found.len() >= COUNTED || began.elapsed() >= patience => ControlFlow::Break(()),
                Some(_) | None => ControlFlow::Continue(()),
            }
        })
        .await?;
    if action == Action::Replay {
        count_replayed(database, &found, &mut groups).await?;
    }
    groups.sort_by_key(|group| std::cmp::Reverse(group.count));
    Ok(CountedGroups { groups, more: too_many || broken_off.is_break() })
}

/// Counts in each group the messages that were replayed before.
async fn count_replayed(
    database: &Database,
    found: &[(MessageId, usize)],
    groups: &mut [MessageGroup],
) -> sqlx::Result<()> {
    for part in found.chunks(AT_ONCE) {
        let ids: Vec<_> = part.iter().map(|(id, _)| *id).collect();
        let before: Vec<(i64,)> = read(database, &REPLAYED, &[ids_as_json(&ids).as_str().into()]).await?;
        let before: HashSet<_> = before.into_iter().map(|(id,)| MessageId(id)).collect();
        for (_, place) in part.iter().filter(|(id, _)| before.contains(id)) {
            groups[*place].replayed += 1;
        }
    }
    Ok(())
}

impl MessageGroup {
    fn of(message: MessageSummary) -> Self {
        let MessageSummary { id, channel, destination, created_at, deferred_from, .. } = message;
        Self {
            channel,
            destination,
            count: 1,
            replayed: 0,
            deferred: deferred_from.is_some().into(),
            first_created: created_at.clone(),
            last_created: created_at,
            example: MessageId(id),
        }
    }

    /// Adds a message that is older than all others of the group.
    fn add(&mut self, message: &MessageSummary) {
        self.count += 1;
        self.deferred += u64::from(message.deferred_from.is_some());
        self.first_created.clone_from(&message.created_at);
    }
}
