//! The watchdog: renews the lease of a term as long as the loop is alive, and ends the term when it cannot.

use std::sync::Arc;
use std::time::Duration;

use outbox_store::database::STATEMENT_LIMIT;
use outbox_store::{Holder, Lineages, Seat, TermEnd};

use crate::fault_point::{self, Point};
use crate::term::Term;
use crate::term::clock::Moment;
use crate::term::trust::{Renewal, Trust};

/// Renews one lease. Each term has a watchdog of its own.
#[derive(Debug, Clone)]
pub struct Watchdog {
    /// The way to renew the lease.
    pub trust: Trust,
    /// What this process knows of the copies of the database: a renewal brings what other replicas saw.
    pub lineages: Arc<Lineages>,
}

/// A loop that has been silent for this long is wedged: it is longer than any statement of the loop may take.
pub(crate) fn wedged_after(ttl: Duration) -> Duration {
    ttl.max(STATEMENT_LIMIT + Duration::from_secs(5))
}

/// Ends the term when it goes out of scope, for whatever reason.
struct EndsTerm(Arc<Term>);

impl Drop for EndsTerm {
    fn drop(&mut self) {
        self.0.end(TermEnd::RenewalFailed);
    }
}

impl Watchdog {
    /// Watches `term` from now on, in a task of its own. If that task dies, the term ends.
    ///
    /// The gate shuts when trust runs out. The term ends after one more try, at the latest
    /// [`call_limit`](crate::term::trust::call_limit) later.
    pub fn watch(&self, term: &Arc<Term>) {
        let watchdog = self.clone();
        let guard = EndsTerm(term.clone());
        tokio::spawn(async move {
            let why = tokio::select! {
                // This comes first: the lease of a term that has ended is not asked for again.
                biased;
                () = guard.0.ended() => return,
                why = watchdog.renew_until_lost(&guard.0) => why,
            };
            guard.0.end(why);
        });
    }

    /// New trust in the lease of `holder`, from one renewal. None where that does not succeed.
    pub async fn trust_anew(&self, seat: &Seat, holder: &Holder) -> Option<Moment> {
        match self.trust.renew(seat, holder).await {
            Renewal::Trusted(until) => Some(until),
            Renewal::Lost | Renewal::Unknown => None,
        }
    }

    async fn renew_until_lost(&self, term: &Term) -> TermEnd {
        let Trust { clock, ttl, lease } = &self.trust;
        let seat = term.id.shard.into();
        let mut pause = *ttl / 3;
        let (mut signs_of_life, mut silent_for) = (0, Duration::ZERO);
        loop {
            let pausing = pause.min(term.gate.trusted_for());
            let paused = tokio::select! {
                () = clock.sleep(pausing) => pausing,
                // The renewal says whether that is so.
                () = lease.lost(&seat, &term.id.holder, *ttl) => Duration::ZERO,
            };
            // The pauses are added up, and no clock is read: while the process was frozen or the machine suspended, the
            // loop had no chance to give a sign.
            match term.signs_of_life() {
                same if same == signs_of_life => silent_for += paused,
                more => (signs_of_life, silent_for) = (more, Duration::ZERO),
            }
            if silent_for > wedged_after(*ttl) {
                return TermEnd::Wedged;
            }
            fault_point::reach(Point::Renew).await;
            match self.trust.renew(&seat, &term.id.holder).await {
                // The renewal brought that too.
                Renewal::Trusted(_) if !term.gate.is_of_the_same_database() => return TermEnd::DatabaseChanged,
                Renewal::Trusted(_) if self.lineages.highest_epoch() > term.id.epoch => return TermEnd::Fenced,
                Renewal::Trusted(until) => {
                    term.gate.trust_until(until);
                    pause = *ttl / 3;
                }
                Renewal::Lost => return TermEnd::Lost,
                Renewal::Unknown if term.gate.trusted_for().is_zero() => return TermEnd::RenewalFailed,
                Renewal::Unknown => pause = *ttl / 12,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use outbox_store::store::OpenedTerm;
    use outbox_store::{Epoch, Shard};

    use outbox_adapters::Lease as _;

    use super::*;
    use crate::fixtures::{LeaseStore, Network, SteppedClock, term_of};
    use crate::term::clock::Clock;
    use crate::term::trust::{call_limit, trust_margin, trusted_until};

    const TTL: Duration = Duration::from_secs(9);
    const AT_ONCE: Network = Network::Carries(Duration::ZERO, Duration::ZERO);

    struct Watched {
        clock: Arc<SteppedClock>,
        store: Arc<LeaseStore>,
        term: Arc<Term>,
    }

    fn watchdog(clock: &Arc<SteppedClock>, store: &Arc<LeaseStore>) -> Watchdog {
        let trust = Trust { lease: store.clone(), clock: clock.clone(), ttl: TTL };
        Watchdog { trust, lineages: Arc::default() }
    }

    /// A term whose lease was taken a moment ago. From then on the network is `network`.
    async fn watched(network: Network) -> Watched {
        let clock = SteppedClock::new();
        let store = LeaseStore::new(&clock, TTL, vec![AT_ONCE]);
        let term = term_of(&clock, trusted_until(clock.now(), TTL));
        assert!(store.acquire(&term.id.shard.into(), &term.id.holder, TTL).await.is_ok_and(|acquired| acquired));
        store.set_network(network);
        watchdog(&clock, &store).watch(&term);
        Watched { clock, store, term }
    }

    impl Watched {
        async fn sleep(&self, duration: Duration) {
            (self.clock.clone() as Arc<dyn Clock>).sleep(duration).await;
        }

        /// How long after its beginning the term ended, and why.
        async fn end(&self) -> (Duration, Option<TermEnd>) {
            self.term.ended().await;
            assert!(!self.term.gate.is_open());
            (self.clock.now().since_boot(), self.term.end_reason())
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_lease_that_is_renewed_is_trusted_on_and_asked_for_every_third_of_its_ttl() {
        let watched = watched(AT_ONCE).await;
        for _ in 0..10 {
            watched.term.progress();
            watched.sleep(TTL / 3).await;
            assert!(watched.term.gate.is_open());
        }
        assert!((9..=10).contains(&watched.store.renewals()));
    }

    #[tokio::test(start_paused = true)]
    async fn a_renewal_answered_with_no_ends_the_term_at_once_and_for_good() {
        let watched = watched(AT_ONCE).await;
        watched.store.forget_now();
        assert_eq!(watched.end().await, (TTL / 3, Some(TermEnd::Lost)));
        watched.sleep(2 * TTL).await;
        assert_eq!(watched.store.renewals(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn without_an_answer_trust_ends_before_the_lease_does() {
        for network in [Network::Refuses(Duration::ZERO), Network::Loses] {
            let watched = watched(network).await;
            let trusted = watched.term.gate.trusted_for();
            watched.sleep(trusted.saturating_sub(Duration::from_millis(1))).await;
            assert!(watched.term.gate.is_open());
            watched.sleep(Duration::from_millis(1)).await;
            assert!(!watched.term.gate.is_open());
            assert!(watched.store.honours(&watched.term.id.holder).is_some(), "the lease ended before trust in it");
            let (after, why) = watched.end().await;
            assert_eq!(why, Some(TermEnd::RenewalFailed));
            assert!(after <= trusted + call_limit(TTL) + Duration::from_millis(2), "{network:?}: {after:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn trust_counts_from_the_call_and_not_from_its_answer() {
        let slow = Duration::from_secs(1);
        let watched = watched(Network::Carries(Duration::ZERO, slow)).await;
        watched.sleep(TTL / 3 + slow).await;
        tokio::task::yield_now().await;
        assert_eq!(watched.store.renewals(), 1);
        assert_eq!(watched.term.gate.trusted_for() + slow + trust_margin(TTL), TTL);
    }

    #[tokio::test(start_paused = true)]
    async fn one_lost_answer_ends_nothing() {
        let watched = watched(Network::LosesAnswer(Duration::ZERO)).await;
        watched.sleep(TTL / 2).await;
        watched.store.set_network(AT_ONCE);
        watched.sleep(TTL).await;
        assert!(watched.term.is_on());
    }

    #[tokio::test(start_paused = true)]
    async fn a_loop_that_shows_no_progress_loses_its_renewals() {
        let watched = watched(AT_ONCE).await;
        let (after, why) = watched.end().await;
        assert_eq!(why, Some(TermEnd::Wedged));
        assert!(after <= wedged_after(TTL) + 2 * TTL / 3, "{after:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_loop_that_was_frozen_with_its_watchdog_is_not_taken_for_a_wedged_one() {
        let watched = watched(AT_ONCE).await;
        watched.clock.step(2 * wedged_after(TTL));
        assert!(!watched.term.gate.is_open(), "trust outlived the freeze");
        let (_, why) = watched.end().await;
        assert_eq!(why, Some(TermEnd::Lost));
    }

    #[tokio::test(start_paused = true)]
    async fn a_watchdog_that_dies_ends_its_term() {
        let watched = watched(Network::Panics).await;
        assert_eq!(watched.end().await, (TTL / 3, Some(TermEnd::RenewalFailed)));
    }

    #[tokio::test(start_paused = true)]
    async fn the_renewal_of_one_term_never_revives_another() {
        let watched = watched(AT_ONCE).await;
        watched.store.forget_now();
        watched.term.ended().await;
        let next = Holder::new("a", "2");
        assert!(watched.store.acquire(&Shard(0).into(), &next, TTL).await.is_ok_and(|acquired| acquired));
        let until = trusted_until(watched.clock.now(), TTL);
        let opened = OpenedTerm { epoch: Epoch(2), lineage: None, unsettled: Vec::new(), destinations: Vec::new() };
        let second = Term::begin(Shard(0), next, opened, watched.clock.clone(), until, Lineages::default().watch());
        watchdog(&watched.clock, &watched.store).watch(&second);
        watched.sleep(TTL).await;
        assert!(second.gate.is_open());
        assert!(!watched.term.gate.is_open());
        assert_eq!(watched.term.end_reason(), Some(TermEnd::Lost));
    }

    #[tokio::test(start_paused = true)]
    async fn the_first_reason_of_an_end_stays() {
        let watched = watched(AT_ONCE).await;
        watched.term.end(TermEnd::Fenced);
        watched.term.end(TermEnd::Interval);
        assert_eq!(watched.term.end_reason(), Some(TermEnd::Fenced));
        watched.sleep(2 * TTL).await;
        assert_eq!(watched.store.renewals(), 0, "the lease of an ended term was renewed");
    }
}
