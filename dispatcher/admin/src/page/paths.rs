//! Where the pages are that others lead to.

/// Where a person signs in.
pub(crate) const SIGN_IN: &str = "/sign-in";

/// The list of dead letters.
pub(super) const DEAD_LETTERS: &str = "/dead-letters";

/// The list of destinations.
pub(super) const DESTINATIONS: &str = "/destinations";

/// The list of jobs.
pub(super) const JOBS: &str = "/jobs";

/// The list of messages.
pub(super) const MESSAGES: &str = "/messages";

/// The list of operations.
pub(super) const OPERATIONS: &str = "/operations";

/// The list of recurring messages.
pub(super) const RECURRING: &str = "/recurring";

/// The page of the retention.
pub(super) const RETENTION: &str = "/retention";

/// The list of terms.
pub(super) const TERMS: &str = "/terms";

/// Where the form that wakes the poller is sent to.
pub(super) const WAKE: &str = "/wake";

/// The page of an operation.
pub(super) fn operation(id: i64) -> String {
    format!("{OPERATIONS}/{id}")
}

/// The page of the runs of a job. Its name has letters, digits, `-`, `_` and `.` only.
pub(super) fn job(name: &str) -> String {
    format!("{JOBS}/{name}")
}
