//! A change of many messages, as somebody asks for it.

use std::num::NonZeroU32;

use outbox_store::retention::Retention;
use outbox_store::store::millis_i64;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::Action;
use crate::operation::said_of;
use crate::{ContentEdit, DeskError, MessageSelection, Pace, ReplayManner, Selection, Undoable};

/// A change of many messages, in the order of their ids. It goes in small batches with pauses between, so that deliveries go on
/// beside it. The row of an operation keeps its fields beside those of the work: none may be named
/// `remaining`, `schedule`, `after` or `done`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "action", rename_all = "snake_case")]
#[allow(clippy::large_enum_variant, reason = "there is one at a time")]
pub enum Change {
    /// Makes dead letters due again, under the same idempotency keys. Their attempts and their age start anew, and so does an expiry
    /// that has passed.
    Redrive {
        /// The dead letters.
        selection: Selection,
        /// How many, and how fast.
        pace: Pace,
    },
    /// Sends delivered messages again, each by a row of its own.
    Replay {
        /// The delivered messages.
        selection: MessageSelection,
        /// Under which keys, how many, and how fast.
        manner: ReplayManner,
    },
    /// Makes pending messages dead letters, `cancelled`. A redrive of dead letters with that reason takes it back.
    Cancel {
        /// The pending messages.
        selection: MessageSelection,
    },
    /// Makes messages due that wait for another attempt. By their ids it makes also those due that were never tried. Attempts and age
    /// go on. What is deferred, due already or in flight is left.
    Retry {
        /// The pending messages.
        selection: MessageSelection,
    },
    /// Makes the same edit to each dead letter, each under a new idempotency key unless the edit keeps it.
    Edit {
        /// The dead letters.
        selection: Selection,
        /// What changes in each.
        change: ContentEdit,
    },
    /// Undoes a redrive or a replay, for the messages that have not been claimed or attempted since. After a redrive they are dead
    /// letters as before; the rows of a replay are removed.
    Undo {
        /// The entry of the redrive or of the replay in `outbox_audit`.
        asked: i64,
        /// How many messages it was about at the most. Whoever begins the undo looks for that.
        #[serde(default)]
        of: Option<u64>,
    },
    /// Deletes dead letters and their attempts. Only the audit remembers them.
    Purge {
        /// The dead letters.
        selection: Selection,
    },
    /// Removes the messages that are past their retention, and their attempts. The audit keeps who did it, not the messages.
    Prune {
        /// How long messages are kept.
        retention: Retention,
        /// How many messages there are to remove. None: nobody has counted them.
        #[serde(default)]
        of: Option<u64>,
    },
}

impl Change {
    /// The undo of the redrive or of the replay that has this entry in `outbox_audit`.
    pub fn undo(asked: i64) -> Self {
        Self::Undo { asked, of: None }
    }

    /// What it does.
    pub fn action(&self) -> Action {
        match self {
            Self::Redrive { .. } => Action::Redrive,
            Self::Replay { .. } => Action::Replay,
            Self::Cancel { .. } => Action::Cancel,
            Self::Retry { .. } => Action::Retry,
            Self::Edit { .. } => Action::Edit,
            Self::Undo { .. } => Action::Undo,
            Self::Purge { .. } => Action::Purge,
            Self::Prune { .. } => Action::Prune,
        }
    }

    /// How fast, and how many.
    pub fn pace(&self) -> Pace {
        match self {
            Self::Redrive { pace, .. } => *pace,
            Self::Replay { manner, .. } => manner.pace,
            Self::Cancel { .. }
            | Self::Retry { .. }
            | Self::Edit { .. }
            | Self::Undo { .. }
            | Self::Purge { .. }
            | Self::Prune { .. } => Pace::default(),
        }
    }

    /// What was done, where there was something to do.
    pub(crate) fn found<T>(&self, done: Option<T>) -> Result<T, DeskError> {
        let entry = if let Self::Undo { asked, .. } = self { *asked } else { 0 };
        done.ok_or(DeskError::NothingToUndo(entry))
    }

    /// What the audit says of the change, which means so many messages.
    pub(super) fn said(&self, meant: u64, undone: Undoable) -> serde_json::Value {
        let mut said = match self {
            Self::Redrive { selection, .. } | Self::Edit { selection, .. } | Self::Purge { selection } => {
                said_of(selection, meant)
            }
            Self::Replay { selection, .. } | Self::Cancel { selection } | Self::Retry { selection } => {
                selection.said(meant)
            }
            Self::Undo { asked, .. } => json!({ (undone.name()): asked }),
            Self::Prune { retention: Retention { success, dead, .. }, .. } => {
                json!({ "success_ms": success.map(millis_i64), "dead_ms": dead.map(millis_i64) })
            }
        };
        if let Self::Redrive { .. } | Self::Replay { .. } = self {
            let Pace { canary, rate } = self.pace();
            said["canary"] = canary.map(NonZeroU32::get).into();
            said["rate"] = rate.map(NonZeroU32::get).into();
        }
        if let Self::Replay { manner, .. } = self {
            said["new_key"] = manner.new_key.into();
            said["again"] = manner.again.into();
            said["after"] = manner.after.map(|after| after.0).into();
        }
        if let Self::Edit { change, .. } = self {
            said["change"] = change.said();
        }
        said
    }
}
