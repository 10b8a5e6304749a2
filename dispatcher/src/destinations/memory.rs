//! How long destinations are remembered, and how long their rows are deferred.

use std::time::Duration;

/// The longest deferral of a row. After it the row is met again, whatever has become of its destination.
pub(super) const FAR: Duration = Duration::from_mins(5);

/// How long an idle destination is remembered, unless something about it must be kept.
pub(super) const EVICTED_AFTER: Duration = Duration::from_mins(1);

/// The same where an attempt has failed. Its later successes tell a message at fault from a destination that is down.
pub(super) const FAILURES_EVICTED_AFTER: Duration = Duration::from_mins(10);

/// The same where the destination has answered, so that it is not in slow start.
pub(super) const ANSWERS_EVICTED_AFTER: Duration = Duration::from_hours(1);

/// How long after its last message a destination is idle.
pub(super) const IDLE_AFTER: Duration = Duration::from_secs(1);

/// The most idle destinations that are remembered. Those go first that were not used for longest.
pub(super) const MOST_REMEMBERED: usize = 16_384;
