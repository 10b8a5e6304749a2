//! The gate: asked immediately before each send whether this term may still begin one.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use crate::clock::{Clock, Moment};

/// Open while the last good renewal is trusted and nobody has closed it. Once closed it stays closed.
#[derive(Debug)]
pub struct Gate {
    clock: Arc<dyn Clock>,
    /// Microseconds since boot.
    trusted_until: AtomicU64,
    closed: AtomicBool,
}

impl Gate {
    /// A gate that is open until `trusted_until`, unless trust is extended.
    pub fn new(clock: Arc<dyn Clock>, trusted_until: Moment) -> Self {
        Self { clock, trusted_until: AtomicU64::new(micros(trusted_until)), closed: AtomicBool::new(false) }
    }

    /// Whether a send may begin now.
    pub fn is_open(&self) -> bool {
        !self.closed.load(Ordering::Acquire) && !self.trusted_for().is_zero()
    }

    /// How much longer the last good renewal is trusted.
    pub fn trusted_for(&self) -> Duration {
        let until = Moment::at(Duration::from_micros(self.trusted_until.load(Ordering::Acquire)));
        until.since(self.clock.now())
    }

    /// Trusts the lease until `moment`. Never shortens trust: a late answer of an older renewal adds nothing.
    pub fn trust_until(&self, moment: Moment) {
        self.trusted_until.fetch_max(micros(moment), Ordering::AcqRel);
    }

    /// Lets nothing through from now on.
    pub fn close(&self) {
        self.closed.store(true, Ordering::Release);
    }
}

fn micros(moment: Moment) -> u64 {
    u64::try_from(moment.since_boot().as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[derive(Debug)]
    struct Stepped(Mutex<Duration>);

    impl Clock for Stepped {
        fn now(&self) -> Moment {
            Moment::at(*self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
        }
    }

    fn gate(seconds: u64) -> (Arc<Stepped>, Gate) {
        let clock = Arc::new(Stepped(Mutex::new(Duration::from_secs(100))));
        let until = Moment::at(Duration::from_secs(100 + seconds));
        (clock.clone(), Gate::new(clock, until))
    }

    #[test]
    fn a_gate_shuts_by_itself_when_trust_runs_out() {
        let (clock, gate) = gate(2);
        assert!(gate.is_open());
        if let Ok(mut now) = clock.0.lock() {
            *now = Duration::from_secs(102);
        }
        assert!(!gate.is_open());
    }

    #[test]
    fn a_closed_gate_stays_closed_however_much_trust_is_added() {
        let (_, gate) = gate(2);
        gate.close();
        gate.trust_until(Moment::at(Duration::from_secs(1000)));
        assert!(!gate.is_open());
    }

    #[test]
    fn the_late_answer_of_an_older_renewal_does_not_shorten_trust() {
        let (_, gate) = gate(10);
        gate.trust_until(Moment::at(Duration::from_secs(101)));
        assert_eq!(gate.trusted_for(), Duration::from_secs(10));
    }
}
