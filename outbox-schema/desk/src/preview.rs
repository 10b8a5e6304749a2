//! What a change would do, before anything is changed.

use outbox_store::retention::Pruned;
use serde::Serialize;

use super::message_selection::MessageGroup;
use super::operations::Change;
use super::port::Desk;
use super::report::DeadGroup;
use super::{DeskError, MESSAGE_GROUPS, dead};

/// The messages that a change means.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(untagged)]
pub enum Preview {
    /// Dead letters, in groups.
    Letters(Vec<DeadGroup>),
    /// Other messages, in groups.
    Messages(Vec<MessageGroup>),
    /// Messages that are past their retention.
    Past(Pruned),
}

impl Preview {
    /// What the change means. None for an undo, which finds its messages as it goes.
    ///
    /// # Errors
    /// The desk did not answer.
    pub async fn of(desk: &dyn Desk, change: &Change) -> Result<Option<Self>, DeskError> {
        Ok(Some(match change {
            Change::Redrive { selection, .. } | Change::Edit { selection, .. } | Change::Purge { selection } => {
                Self::Letters(desk.dead_groups(selection).await?)
            }
            Change::Replay { selection, manner } => {
                Self::Messages(desk.message_groups(change.action(), selection, manner.after).await?)
            }
            Change::Cancel { selection } | Change::Retry { selection } => {
                Self::Messages(desk.message_groups(change.action(), selection, None).await?)
            }
            Change::Prune { retention, .. } => Self::Past(desk.past_retention(retention).await?),
            Change::Undo { .. } => return Ok(None),
        }))
    }

    /// How many messages there are, and whether there may be more in groups that were not counted.
    pub fn count(&self) -> (u64, bool) {
        match self {
            Self::Letters(groups) => (groups.iter().map(|group| group.count).sum(), groups.len() >= dead::GROUPS),
            Self::Messages(groups) => (groups.iter().map(|group| group.count).sum(), groups.len() >= MESSAGE_GROUPS),
            Self::Past(past) => (past.total(), false),
        }
    }
}
