//! The clock by which trust in a lease is measured: it goes on while the machine is suspended, and nobody sets it.

use std::time::Duration;

/// A point in time since the machine booted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(Duration);

impl Moment {
    /// The moment `since_boot` after the machine booted.
    pub fn at(since_boot: Duration) -> Self {
        Self(since_boot)
    }

    /// How long after boot.
    pub fn since_boot(self) -> Duration {
        self.0
    }

    /// How long from `earlier` to here; zero where `earlier` is later.
    pub fn since(self, earlier: Self) -> Duration {
        self.0.saturating_sub(earlier.0)
    }

    /// The moment `duration` after this one.
    #[must_use]
    pub fn after(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(duration))
    }
}

/// Where the protocol gets its time from.
pub trait Clock: Send + Sync + std::fmt::Debug {
    /// Now.
    fn now(&self) -> Moment;
}

/// The operating system's clock that counts suspend time. `CLOCK_MONOTONIC` stops while a virtual machine is
/// paused, and a lease does not.
#[derive(Debug, Clone, Copy, Default)]
pub struct BootClock;

impl Clock for BootClock {
    fn now(&self) -> Moment {
        #[cfg(target_os = "linux")]
        let id = rustix::time::ClockId::Boottime;
        // On macOS this one counts sleep, which CLOCK_UPTIME_RAW is there to leave out.
        #[cfg(not(target_os = "linux"))]
        let id = rustix::time::ClockId::Monotonic;
        let time = rustix::time::clock_gettime(id);
        // Neither part is negative on a clock that starts at boot.
        Moment(Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0)))
    }
}
