//! How late the machine is with everything: it runs other tests beside this one, and no bound of ours can say that.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

const TICK: Duration = Duration::from_millis(10);

/// Watches how much later than asked for a thread wakes up, as long as it lives.
#[derive(Debug)]
pub struct Machine {
    latest: Arc<AtomicU64>,
    over: Arc<AtomicBool>,
}

impl Machine {
    /// Watches from now on.
    pub fn watch() -> Self {
        let machine = Self { latest: Arc::default(), over: Arc::default() };
        let (latest, over) = (machine.latest.clone(), machine.over.clone());
        std::thread::spawn(move || {
            while !over.load(Ordering::Relaxed) {
                let began = Instant::now();
                #[allow(clippy::disallowed_methods, reason = "a thread of its own")]
                std::thread::sleep(TICK);
                let late = began.elapsed().saturating_sub(TICK);
                latest.fetch_max(u64::try_from(late.as_micros()).unwrap(), Ordering::Relaxed);
            }
        });
        machine
    }

    /// What a bound on several steps, each of which waits for the processor, must allow for.
    pub fn lateness(&self) -> Duration {
        10 * Duration::from_micros(self.latest.load(Ordering::Relaxed))
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
    }
}
