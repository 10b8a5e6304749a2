//! When a claim takes of what is kept for destinations with less in flight than others (see `destinations/shares`).
//!
//! While enough slots are free, all destinations take turns for them. Where few are, a claim goes for what is kept, now and then.
//! Between two of these, whatever else is free is for the others. The less such claims bring, the rarer they are.

use std::time::Duration;

use tokio::time::Instant;

use crate::in_flight::{ENOUGH, KeptFrom, Takers};

/// How long after such a claim there may be another, and how long it is watched whether slots become free.
const AGAIN: Duration = Duration::from_millis(50);

/// The same after claims that brought nothing.
const RARELY: Duration = Duration::from_millis(400);

/// When the next claims may be that take of what is kept, and whether destinations are kept to their shares.
#[derive(Debug, Default)]
pub(crate) struct KeptClaims {
    below_shares: Pace,
    idle: Pace,
    /// How many slots had become free when claims for the idle were last made or put off: while many do, all have their turns soon.
    freed: Option<u64>,
    /// Whether a destination with less than its share wants more. Then no other gets more than its own.
    contested: bool,
}

/// When the next claim of one kind may be.
#[derive(Debug, Default)]
struct Pace {
    from: Option<Instant>,
    rest: Duration,
}

impl Pace {
    fn from(&self) -> Instant {
        self.from.unwrap_or_else(Instant::now)
    }

    fn rest(&mut self, time: Duration) {
        (self.rest, self.from) = (time, Some(Instant::now() + time));
    }

    /// Notes that a claim brought so many messages.
    fn learn(&mut self, took: Duration, brought: usize) {
        let rest = if brought > 0 { AGAIN } else { (self.rest * 2).clamp(AGAIN, RARELY) };
        self.rest(took.max(rest));
    }
}

impl KeptClaims {
    /// From when on claims may take of what is kept, where so many slots have become free in all.
    pub(crate) fn from(&mut self, freed: u64) -> KeptFrom {
        let many = freed.saturating_sub(*self.freed.get_or_insert(freed)) >= u64::try_from(ENOUGH).unwrap_or(u64::MAX);
        if self.idle.from.is_none_or(|from| many && from <= Instant::now()) {
            self.idle.rest(AGAIN);
            self.freed = Some(freed);
        }
        KeptFrom { below_shares: self.below_shares.from(), idle: self.idle.from() }
    }

    /// The takers of a claim for which there is room for these.
    pub(crate) fn takers(&self, takers: Takers) -> Takers {
        match takers {
            Takers::All if self.contested => Takers::WithinShares,
            Takers::All | Takers::WithinShares | Takers::BelowShares | Takers::Idle => takers,
        }
    }

    /// Notes that a claim for these takers took so long, and brought so many messages. Some taker may want more.
    pub(crate) fn learn(&mut self, takers: Takers, took: Duration, brought: usize, wants_more: bool) {
        match takers {
            Takers::All => {}
            Takers::WithinShares => self.contested = wants_more,
            Takers::BelowShares if wants_more => {
                self.contested = true;
                self.below_shares.rest(took);
            }
            Takers::BelowShares => {
                self.contested = false;
                self.below_shares.learn(took, brought);
            }
            Takers::Idle => {
                self.freed = None;
                self.idle.learn(took, brought);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOOK: Duration = Duration::from_millis(3);

    #[tokio::test(start_paused = true)]
    async fn claims_of_what_is_kept_are_the_rarer_the_less_they_bring() {
        let mut claims = KeptClaims::default();
        let mut rest_after = |took, brought| {
            claims.learn(Takers::Idle, took, brought, brought == 64);
            claims.from(0).idle - Instant::now()
        };
        assert_eq!(rest_after(TOOK, 64), AGAIN);
        assert_eq!([rest_after(TOOK, 0), rest_after(TOOK, 0)], [AGAIN * 2, AGAIN * 4]);
        assert_eq!([rest_after(TOOK, 0), rest_after(TOOK, 0)], [RARELY; 2]);
        assert_eq!(rest_after(TOOK, 1), AGAIN);
        assert_eq!(rest_after(AGAIN * 3, 1), AGAIN * 3, "others have as long");
        assert_eq!(claims.from(0).below_shares, Instant::now(), "that is another kind");
    }

    #[tokio::test(start_paused = true)]
    async fn no_claim_goes_for_those_with_nothing_in_flight_while_many_slots_become_free() {
        let (mut claims, began) = (KeptClaims::default(), Instant::now());
        let mut from = async |after: Duration, freed| {
            tokio::time::advance(after).await;
            claims.from(freed).idle - began
        };
        assert_eq!(from(Duration::ZERO, 1_000).await, AGAIN);
        assert_eq!(from(AGAIN, 1_063).await, AGAIN, "it is time");
        assert_eq!(from(Duration::ZERO, 1_064).await, AGAIN * 2, "many became free");
        assert_eq!(from(AGAIN, 1_064).await, AGAIN * 2);
    }

    #[tokio::test(start_paused = true)]
    async fn all_are_kept_to_their_shares_while_one_with_less_wants_more() {
        let mut claims = KeptClaims::default();
        assert_eq!(claims.takers(Takers::All), Takers::All);
        claims.learn(Takers::BelowShares, TOOK, 32, true);
        assert_eq!(claims.from(0).below_shares, Instant::now() + TOOK, "the next one is soon");
        assert_eq!(claims.takers(Takers::All), Takers::WithinShares);
        claims.learn(Takers::WithinShares, TOOK, 100, true);
        assert_eq!(claims.takers(Takers::Idle), Takers::Idle);
        assert_eq!(claims.takers(Takers::All), Takers::WithinShares);
        claims.learn(Takers::WithinShares, TOOK, 5, false);
        assert_eq!(claims.takers(Takers::All), Takers::All);
        claims.learn(Takers::BelowShares, TOOK, 5, false);
        assert_eq!(claims.takers(Takers::All), Takers::All, "it has what it wanted");
    }
}
