//! What is kept of an attempt, in words of this folder.

use outbox_desk::AttemptEntry;
use outbox_store::KNOWN_ALREADY;

pub(super) fn is_in_doubt(attempt: &AttemptEntry) -> bool {
    attempt.outcome == "in_doubt"
}

pub(super) fn was_fenced(attempt: &AttemptEntry) -> bool {
    attempt.outcome == "delivered_fenced"
}

pub(super) fn was_unmarked(attempt: &AttemptEntry) -> bool {
    attempt.outcome == "delivered_unmarked"
}

/// Whether the receiver answered, and did not accept.
pub(super) fn was_refused(attempt: &AttemptEntry) -> bool {
    let accepted = was_kept(attempt) || was_fenced(attempt) || was_unmarked(attempt);
    attempt.status_code.is_some() && !is_in_doubt(attempt) && !accepted
}

/// Whether the entry is of the delivery that made the message `SUCCESS`. Only some channels keep one.
pub(super) fn was_kept(attempt: &AttemptEntry) -> bool {
    attempt.outcome == "delivered" || was_known(attempt)
}

/// The claim time of the attempt, which is never after its mark. The beginning is rounded to the millisecond, so a very
/// short attempt may seem to begin after its mark.
pub(super) fn in_time(attempt: &AttemptEntry) -> Option<&str> {
    attempt.claimed_at.as_deref().or(attempt.started_at.as_deref())
}

/// Whether the receiver said that it knew the idempotency key already.
pub(super) fn was_known(attempt: &AttemptEntry) -> bool {
    attempt.outcome == KNOWN_ALREADY
}
