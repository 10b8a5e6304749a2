//! The watchdog: renews the lease of a term for as long as the loop is alive, and ends the term when it cannot.
//!
//! The lease store decides who holds the lease. This process only bounds how long it trusts its last answer:
//! from the moment the renewal was *sent*, less a margin, on a clock that counts suspend time.

use std::sync::Arc;
use std::time::Duration;

use outbox_adapters::Lease;
use outbox_schema::TermEnd;
use outbox_schema::database::STATEMENT_LIMIT;

use crate::clock::{Clock, Moment};
use crate::metrics::Metrics;
use crate::term::Term;

/// Renews one lease. Each term has a watchdog of its own.
#[derive(Debug, Clone)]
pub struct Watchdog {
    /// The lease store.
    pub lease: Arc<dyn Lease>,
    /// Where time comes from.
    pub clock: Arc<dyn Clock>,
    /// Time to live of the lease.
    pub ttl: Duration,
    /// Where the remaining trust is shown.
    pub metrics: Arc<Metrics>,
}

/// Trust ends this much before the lease does.
pub fn trust_margin(ttl: Duration) -> Duration {
    (ttl / 20).max(Duration::from_millis(100))
}

/// Until when a lease that was taken or renewed by a call sent at `sent` can be trusted.
pub fn trusted_until(sent: Moment, ttl: Duration) -> Moment {
    sent.after(ttl.saturating_sub(trust_margin(ttl)))
}

/// A loop that has been silent for so long is wedged: longer than any statement of it may take.
fn wedged_after(ttl: Duration) -> Duration {
    ttl.max(STATEMENT_LIMIT + Duration::from_secs(5))
}

/// Ends the term when it goes out of scope, however that comes about.
struct EndsTerm(Arc<Term>);

impl Drop for EndsTerm {
    fn drop(&mut self) {
        self.0.end(TermEnd::RenewalFailed);
    }
}

impl Watchdog {
    /// Watches `term` from here on, in a task of its own. If that task dies, the term ends.
    pub fn watch(&self, term: &Arc<Term>) {
        let watchdog = self.clone();
        let guard = EndsTerm(term.clone());
        tokio::spawn(async move {
            let why = tokio::select! {
                why = watchdog.renew_until_lost(&guard.0) => why,
                () = guard.0.ended() => return,
            };
            guard.0.end(why);
        });
    }

    async fn renew_until_lost(&self, term: &Term) -> TermEnd {
        let mut pause = self.ttl / 3;
        loop {
            self.metrics.trusted(term.id.shard, term.gate.trusted_for());
            tokio::time::sleep(pause.min(term.gate.trusted_for())).await;
            if term.silent_for() > wedged_after(self.ttl) {
                return TermEnd::Wedged;
            }
            let sent = self.clock.now();
            let renewal = self.lease.renew(term.id.shard, &term.id.holder, self.ttl);
            match tokio::time::timeout(self.ttl / 6, renewal).await {
                Ok(Ok(true)) => {
                    term.gate.trust_until(trusted_until(sent, self.ttl));
                    pause = self.ttl / 3;
                    continue;
                }
                Ok(Ok(false)) => return TermEnd::Lost,
                Ok(Err(error)) => tracing::warn!(holder = %term.id.holder, %error, "lease.renewal_failed"),
                Err(_) => tracing::warn!(holder = %term.id.holder, limit = ?self.ttl / 6, "lease.renewal_timed_out"),
            }
            if term.gate.trusted_for().is_zero() {
                return TermEnd::RenewalFailed;
            }
            pause = self.ttl / 12;
        }
    }
}
