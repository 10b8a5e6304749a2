//! How late the machine is with everything: it runs other tests beside this one, and no bound of ours can say that.

use std::fs::File;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};
use rustix::time::{ClockId, clock_gettime};

/// Between two looks.
const PAUSE: Duration = Duration::from_millis(100);

/// What a step of a replica computes, more or less.
const WORK: Duration = Duration::from_millis(3);

/// A change of poller is about so many steps, by several processes, each of which waits for the processor, and of SQLite for the
/// disk.
const STEPS: u32 = 10;

/// Watches, as long as it lives, how much longer than it should a little work takes, and how long the disk takes for a little.
#[derive(Debug)]
pub struct Machine {
    latest: Arc<AtomicU64>,
    /// The times that the disk took: the longest, of as many writes as a change has steps.
    writes: Arc<Mutex<Vec<Duration>>>,
    over: Arc<AtomicBool>,
}

impl Machine {
    /// Watches from now on.
    pub fn watch() -> Self {
        let machine = Self { latest: Arc::default(), writes: Arc::default(), over: Arc::default() };
        let (latest, writes, over) = (machine.latest.clone(), machine.writes.clone(), machine.over.clone());
        let mut file = tempfile::tempfile().expect("a file in the folder of temporary files");
        std::thread::spawn(move || {
            while !over.load(Ordering::Relaxed) {
                let late = late();
                latest.fetch_max(u64::try_from(late.as_micros()).unwrap(), Ordering::Relaxed);
                keep_longest(&writes, written(&mut file));
            }
        });
        machine
    }

    /// What a bound on a change of poller must allow for, where nobody waits for the disk.
    pub fn lateness(&self) -> Duration {
        STEPS * self.stood_still()
    }

    /// The same where each step waits for the disk: for the write of whoever has the lock, and for its own.
    pub fn lateness_with_disk(&self) -> Duration {
        self.lateness() + 2 * self.writes().iter().sum::<Duration>()
    }

    /// How long the machine stood still.
    pub fn stood_still(&self) -> Duration {
        Duration::from_micros(self.latest.load(Ordering::Relaxed))
    }

    fn writes(&self) -> MutexGuard<'_, Vec<Duration>> {
        self.writes.lock()
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

/// How long a page takes until it is on the disk.
fn written(file: &mut File) -> Duration {
    let began = Instant::now();
    file.write_all(&[0; 4096]).and_then(|()| file.sync_data()).expect("a page of a temporary file");
    began.elapsed()
}

fn keep_longest(writes: &Mutex<Vec<Duration>>, took: Duration) {
    let mut writes = writes.lock();
    writes.push(took);
    writes.sort_unstable_by(|one, other| other.cmp(one));
    writes.truncate(usize::try_from(STEPS).unwrap());
}
