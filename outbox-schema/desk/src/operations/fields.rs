//! The fields that an outcome has in JSON, by its action.

use super::Action;

/// A field of an outcome in JSON.
#[derive(Debug, Clone, Copy)]
pub(super) struct Field {
    /// Its name.
    pub(super) name: &'static str,
    /// The part of the outcome that it is.
    pub(super) part: Part,
    /// What it says, for OpenAPI.
    #[cfg_attr(not(feature = "openapi"), expect(dead_code, reason = "only OpenAPI describes it"))]
    pub(super) says: &'static str,
}

/// A part of an outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// The id of the entry in the audit.
    AuditId,
    /// How many messages were selected.
    Meant,
    /// How many were changed.
    Changed,
    /// The first that are sent again.
    Messages,
    /// The first that are sent again, each with the message that it repeats.
    Replays,
    /// The last that was come to.
    Last,
    /// The first that were left and why, and behind it how many there are.
    Skips,
    /// The first that were left, and why.
    Left,
    /// How many were left.
    LeftCount,
    /// What was undone.
    Undone,
    /// Another count.
    Count,
}

const AUDIT_ID: Field =
    field("audit_id", Part::AuditId, "The id of the entry in `outbox_audit`. None where there was nothing to do.");
const FOR_UNDO: Field = field(
    "audit_id",
    Part::AuditId,
    "The id of the entry in `outbox_audit`, which an undo needs. None where there was nothing to do.",
);
const LETTERS: Field = field("meant", Part::Meant, "Dead letters that were selected.");
const MESSAGES: Field = field("meant", Part::Meant, "Messages that were selected.");
const LETTERS_LEFT: Field = field("skipped", Part::Skips, "Dead letters that were left unchanged, and why.");
const MESSAGES_LEFT: Field = field("skipped", Part::Skips, "Messages that were left unchanged, and why.");

const fn field(name: &'static str, part: Part, says: &'static str) -> Field {
    Field { name, part, says }
}

const fn changed(action: Action, says: &'static str) -> Field {
    field(action.done(), Part::Changed, says)
}

const fn count(name: &'static str, says: &'static str) -> Field {
    field(name, Part::Count, says)
}

/// The fields of the outcome of an action, in their order.
pub(super) fn fields(action: Action) -> &'static [Field] {
    match action {
        Action::Redrive => {
            const {
                &[
                    FOR_UNDO,
                    LETTERS,
                    changed(Action::Redrive, "Messages that are due again."),
                    field("messages", Part::Messages, "The first redriven messages, 100 at most."),
                    LETTERS_LEFT,
                ]
            }
        }
        Action::Replay => {
            const {
                &[
                    FOR_UNDO,
                    field("meant", Part::Meant, "Delivered messages that were selected."),
                    changed(Action::Replay, "Messages that are sent again, each by a row of its own."),
                    field("replays", Part::Replays, "The first of these rows, 100 at most."),
                    field(
                        "last",
                        Part::Last,
                        "The last message that was come to: `after` goes on from there. None where there was nothing to do.",
                    ),
                    field("skipped", Part::Skips, "Messages that were left out, and why."),
                ]
            }
        }
        Action::Cancel => {
            const {
                &[
                    AUDIT_ID,
                    MESSAGES,
                    changed(Action::Cancel, "Messages that are dead letters now, and will not be sent."),
                    MESSAGES_LEFT,
                ]
            }
        }
        Action::Retry => {
            const {
                &[
                    AUDIT_ID,
                    MESSAGES,
                    changed(Action::Retry, "Messages that are due now."),
                    count(
                        "untried",
                        "How many of these were never tried: they were scheduled for later. Only ids mean such messages.",
                    ),
                    MESSAGES_LEFT,
                ]
            }
        }
        Action::Edit => {
            const {
                &[
                    AUDIT_ID,
                    LETTERS,
                    changed(
                        Action::Edit,
                        "Dead letters that are changed, each under a new idempotency key unless the change keeps it.",
                    ),
                    count("unchanged", "Dead letters that the change would not have altered."),
                    field("left", Part::Left, "Dead letters that were left as they are: the first 1,000."),
                    field("left_count", Part::LeftCount, "How many were left as they are."),
                ]
            }
        }
        Action::Undo => {
            const {
                &[
                    field("undone", Part::Undone, "The operation that was undone."),
                    field("audit_id", Part::AuditId, "The id of the undo's own entry in `outbox_audit`."),
                    changed(
                        Action::Undo,
                        "Messages that are dead letters again, as before the redrive. For a replay, rows of it that are removed again.",
                    ),
                    count("delivered", "Messages that were delivered since."),
                    count("dead_again", "Messages that became dead letters since."),
                    count(
                        "under_way",
                        "Messages that are in flight, have been attempted, or were changed by hand since. They were left unchanged.",
                    ),
                    count("gone", "Messages that are no longer in the outbox."),
                ]
            }
        }
        Action::Purge => {
            const { &[AUDIT_ID, LETTERS, changed(Action::Purge, "Dead letters that were deleted."), LETTERS_LEFT] }
        }
        Action::Prune => {
            const {
                &[
                    count("success", "Delivered messages that were removed."),
                    count("dead", "Dead letters that were removed."),
                ]
            }
        }
    }
}
