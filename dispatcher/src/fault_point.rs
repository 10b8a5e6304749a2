//! Named points at which a test can stop, kill or break this process, so that a fault falls between two given steps.
//!
//! Only a build with the feature `fault-points` has them. In any other build, reaching one does nothing. A test arms a
//! point by a file of its name in the directory that [`DIRECTORY`] names. The first task that gets there does what the
//! file says, once. From then on the file is called `NAME.reached`.

/// The environment variable that names the directory of armed points.
pub const DIRECTORY: &str = "OUTBOX_TEST_FAULT_POINTS";

/// The points at which a fault can be placed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Point {
    /// The loop, about to claim.
    Poll,
    /// A message is claimed, and its gate is not asked yet.
    BeforeGate,
    /// The gate has let a message through, and nothing is written yet.
    Deliver,
    /// The answer has arrived, and no mark is written.
    BeforeMark,
    /// The watchdog, about to renew.
    Renew,
    /// An alert is claimed, and nothing is posted yet.
    AlertClaimed,
    /// The database has failed over, and nothing is written again yet.
    Mend,
}

impl Point {
    /// The name of the file that arms the point.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Poll => "poll",
            Self::BeforeGate => "before-gate",
            Self::Deliver => "deliver",
            Self::BeforeMark => "before-mark",
            Self::Renew => "renew",
            Self::AlertClaimed => "alert-claimed",
            Self::Mend => "mend",
        }
    }
}

/// In a build without fault points nothing happens.
#[cfg(not(feature = "fault-points"))]
pub fn reach(_: Point) -> impl Future<Output = ()> {
    std::future::ready(())
}

#[cfg(feature = "fault-points")]
pub use armed::reach;

#[cfg(feature = "fault-points")]
mod armed {
    use std::path::PathBuf;
    use std::time::Duration;

    use rustix::process::{Signal, getpid, kill_process};

    use super::{DIRECTORY, Point};

    /// Does what the file of this point says, if there is one: `stop`, `kill`, `panic` or `hang`.
    ///
    /// # Panics
    /// Where the file says so.
    pub async fn reach(point: Point) {
        let Some(action) = disarm(point) else { return };
        match action.trim() {
            "stop" => signal(Signal::STOP),
            "kill" => signal(Signal::KILL),
            "hang" => std::future::pending().await,
            _ => panic!("the fault point {point:?} was reached"),
        }
    }

    /// Renaming the file succeeds for one task only.
    fn disarm(point: Point) -> Option<String> {
        let armed = PathBuf::from(std::env::var_os(DIRECTORY)?).join(point.as_str());
        let reached = armed.with_extension("reached");
        std::fs::rename(&armed, &reached).ok()?;
        std::fs::read_to_string(reached).ok()
    }

    /// Another thread may take the signal, so this one waits until it has been taken.
    fn signal(signal: Signal) {
        let _ = kill_process(getpid(), signal);
        #[allow(clippy::disallowed_methods, reason = "the whole process is to stand still")]
        std::thread::sleep(Duration::from_millis(100));
    }
}
