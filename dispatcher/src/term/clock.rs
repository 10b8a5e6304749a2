//! The clock of terms. It goes on while the machine is suspended, and nothing sets it.
//!
//! A task that reads this clock also waits by it. Two clocks, one that counts suspend time and one that does not, would
//! disagree after a resume about how long trust lasts.

use std::time::Duration;

use async_trait::async_trait;

/// A point in time since the machine booted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(Duration);

impl Moment {
    /// The moment `since_boot` after the machine booted.
    pub fn at(since_boot: Duration) -> Self {
        Self(since_boot)
    }

    /// The time since boot.
    pub fn since_boot(self) -> Duration {
        self.0
    }

    /// The time from `earlier` to this moment. Zero where `earlier` is later.
    pub fn since(self, earlier: Self) -> Duration {
        self.0.saturating_sub(earlier.0)
    }

    /// The moment `duration` after this one.
    #[must_use]
    pub fn after(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(duration))
    }
}

/// The source of time for terms, which they also wait by.
#[async_trait]
pub trait Clock: Send + Sync + std::fmt::Debug {
    /// The present moment.
    fn now(&self) -> Moment;

    /// Waits until `moment` has come. After a resume it is late by a tenth of a second at most, however much of the
    /// wait was left at the suspension.
    ///
    /// # Cancel safety
    /// Safe to drop.
    async fn sleep_until(&self, moment: Moment);
}

impl dyn Clock {
    /// Waits for `duration` from now on.
    pub async fn sleep(&self, duration: Duration) {
        self.sleep_until(self.now().after(duration)).await;
    }

    /// The result of `work`. None where that takes longer than `limit`: then it is dropped.
    pub async fn within<T>(&self, limit: Duration, work: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            biased;
            done = work => Some(done),
            () = self.sleep(limit) => None,
        }
    }
}

/// The operating system's clock that counts suspend time. `CLOCK_MONOTONIC` stops while a virtual machine is paused,
/// but a lease does not.
#[derive(Debug, Clone, Copy, Default)]
pub struct BootClock;

/// Timers of the runtime stand still with `CLOCK_MONOTONIC`. So a long wait is made of short ones, and asks the clock
/// after each. That is simpler than a `timerfd`, which only Linux has. It is soon enough, since the gate asks the clock
/// itself.
const STEP: Duration = Duration::from_millis(100);

#[async_trait]
impl Clock for BootClock {
    fn now(&self) -> Moment {
        #[cfg(target_os = "linux")]
        let id = rustix::time::ClockId::Boottime;
        // On macOS this clock counts sleep, which CLOCK_UPTIME_RAW leaves out.
        #[cfg(not(target_os = "linux"))]
        let id = rustix::time::ClockId::Monotonic;
        let time = rustix::time::clock_gettime(id);
        // Neither part is negative on a clock that starts at boot.
        Moment(Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0)))
    }

    async fn sleep_until(&self, moment: Moment) {
        loop {
            let left = moment.since(self.now());
            if left.is_zero() {
                return;
            }
            tokio::time::sleep(left.min(STEP)).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::SteppedClock;

    #[tokio::test]
    async fn the_boot_clock_waits_as_long_as_it_is_told() {
        let clock: &dyn Clock = &BootClock;
        let began = clock.now();
        clock.sleep(STEP + STEP / 2).await;
        assert!(clock.now().since(began) >= STEP + STEP / 2);
        assert_eq!(clock.within(STEP, std::future::pending::<()>()).await, None);
        assert_eq!(clock.within(STEP, async { 7 }).await, Some(7));
    }

    #[tokio::test(start_paused = true)]
    async fn a_wait_that_a_suspension_outlasts_is_over_at_the_resume() {
        let clock = SteppedClock::new();
        let sleeping = tokio::spawn({
            let clock = clock.clone();
            async move { (clock as std::sync::Arc<dyn Clock>).sleep(Duration::from_hours(1)).await }
        });
        tokio::task::yield_now().await;
        let began = tokio::time::Instant::now();
        clock.step(Duration::from_hours(2));
        assert!(sleeping.await.is_ok());
        assert_eq!(began.elapsed(), Duration::ZERO);
    }
}
