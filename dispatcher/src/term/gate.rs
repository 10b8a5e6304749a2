//! The gate: asked immediately before each send whether this term may still begin one.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use outbox_store::SameDatabase;

use crate::term::clock::{Clock, Moment};

/// Open while the last good renewal is trusted, the database is the one of the term, and no task has closed it. Once closed, it stays
/// closed.
#[derive(Debug)]
pub struct Gate {
    clock: Arc<dyn Clock>,
    /// The end of trust, in microseconds since boot.
    trusted_until: AtomicU64,
    closed: AtomicBool,
    same: SameDatabase,
}

impl Gate {
    /// A gate that is open until `trusted_until`, unless trust is extended, and as long as the database is the `same`.
    pub fn new(clock: Arc<dyn Clock>, trusted_until: Moment, same: SameDatabase) -> Self {
        Self { clock, trusted_until: AtomicU64::new(micros(trusted_until)), closed: AtomicBool::new(false), same }
    }

    /// Whether the database is still the one that minted the term.
    pub fn is_of_the_same_database(&self) -> bool {
        self.same.holds()
    }

    /// Whether a send may begin now.
    pub fn is_open(&self) -> bool {
        !self.trusted_for().is_zero()
    }

    /// For how much longer sends may begin unless trust is extended. Zero once the gate is closed.
    pub fn trusted_for(&self) -> Duration {
        if self.closed.load(Ordering::Acquire) || !self.same.holds() {
            return Duration::ZERO;
        }
        let until = Moment::at(Duration::from_micros(self.trusted_until.load(Ordering::Acquire)));
        until.since(self.clock.now())
    }

    /// Trusts the lease until `moment`. Never shortens trust: a late answer to an older renewal adds nothing.
    pub fn trust_until(&self, moment: Moment) {
        self.trusted_until.fetch_max(micros(moment), Ordering::AcqRel);
    }

    /// Lets no send begin from now on.
    pub fn close(&self) {
        self.closed.store(true, Ordering::Release);
    }
}

fn micros(moment: Moment) -> u64 {
    u64::try_from(moment.since_boot().as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use outbox_store::Lineages;

    use super::*;
    use crate::fixtures::SteppedClock;

    fn gate(seconds: u64) -> (Arc<SteppedClock>, Gate) {
        let clock = SteppedClock::new();
        let until = clock.now().after(Duration::from_secs(seconds));
        (clock.clone(), Gate::new(clock, until, Lineages::default().watch()))
    }

    #[tokio::test(start_paused = true)]
    async fn a_gate_shuts_by_itself_when_trust_runs_out() {
        let (clock, gate) = gate(2);
        clock.step(Duration::from_millis(1999));
        assert!(gate.is_open());
        clock.step(Duration::from_millis(1));
        assert!(!gate.is_open());
    }

    #[tokio::test(start_paused = true)]
    async fn a_closed_gate_stays_closed_however_much_trust_is_added() {
        let (clock, gate) = gate(2);
        gate.close();
        gate.trust_until(clock.now().after(Duration::from_secs(1000)));
        assert_eq!((gate.is_open(), gate.trusted_for()), (false, Duration::ZERO));
    }

    #[tokio::test(start_paused = true)]
    async fn the_late_answer_of_an_older_renewal_does_not_shorten_trust() {
        let (clock, gate) = gate(10);
        gate.trust_until(clock.now().after(Duration::from_secs(1)));
        assert_eq!(gate.trusted_for(), Duration::from_secs(10));
    }
}
