//! The state of the outbox as a whole, from the database. It is read only when a client asks (a scrape, a readiness
//! probe), and once for all who ask within five seconds.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

use crate::health::cached::Cached;

pub use outbox_desk::{ChannelVitals, TenantVitals, Vitals};

/// How long an answer is reused. This bounds how often probes and scrapes reach the database.
pub const VITALS_MAX_AGE: Duration = Duration::from_secs(5);

/// From so many messages that wait or are dead, a count of them takes longer than a page may.
const LARGE: i64 = 100_000;

/// How long the database has to answer.
const PATIENCE: Duration = Duration::from_secs(4);

/// A source that can ask the database.
#[async_trait]
pub trait VitalsSource: Send + Sync {
    /// The present state.
    ///
    /// # Errors
    /// For people: why the database could not be asked.
    async fn vitals(&self) -> Result<Vitals, String>;
}

/// A [`VitalsSource`] that is asked at most once per [`VITALS_MAX_AGE`], however many clients ask at once.
pub struct VitalsCache {
    source: Arc<dyn VitalsSource>,
    answer: Arc<Cached<Result<Arc<Vitals>, String>>>,
}

impl VitalsCache {
    /// Wraps `source`.
    pub fn new(source: Arc<dyn VitalsSource>) -> Self {
        Self { source, answer: Arc::new(Cached::new(VITALS_MAX_AGE)) }
    }

    /// The state, at most [`VITALS_MAX_AGE`] old. A failure is an answer too, and is reused as long.
    ///
    /// # Errors
    /// For people: why the database could not be asked.
    pub async fn get(&self) -> Result<Arc<Vitals>, String> {
        self.answer.get(|| ask(self.source.clone())).await
    }

    /// The same, and how old it is. Where very many messages wait or are dead, it is at hand at once, as it was when they were counted
    /// last, as long as that is younger than `oldest`; they are counted anew behind it.
    pub async fn at_hand(&self, oldest: Duration) -> (Duration, Result<Arc<Vitals>, String>) {
        let source = self.source.clone();
        self.answer.at_hand(oldest, is_large, move || ask(source)).await
    }

    /// The same, within `limit`, or the newest that there is. None where there is none.
    pub async fn get_within(&self, limit: Duration) -> Option<Arc<Vitals>> {
        let source = self.source.clone();
        self.answer.get_within(limit, move || ask(source)).await?.ok()
    }
}

/// Whether a count of this outbox takes longer than somebody should wait.
fn is_large(counted: &Result<Arc<Vitals>, String>) -> bool {
    let rows = |vitals: &Arc<Vitals>| vitals.channels.iter().map(|channel| channel.pending + channel.dead).sum::<i64>();
    counted.as_ref().is_ok_and(|vitals| rows(vitals) >= LARGE)
}

async fn ask(source: Arc<dyn VitalsSource>) -> Result<Arc<Vitals>, String> {
    match tokio::time::timeout(PATIENCE, source.vitals()).await {
        Ok(answer) => answer.map(Arc::new),
        Err(_) => Err(format!("the outbox database did not answer within {} s", PATIENCE.as_secs())),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[derive(Default)]
    struct Silent(AtomicUsize);

    #[async_trait]
    impl VitalsSource for Silent {
        async fn vitals(&self) -> Result<Vitals, String> {
            self.0.fetch_add(1, Ordering::SeqCst);
            std::future::pending().await
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_database_that_does_not_answer_is_an_answer_and_is_not_asked_again_at_once() {
        let source = Arc::new(Silent::default());
        let cache = VitalsCache::new(Arc::clone(&source) as Arc<dyn VitalsSource>);
        let (first, second) = tokio::join!(cache.get(), cache.get());
        assert_eq!(first, Err("the outbox database did not answer within 4 s".to_owned()));
        assert_eq!(first, second);
        assert_eq!(source.0.load(Ordering::SeqCst), 1);
    }

    #[test]
    fn the_lag_of_the_outbox_is_that_of_its_slowest_channel() {
        let channel = |lag: i64| ChannelVitals { lag_ms: Some(lag * 1000), ..ChannelVitals::default() };
        assert_eq!(
            Vitals { channels: vec![channel(3), channel(7), channel(0)], ..Vitals::default() }.lag(),
            Duration::from_secs(7)
        );
        assert_eq!(Vitals::default().lag(), Duration::ZERO);
    }
}
