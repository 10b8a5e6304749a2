//! When a claim takes of what is kept for destinations with nothing in flight.
//!
//! While slots become free, all destinations take turns for them. Only where few do does a claim go for what is kept, now and then.
//! Between two of these, whatever else is free is for the others.

use std::time::Duration;

use tokio::time::Instant;

use crate::in_flight::ENOUGH;

/// How long after such a claim there may be another, and how long it is watched whether slots become free.
const AGAIN: Duration = Duration::from_millis(50);

/// When the next one may be.
#[derive(Debug, Default)]
pub(crate) struct KeptClaims {
    from: Option<Instant>,
    /// How many slots had become free when `from` was last put off.
    freed: u64,
}

impl KeptClaims {
    /// From when on a claim may take of what is kept, where so many slots have become free in all.
    pub(crate) fn from(&mut self, freed: u64) -> Instant {
        let now = Instant::now();
        let many = freed.saturating_sub(self.freed) >= u64::try_from(ENOUGH).unwrap_or(u64::MAX);
        match self.from {
            Some(from) if from > now || !many => from,
            Some(_) | None => self.put_off(AGAIN, freed),
        }
    }

    /// Notes that such a claim took so long.
    pub(crate) fn claimed(&mut self, took: Duration, freed: u64) {
        self.put_off(took.max(AGAIN), freed);
    }

    fn put_off(&mut self, time: Duration, freed: u64) -> Instant {
        self.freed = freed;
        *self.from.insert(Instant::now() + time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_claim_goes_for_what_is_kept_now_and_then_where_few_others_become_free() {
        let (mut claims, began) = (KeptClaims::default(), Instant::now());
        let mut from = async |after: Duration, freed| {
            tokio::time::advance(after).await;
            claims.from(freed) - began
        };
        assert_eq!(from(Duration::ZERO, 1_000).await, AGAIN);
        assert_eq!(from(AGAIN, 1_063).await, AGAIN, "it is time");
        assert_eq!(from(Duration::ZERO, 1_064).await, AGAIN * 2, "many became free");
        assert_eq!(from(AGAIN, 1_064).await, AGAIN * 2);
        claims.claimed(AGAIN * 3, 1_064);
        assert_eq!(claims.from(2_000) - began, AGAIN * 5, "others have as long");
    }
}
