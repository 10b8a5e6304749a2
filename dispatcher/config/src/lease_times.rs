//! The settings of the lease, and what follows from them.

use std::time::Duration;

/// How often a candidate asks for the lease, before jitter: a crash costs at most the ttl and this.
pub fn campaign_interval(ttl: Duration) -> Duration {
    (ttl / 3).min(Duration::from_secs(1))
}

/// A lag below this is never a cause, however short the lease.
const LAG_FLOOR: Duration = Duration::from_secs(30);

/// The settings of the lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeaseTimes {
    /// `lease.ttl`.
    pub ttl: Duration,
    /// `lease.term`.
    pub term: Duration,
}

impl LeaseTimes {
    /// The longest time from the beginning of a term to that of the next. After that, no replica polls.
    pub fn longest_term(&self) -> Duration {
        self.term + self.change_of_poller()
    }

    /// How long a change of poller may take, with three campaigns to spare.
    pub(crate) fn change_of_poller(&self) -> Duration {
        self.ttl + campaign_interval(self.ttl) * 3
    }

    /// A lag up to this is no cause.
    pub fn patience(&self) -> Duration {
        self.change_of_poller().max(LAG_FLOOR)
    }
}
