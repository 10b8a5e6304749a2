//! The commands that undo a change.

use outbox_desk::Action;

/// Undoes the redrive whose number follows.
pub(super) const UNDO_REDRIVE: &str = "outbox dead-letters undo";

/// Undoes the replay whose number follows.
pub(super) const UNDO_REPLAY: &str = "outbox messages undo";

/// The command that undoes the change with this number. None where nothing does.
pub(crate) fn undo_of(action: Action, id: i64) -> Option<String> {
    match action {
        Action::Redrive => Some(format!("{UNDO_REDRIVE} {id}")),
        Action::Replay => Some(format!("{UNDO_REPLAY} {id}")),
        Action::Cancel | Action::Retry | Action::Edit | Action::Undo | Action::Purge | Action::Prune => None,
    }
}
