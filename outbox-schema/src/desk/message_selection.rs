//! The messages that a change by hand means where they are no dead letters, and how many of them there are.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::messages::{MessageFilter, MessageSummary, among, each};
use super::operation::{said_of_filter, said_of_ids};
use crate::{Database, MessageId, Status};

/// The most groups of messages that are told.
pub const MESSAGE_GROUPS: usize = 1_000;

/// The messages that a change means: delivered ones to replay, or ones that wait, to cancel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum MessageSelection {
    /// Messages by their ids.
    Ids(Vec<MessageId>),
    /// All messages that a filter admits and the change is for. Of delivered ones, those that are no replays themselves. An empty
    /// filter is refused: it would mean all there are.
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
    /// When the first of them was created.
    pub first_created: String,
    /// When the last of them was created.
    pub last_created: String,
    /// The newest message of the group.
    pub example: MessageId,
}

impl MessageSelection {
    /// Whether a change of messages in `status` can be made by the selection.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub fn check(&self, status: Status) -> Result<(), &'static str> {
        let replays = status == Status::Success;
        match self {
            Self::Ids(ids) if ids.is_empty() => Err("it names no message"),
            Self::Filter(filter) if filter.status.is_some_and(|asked| asked != status) => Err(if replays {
                "only delivered messages are replayed: leave the status out"
            } else {
                "only messages that wait are cancelled: leave the status out"
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

    async fn each(
        &self,
        database: &Database,
        status: Status,
        mut take: impl FnMut(Vec<MessageSummary>) + Send,
    ) -> sqlx::Result<()> {
        let of_status = |filter: &MessageFilter| MessageFilter { status: Some(status), ..filter.clone() };
        match self {
            Self::Ids(ids) => {
                take(among(database, ids, &of_status(&MessageFilter::default())).await?);
                Ok(())
            }
            Self::Filter(filter) => {
                each(database, &of_status(filter), |mut page| {
                    page.retain(|message| status != Status::Success || message.replay_of.is_none());
                    take(page);
                })
                .await
            }
        }
    }

    /// The ids of the selection, in ascending order. Those that an operator names are all among them.
    pub(super) async fn ids(&self, database: &Database, status: Status) -> sqlx::Result<Vec<MessageId>> {
        let mut ids = match self {
            Self::Ids(ids) => ids.clone(),
            Self::Filter(_) => {
                let mut ids = Vec::new();
                self.each(database, status, |page| ids.extend(page.iter().map(|message| MessageId(message.id))))
                    .await?;
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

/// The messages of a selection that have the status, the largest group first.
pub(super) async fn groups(
    database: &Database,
    status: Status,
    selection: &MessageSelection,
) -> sqlx::Result<Vec<MessageGroup>> {
    let mut groups: BTreeMap<(String, String), MessageGroup> = BTreeMap::new();
    selection
        .each(database, status, |page| {
            for message in page {
                let name = (message.channel.clone(), message.destination.clone());
                let room = groups.len() < MESSAGE_GROUPS;
                match groups.get_mut(&name) {
                    Some(group) => group.add(&message),
                    None if room => drop(groups.insert(name, MessageGroup::of(message))),
                    None => {}
                }
            }
        })
        .await?;
    let mut groups: Vec<_> = groups.into_values().collect();
    groups.sort_by_key(|group| std::cmp::Reverse(group.count));
    Ok(groups)
}

impl MessageGroup {
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
