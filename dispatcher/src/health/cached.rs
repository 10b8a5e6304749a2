//! An answer that is kept for a while. Only one caller at a time asks for a new one.

use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::Instant;

/// The newest answer, for as long as it is fresh.
#[derive(Debug)]
pub(crate) struct Cached<T> {
    max_age: Duration,
    newest: Mutex<Option<(Instant, T)>>,
}

impl<T: Clone> Cached<T> {
    /// Answers stay fresh for `max_age`.
    pub(crate) fn new(max_age: Duration) -> Self {
        Self { max_age, newest: Mutex::new(None) }
    }

    /// The kept answer if it is fresh, else a new one. While one caller asks, the others wait for its answer.
    ///
    /// # Cancel safety
    /// Safe: where the caller that asks goes away, the next one asks.
    pub(crate) async fn get<A: Future<Output = T>>(&self, ask: impl FnOnce() -> A) -> T {
        // The lock is held while asking, so that only one question is under way.
        let mut newest = self.newest.lock().await;
        if let Some((at, answer)) = &*newest
            && at.elapsed() < self.max_age
        {
            return answer.clone();
        }
        let answer = ask().await;
        *newest = Some((Instant::now(), answer.clone()));
        answer
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures_util::future::join_all;

    use super::*;

    const MAX_AGE: Duration = Duration::from_secs(5);

    #[derive(Default)]
    struct Question(AtomicUsize);

    impl Question {
        async fn ask(&self) -> usize {
            tokio::time::sleep(Duration::from_millis(100)).await;
            self.0.fetch_add(1, Ordering::SeqCst) + 1
        }
    }

    #[tokio::test(start_paused = true)]
    async fn many_who_look_at_once_ask_once() {
        let (cached, question) = (Cached::new(MAX_AGE), Question::default());
        let answers = join_all((0..50).map(|_| cached.get(|| question.ask()))).await;
        assert_eq!(answers, vec![1; 50]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_stale_answer_is_asked_for_again_and_a_fresh_one_is_not() {
        let (cached, question) = (Cached::new(MAX_AGE), Question::default());
        assert_eq!(cached.get(|| question.ask()).await, 1);
        tokio::time::advance(MAX_AGE / 2).await;
        assert_eq!(cached.get(|| question.ask()).await, 1);
        tokio::time::advance(MAX_AGE / 2).await;
        assert_eq!(cached.get(|| question.ask()).await, 2);
    }

    #[tokio::test(start_paused = true)]
    async fn a_caller_that_goes_away_while_asking_leaves_the_question_to_the_next() {
        let (cached, question) = (Cached::new(MAX_AGE), Question::default());
        let gone = tokio::time::timeout(Duration::from_millis(1), cached.get(|| question.ask())).await;
        assert!(gone.is_err());
        assert_eq!(cached.get(|| question.ask()).await, 1);
    }
}
