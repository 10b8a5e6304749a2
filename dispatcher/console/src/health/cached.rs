//! An answer that is kept for a while. Only one caller at a time asks for a new one.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// An answer that is so many times older than a fresh one may be says nothing any more.
const OLD: u32 = 6;

/// The newest answer, for as long as it is fresh.
#[derive(Debug)]
pub struct Cached<T> {
    max_age: Duration,
    /// Held while a caller asks, so that only one question is under way.
    asking: tokio::sync::Mutex<()>,
    newest: Mutex<Option<(Instant, T)>>,
}

impl<T: Clone> Cached<T> {
    /// Answers stay fresh for `max_age`.
    pub fn new(max_age: Duration) -> Self {
        Self { max_age, asking: tokio::sync::Mutex::new(()), newest: Mutex::new(None) }
    }

    /// The kept answer if it is fresh, else a new one. While one caller asks, the others wait for its answer.
    ///
    /// # Cancel safety
    /// Safe: where the caller that asks goes away, the next one asks.
    pub async fn get<A: Future<Output = T>>(&self, ask: impl FnOnce() -> A) -> T {
        let _turn = self.asking.lock().await;
        if let Some((at, answer)) = self.newest()
            && at.elapsed() < self.max_age
        {
            return answer;
        }
        let answer = ask().await;
        *self.newest.lock() = Some((Instant::now(), answer.clone()));
        answer
    }

    fn newest(&self) -> Option<(Instant, T)> {
        self.newest.lock().clone()
    }
}

impl<T: Clone + Send + 'static> Cached<T> {
    /// The same, within `limit`: where the answer takes longer, the newest that there is. The question goes on, and its answer
    /// is kept. None where there is no answer, or only one that says nothing of the present.
    pub async fn get_within<A>(self: &Arc<Self>, limit: Duration, ask: impl FnOnce() -> A + Send + 'static) -> Option<T>
    where
        A: Future<Output = T> + Send,
    {
        let cached = self.clone();
        let asking = tokio::spawn(async move { cached.get(ask).await });
        if let Ok(Ok(answer)) = tokio::time::timeout(limit, asking).await {
            return Some(answer);
        }
        let (at, answer) = self.newest()?;
        (at.elapsed() < self.max_age * OLD).then_some(answer)
    }

    /// The answer, and how old it is. Where the newest one `is_large`, it is given at once as long as it is younger than `oldest`,
    /// and a new one is asked for behind it. So nobody waits for a count of a million rows, and a small one is fresh.
    pub async fn at_hand<A>(
        self: &Arc<Self>,
        oldest: Duration,
        is_large: impl FnOnce(&T) -> bool,
        ask: impl FnOnce() -> A + Send + 'static,
    ) -> (Duration, T)
    where
        A: Future<Output = T> + Send,
    {
        if let Some((at, answer)) = self.newest()
            && at.elapsed() < oldest
            && is_large(&answer)
        {
            if at.elapsed() >= self.max_age {
                let cached = self.clone();
                tokio::spawn(async move { cached.get(ask).await });
            }
            return (at.elapsed(), answer);
        }
        (Duration::ZERO, self.get(ask).await)
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

    #[tokio::test(start_paused = true)]
    async fn who_cannot_wait_gets_the_newest_answer_and_the_question_goes_on() {
        let (cached, question) = (Arc::new(Cached::new(MAX_AGE)), Arc::new(Question::default()));
        let soon = async || {
            let question = question.clone();
            cached.get_within(Duration::from_millis(10), move || async move { question.ask().await }).await
        };
        assert_eq!(soon().await, None);
        tokio::time::sleep(Duration::from_millis(200)).await;
        assert_eq!(soon().await, Some(1));
        tokio::time::sleep(MAX_AGE).await;
        assert_eq!(soon().await, Some(1), "the next answer is not there yet");
        tokio::time::sleep(Duration::from_millis(200)).await;
        assert_eq!(soon().await, Some(2));
        tokio::time::sleep(MAX_AGE * OLD).await;
        assert_eq!(soon().await, None, "the last answer is too old");
    }

    #[tokio::test(start_paused = true)]
    async fn a_large_answer_is_given_at_once_with_its_age_and_asked_for_anew_behind_it() {
        let (cached, question) = (Arc::new(Cached::new(MAX_AGE)), Arc::new(Question::default()));
        let oldest = MAX_AGE * 3;
        let at_hand = async |is_large: bool| {
            let question = question.clone();
            let asked = Instant::now();
            let (age, answer) = cached.at_hand(oldest, |_| is_large, move || async move { question.ask().await }).await;
            (answer, age, asked.elapsed())
        };
        let (none, took) = (Duration::ZERO, Duration::from_millis(100));
        assert_eq!(at_hand(true).await, (1, none, took), "there is none to give");
        tokio::time::advance(MAX_AGE).await;
        assert_eq!(at_hand(true).await, (1, MAX_AGE, none));
        tokio::time::sleep(took * 2).await;
        assert_eq!(at_hand(true).await, (2, took, none), "it was asked for meanwhile");
        tokio::time::advance(MAX_AGE).await;
        assert_eq!(at_hand(false).await, (3, none, took), "a small one is fresh");
        tokio::time::advance(oldest).await;
        assert_eq!(at_hand(true).await, (4, none, took), "it says nothing any more");
    }
}
