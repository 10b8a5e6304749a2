//! Trust in a lease, of a term or of a job.
//!
//! The lease store decides which process holds the lease. This process only bounds how long it trusts the last answer: from the
//! moment the renewal was *sent*, less a margin, on a clock that counts suspend time.

use std::sync::Arc;
use std::time::Duration;

use outbox_adapters::{Lease, LeaseError};
use outbox_store::{Holder, Seat};

use crate::term::clock::{Clock, Moment};

/// A way to renew leases: the store, the clock, and the time to live.
#[derive(Debug, Clone)]
pub struct Trust {
    /// The lease store.
    pub lease: Arc<dyn Lease>,
    /// The source of time.
    pub clock: Arc<dyn Clock>,
    /// The time to live of a lease.
    pub ttl: Duration,
}

/// The result of a renewal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Renewal {
    /// The store answered "yes": the lease is trusted until then.
    Trusted(Moment),
    /// The store answered "not yours".
    Lost,
    /// The store did not answer in time, or answered with an error.
    Unknown,
}

/// Trust ends this much before the lease does.
pub fn trust_margin(ttl: Duration) -> Duration {
    (ttl / 20).max(Duration::from_millis(100))
}

/// The end of trust in a lease that was taken or renewed by a call sent at `sent`.
pub fn trusted_until(sent: Moment, ttl: Duration) -> Moment {
    sent.after(ttl.saturating_sub(trust_margin(ttl)))
}

/// How long the lease store has for each answer.
pub fn call_limit(ttl: Duration) -> Duration {
    ttl / 6
}

impl Trust {
    /// Renews a lease once.
    ///
    /// # Cancel safety
    /// Safe: the lease may have been renewed.
    pub async fn renew(&self, seat: &Seat, holder: &Holder) -> Renewal {
        let (asked, limit) = (self.clock.now(), call_limit(self.ttl));
        let answer: Option<Result<bool, LeaseError>> =
            self.clock.within(limit, self.lease.renew(seat, holder, self.ttl)).await;
        match answer {
            Some(Ok(true)) => return Renewal::Trusted(trusted_until(asked, self.ttl)),
            Some(Ok(false)) => return Renewal::Lost,
            Some(Err(error)) => tracing::warn!(%holder, %error, "lease.renewal_failed"),
            None => tracing::warn!(%holder, ?limit, "lease.renewal_timed_out"),
        }
        Renewal::Unknown
    }
}
