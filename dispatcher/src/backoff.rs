//! Backoff between the tries of a call that is repeated until it succeeds.

use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};

const SHORTEST: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(2);

/// Backoff after failures in a row. Each wait is longer than the last one, with jitter, up to a longest one.
#[derive(Debug)]
pub(crate) struct Backoff(ExponentialBackoff);

impl Default for Backoff {
    fn default() -> Self {
        Self::new()
    }
}

impl Backoff {
    /// The backoff before the first failure.
    pub(crate) fn new() -> Self {
        Self::of_at_most(LONGEST)
    }

    /// The same with another longest wait. With jitter it is at most twice as long.
    pub(crate) fn of_at_most(longest: Duration) -> Self {
        let pauses = ExponentialBuilder::default().with_min_delay(SHORTEST).with_max_delay(longest);
        Self(pauses.with_jitter().without_max_times().build())
    }

    /// The wait after one more failure.
    pub(crate) fn next(&mut self) -> Duration {
        self.0.next().unwrap_or(LONGEST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_and_never_end() {
        let mut backoff = Backoff::new();
        assert!(backoff.next() < SHORTEST * 3);
        let later: Vec<_> = (0..1_000).map(|_| backoff.next()).skip(10).collect();
        assert!(later.iter().all(|pause| (LONGEST..=LONGEST * 2).contains(pause)), "{later:?}");
    }
}
