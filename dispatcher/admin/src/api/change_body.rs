//! Any change of many messages, as a request says it.

use outbox_desk::{Action, Author, Change, Pace, ReplayManner};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::dead_letters::examined;
use super::problem::checked;
use super::requests::{Authored, EditAllBody, PruneBody, PurgeBody, RedriveBody, ReplayBody, UndoBody, WaitingBody};
use super::{ApiState, Problem};

/// A change of many messages: what is done, to which messages, and how.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(tag = "action", rename_all = "snake_case")]
pub(super) enum ChangeBody {
    /// Makes dead letters due again.
    Redrive(RedriveBody),
    /// Sends delivered messages again.
    Replay(ReplayBody),
    /// Cancels messages that wait.
    Cancel(WaitingBody),
    /// Makes messages due that wait for another attempt.
    Retry(WaitingBody),
    /// Makes the same change to dead letters.
    Edit(EditAllBody),
    /// Undoes a redrive or a replay.
    Undo(UndoBody),
    /// Deletes dead letters.
    Purge(PurgeBody),
    /// Removes what is past its retention.
    Prune(PruneBody),
}

impl ChangeBody {
    /// The body that asks for a change.
    pub(super) fn of(change: &Change, author: &Author) -> Self {
        let author = Authored::from(author);
        match change.clone() {
            Change::Redrive { selection, pace: Pace { canary, rate } } => {
                Self::Redrive(RedriveBody { selection, canary, rate, author })
            }
            Change::Replay { selection, manner } => {
                let ReplayManner { new_key, again, after, pace: Pace { canary, rate } } = manner;
                Self::Replay(ReplayBody { selection, new_key, again, after, canary, rate, author })
            }
            Change::Cancel { selection } => Self::Cancel(WaitingBody { selection, author }),
            Change::Retry { selection } => Self::Retry(WaitingBody { selection, author }),
            Change::Edit { selection, change } => Self::Edit(EditAllBody { selection, change, author }),
            Change::Undo { asked, .. } => Self::Undo(UndoBody { operation: asked, author }),
            Change::Purge { selection } => Self::Purge(PurgeBody { selection, author }),
            Change::Prune { retention, .. } => Self::Prune(PruneBody { author, ..PruneBody::from(&retention) }),
        }
    }

    /// The action that the body asks for.
    pub(super) fn action(&self) -> Action {
        match self {
            Self::Redrive(_) => Action::Redrive,
            Self::Replay(_) => Action::Replay,
            Self::Cancel(_) => Action::Cancel,
            Self::Retry(_) => Action::Retry,
            Self::Edit(_) => Action::Edit,
            Self::Undo(_) => Action::Undo,
            Self::Purge(_) => Action::Purge,
            Self::Prune(_) => Action::Prune,
        }
    }

    /// The change that it asks for, and who asks. Refuses a selection by which the change cannot be made, and an edit after which a
    /// channel would make dead letters of the messages at once.
    pub(super) async fn into_change(self, api_state: &ApiState) -> Result<(Change, Author), Problem> {
        let (change, author) = match self {
            Self::Redrive(RedriveBody { selection, canary, rate, author }) => {
                (Change::Redrive { selection, pace: Pace { canary, rate } }, author)
            }
            Self::Replay(ReplayBody { selection, new_key, again, after, canary, rate, author }) => {
                checked(&selection, Action::Replay)?;
                let manner = ReplayManner { new_key, again, after, pace: Pace { canary, rate } };
                (Change::Replay { selection, manner }, author)
            }
            Self::Cancel(WaitingBody { selection, author }) => {
                checked(&selection, Action::Cancel)?;
                (Change::Cancel { selection }, author)
            }
            Self::Retry(WaitingBody { selection, author }) => {
                checked(&selection, Action::Retry)?;
                (Change::Retry { selection }, author)
            }
            Self::Edit(EditAllBody { selection, change, author }) => {
                examined(api_state, &selection, &change).await?;
                (Change::Edit { selection, change }, author)
            }
            Self::Undo(UndoBody { operation, author }) => (Change::undo(operation), author),
            Self::Purge(PurgeBody { selection, author }) => (Change::Purge { selection }, author),
            Self::Prune(body) => {
                let retention = body.retention(&api_state.retention.current())?;
                (Change::Prune { retention, of: None }, body.author)
            }
        };
        Ok((change, author.into_author()))
    }
}
