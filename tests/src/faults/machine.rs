//! How late the machine is with everything: it runs other tests beside this one, and no bound of ours can say that.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

/// Between two looks.
const PAUSE: Duration = Duration::from_millis(100);

/// What a step of a replica computes, more or less.
const WORK: Duration = Duration::from_millis(3);

/// A change of poller is about so many steps, by several processes, each of which waits for the processor.
const STEPS: u32 = 10;

/// Watches, as long as it lives, how much longer than it should a little work takes.
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
                let late = late();
                latest.fetch_max(u64::try_from(late.as_micros()).unwrap(), Ordering::Relaxed);
            }
        });
        machine
    }

    /// What a bound on a change of poller must allow for.
    pub fn lateness(&self) -> Duration {
        STEPS * Duration::from_micros(self.latest.load(Ordering::Relaxed))
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
    }
}

/// How much later than the clock of this thread's own work the clock on the wall is, after a pause and some work.
fn late() -> Duration {
    let began = Instant::now();
    #[allow(clippy::disallowed_methods, reason = "a thread of its own")]
    std::thread::sleep(PAUSE);
    let worked = work_so_far();
    while work_so_far().saturating_sub(worked) < WORK {
        std::hint::spin_loop();
    }
    began.elapsed().saturating_sub(PAUSE + WORK)
}

fn work_so_far() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap())
}
