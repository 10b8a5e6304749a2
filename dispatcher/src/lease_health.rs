//! A lease that remembers since when its store has not answered, for `/readyz`.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use outbox_adapters::{Held, Lease, LeaseError};
use outbox_schema::{Holder, Shard};

/// Stands before a lease and watches the answers to campaigns and renewals.
#[derive(Debug)]
pub struct LeaseHealth {
    lease: Arc<dyn Lease>,
    trouble: Mutex<Option<Trouble>>,
}

#[derive(Debug)]
struct Trouble {
    since: Instant,
    why: String,
}

/// Counts as no answer when it goes out of scope: the caller's patience was over.
struct Call<'a> {
    health: &'a LeaseHealth,
    began: Instant,
    answered: bool,
}

impl LeaseHealth {
    /// Watches `lease`.
    pub fn new(lease: Arc<dyn Lease>) -> Self {
        Self { lease, trouble: Mutex::default() }
    }

    /// For how long the store has not answered, and in whose words; none where the last call was answered.
    pub fn trouble(&self) -> Option<(Duration, String)> {
        let trouble = self.trouble.lock().unwrap_or_else(PoisonError::into_inner);
        trouble.as_ref().map(|trouble| (trouble.since.elapsed(), trouble.why.clone()))
    }

    async fn watch<T>(&self, call: impl Future<Output = Result<T, LeaseError>>) -> Result<T, LeaseError> {
        let mut watched = Call { health: self, began: Instant::now(), answered: false };
        let answer = call.await;
        watched.answered = true;
        self.note(watched.began, answer.as_ref().err().map(ToString::to_string));
        answer
    }

    fn note(&self, began: Instant, failed: Option<String>) {
        let mut trouble = self.trouble.lock().unwrap_or_else(PoisonError::into_inner);
        *trouble = failed.map(|why| Trouble { since: trouble.as_ref().map_or(began, |known| known.since), why });
    }
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        if !self.answered {
            self.health.note(self.began, Some("the lease store did not answer in time".to_owned()));
        }
    }
}

#[async_trait]
impl Lease for LeaseHealth {
    async fn acquire(&self, shard: Shard, holder: &Holder, ttl: Duration) -> Result<bool, LeaseError> {
        self.watch(self.lease.acquire(shard, holder, ttl)).await
    }

    async fn renew(&self, shard: Shard, holder: &Holder, ttl: Duration) -> Result<bool, LeaseError> {
        self.watch(self.lease.renew(shard, holder, ttl)).await
    }

    async fn release(&self, shard: Shard, holder: &Holder) -> Result<bool, LeaseError> {
        self.lease.release(shard, holder).await
    }

    async fn released(&self, shard: Shard) {
        self.lease.released(shard).await;
    }

    async fn current(&self, shard: Shard) -> Result<Option<Held>, LeaseError> {
        self.lease.current(shard).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Answers the second and later campaigns; never renews.
    #[derive(Debug, Default)]
    struct Flaky(std::sync::atomic::AtomicUsize);

    #[async_trait]
    impl Lease for Flaky {
        async fn acquire(&self, _: Shard, _: &Holder, _: Duration) -> Result<bool, LeaseError> {
            if self.0.fetch_add(1, std::sync::atomic::Ordering::SeqCst) > 0 {
                return Ok(true);
            }
            Err(LeaseError { at: "nowhere".to_owned(), doing: "campaigning", source: "refused".into() })
        }

        async fn renew(&self, _: Shard, _: &Holder, _: Duration) -> Result<bool, LeaseError> {
            std::future::pending().await
        }

        async fn release(&self, _: Shard, _: &Holder) -> Result<bool, LeaseError> {
            Ok(true)
        }

        async fn released(&self, _: Shard) {}

        async fn current(&self, _: Shard) -> Result<Option<Held>, LeaseError> {
            Ok(None)
        }
    }

    #[tokio::test(start_paused = true)]
    async fn trouble_lasts_until_the_next_answer_and_a_call_given_up_is_trouble() {
        let health = LeaseHealth::new(Arc::new(Flaky::default()));
        let holder = Holder::new("a", "1");
        let ttl = Duration::from_secs(1);
        assert!(health.trouble().is_none());
        assert!(health.acquire(Shard(0), &holder, ttl).await.is_err());
        assert!(health.trouble().is_some_and(|(_, why)| why.contains("refused")));
        assert!(health.acquire(Shard(0), &holder, ttl).await.is_ok());
        assert!(health.trouble().is_none());
        assert!(tokio::time::timeout(ttl, health.renew(Shard(0), &holder, ttl)).await.is_err());
        assert!(health.trouble().is_some_and(|(_, why)| why.contains("in time")));
    }
}
