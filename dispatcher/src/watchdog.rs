//! The watchdog: renews the lease of a term for as long as the loop is alive, and ends the term when it cannot.
//!
//! The lease store decides who holds the lease. This process only bounds how long it trusts its last answer:
//! from the moment the renewal was *sent*, less a margin, on a clock that counts suspend time.

use std::sync::Arc;
use std::time::Duration;

use outbox_adapters::Lease;
use outbox_schema::TermEnd;
use outbox_schema::database::STATEMENT_LIMIT;

use crate::clock::{Clock, Moment};
use crate::fault_point::{self, Point};
use crate::metrics::Metrics;
use crate::term::Term;

/// Renews one lease. Each term has a watchdog of its own.
#[derive(Debug, Clone)]
pub struct Watchdog {
    /// The lease store.
    pub lease: Arc<dyn Lease>,
    /// Where time comes from.
    pub clock: Arc<dyn Clock>,
    /// Time to live of the lease.
    pub ttl: Duration,
    /// Where the remaining trust is shown.
    pub metrics: Arc<Metrics>,
}

/// Trust ends this much before the lease does.
pub fn trust_margin(ttl: Duration) -> Duration {
    (ttl / 20).max(Duration::from_millis(100))
}

/// Until when a lease that was taken or renewed by a call sent at `sent` can be trusted.
pub fn trusted_until(sent: Moment, ttl: Duration) -> Moment {
    sent.after(ttl.saturating_sub(trust_margin(ttl)))
}

/// A loop that has been silent for so long is wedged: longer than any statement of it may take.
fn wedged_after(ttl: Duration) -> Duration {
    ttl.max(STATEMENT_LIMIT + Duration::from_secs(5))
}

/// Ends the term when it goes out of scope, however that comes about.
struct EndsTerm(Arc<Term>);

impl Drop for EndsTerm {
    fn drop(&mut self) {
        self.0.end(TermEnd::RenewalFailed);
    }
}

impl Watchdog {
    /// Watches `term` from here on, in a task of its own. If that task dies, the term ends.
    pub fn watch(&self, term: &Arc<Term>) {
        let watchdog = self.clone();
        let guard = EndsTerm(term.clone());
        tokio::spawn(async move {
            let why = tokio::select! {
                why = watchdog.renew_until_lost(&guard.0) => why,
                () = guard.0.ended() => return,
            };
            guard.0.end(why);
        });
    }

    async fn renew_until_lost(&self, term: &Term) -> TermEnd {
        let mut pause = self.ttl / 3;
        loop {
            self.metrics.trusted(term.id.shard, term.gate.trusted_for());
            tokio::time::sleep(pause.min(term.gate.trusted_for())).await;
            if term.silent_for() > wedged_after(self.ttl) {
                return TermEnd::Wedged;
            }
            fault_point::reach(Point::Renew).await;
            let sent = self.clock.now();
            let renewal = self.lease.renew(term.id.shard, &term.id.holder, self.ttl);
            match tokio::time::timeout(self.ttl / 6, renewal).await {
                Ok(Ok(true)) => {
                    term.gate.trust_until(trusted_until(sent, self.ttl));
                    pause = self.ttl / 3;
                    continue;
                }
                Ok(Ok(false)) => return TermEnd::Lost,
                Ok(Err(error)) => tracing::warn!(holder = %term.id.holder, %error, "lease.renewal_failed"),
                Err(_) => tracing::warn!(holder = %term.id.holder, limit = ?self.ttl / 6, "lease.renewal_timed_out"),
            }
            if term.gate.trusted_for().is_zero() {
                return TermEnd::RenewalFailed;
            }
            pause = self.ttl / 12;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use async_trait::async_trait;
    use outbox_adapters::{Held, LeaseError};
    use outbox_schema::store::OpenedTerm;
    use outbox_schema::{Epoch, Holder, Shard};

    use super::*;
    use crate::fixtures::TestClock;

    const TTL: Duration = Duration::from_secs(9);

    /// How a lease store answers renewals.
    #[derive(Debug, Clone, Copy)]
    enum Answers {
        Yes,
        No,
        Error,
        Never,
    }

    #[derive(Debug)]
    struct Scripted {
        answers: Mutex<Answers>,
        renewals: AtomicUsize,
    }

    #[async_trait]
    impl Lease for Scripted {
        async fn acquire(&self, _: Shard, _: &Holder, _: Duration) -> Result<bool, LeaseError> {
            Ok(true)
        }

        async fn renew(&self, _: Shard, _: &Holder, _: Duration) -> Result<bool, LeaseError> {
            self.renewals.fetch_add(1, Ordering::SeqCst);
            let answers = *self.answers.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            match answers {
                Answers::Yes => Ok(true),
                Answers::No => Ok(false),
                Answers::Error => {
                    Err(LeaseError { at: "nowhere".to_owned(), doing: "renewing", source: "refused".into() })
                }
                Answers::Never => std::future::pending().await,
            }
        }

        async fn release(&self, _: Shard, _: &Holder) -> Result<bool, LeaseError> {
            Ok(true)
        }

        async fn released(&self, _: Shard) {}

        async fn current(&self, _: Shard) -> Result<Option<Held>, LeaseError> {
            Ok(None)
        }
    }

    fn watched(answers: Answers) -> (Arc<Scripted>, Arc<Term>) {
        let clock: Arc<dyn Clock> = Arc::new(TestClock::new());
        let lease = Arc::new(Scripted { answers: Mutex::new(answers), renewals: AtomicUsize::new(0) });
        let opened = OpenedTerm { epoch: Epoch(1), unsettled: Vec::new(), paused: Vec::new() };
        let until = trusted_until(clock.now(), TTL);
        let term = Term::begin(Shard(0), Holder::new("a", "1"), opened, clock.clone(), until);
        let resource = opentelemetry_sdk::Resource::builder_empty().build();
        let metrics = Metrics::new([], &[], resource, None).map(Arc::new);
        let Ok(metrics) = metrics else { panic!("metrics can be made") };
        Watchdog { lease: lease.clone(), clock, ttl: TTL, metrics }.watch(&term);
        (lease, term)
    }

    #[tokio::test(start_paused = true)]
    async fn a_lease_that_is_renewed_is_trusted_on_and_asked_for_every_third_of_its_ttl() {
        let (lease, term) = watched(Answers::Yes);
        for _ in 0..10 {
            term.progress();
            tokio::time::sleep(TTL / 3).await;
            assert!(term.gate.is_open());
        }
        assert!((9..=10).contains(&lease.renewals.load(Ordering::SeqCst)));
    }

    #[tokio::test(start_paused = true)]
    async fn a_renewal_answered_with_no_ends_the_term_at_once_and_for_good() {
        let (lease, term) = watched(Answers::No);
        term.ended().await;
        assert_eq!((term.end_reason(), term.gate.is_open()), (Some(TermEnd::Lost), false));
        assert_eq!(lease.renewals.load(Ordering::SeqCst), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn without_an_answer_trust_ends_before_the_lease_does() {
        for answers in [Answers::Error, Answers::Never] {
            let began = tokio::time::Instant::now();
            let (_, term) = watched(answers);
            term.ended().await;
            assert_eq!(term.end_reason(), Some(TermEnd::RenewalFailed));
            assert!(began.elapsed() <= TTL, "{answers:?}: {:?}", began.elapsed());
        }
    }

    #[tokio::test(start_paused = true)]
    async fn one_lost_answer_ends_nothing() {
        let (lease, term) = watched(Answers::Never);
        tokio::time::sleep(TTL / 2).await;
        *lease.answers.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Answers::Yes;
        tokio::time::sleep(TTL).await;
        assert!(term.is_on());
    }

    #[tokio::test(start_paused = true)]
    async fn a_loop_that_shows_no_progress_loses_its_renewals() {
        let (_, term) = watched(Answers::Yes);
        term.ended().await;
        assert_eq!(term.end_reason(), Some(TermEnd::Wedged));
    }
}
