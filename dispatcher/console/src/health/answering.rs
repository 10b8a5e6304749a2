//! Since when a lease store or a database has not answered, for `/readyz`.

use std::fmt::Display;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// Watches the answers of one lease store or database.
#[derive(Debug)]
pub(crate) struct Answering {
    /// The text for a call that its caller gave up.
    silent: &'static str,
    trouble: Mutex<Option<Trouble>>,
}

#[derive(Debug)]
struct Trouble {
    since: Instant,
    latest: Instant,
    why: String,
}

/// A time without a good answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Silence {
    /// How long it has lasted.
    pub lasts: Duration,
    /// How long ago the last call failed, or was given up.
    pub latest: Duration,
    /// The words of the last failure.
    pub why: String,
}

/// A call that is under way. It counts as unanswered when it goes out of scope: its caller gave up.
struct Call<'a> {
    answering: &'a Answering,
    began: Instant,
    answered: bool,
}

impl Answering {
    /// No trouble so far. A call that its caller gives up counts as trouble, with the text `silent`.
    pub(crate) fn new(silent: &'static str) -> Self {
        Self { silent, trouble: Mutex::default() }
    }

    /// The trouble. None where the last call was answered.
    pub(crate) fn trouble(&self) -> Option<Silence> {
        let trouble = self.trouble.lock();
        trouble.as_ref().map(|trouble| Silence {
            lasts: trouble.since.elapsed(),
            latest: trouble.latest.elapsed(),
            why: trouble.why.clone(),
        })
    }

    /// Passes the answer of a call on. An error counts as trouble where `is_trouble` says so, and as an answer
    /// otherwise.
    pub(crate) async fn watch<T, E: Display>(
        &self,
        call: impl Future<Output = Result<T, E>>,
        is_trouble: impl Fn(&E) -> bool,
    ) -> Result<T, E> {
        let mut watched = Call { answering: self, began: Instant::now(), answered: false };
        let answer = call.await;
        watched.answered = true;
        let failed = answer.as_ref().err().filter(|error| is_trouble(error));
        self.note(watched.began, failed.map(ToString::to_string));
        answer
    }

    fn note(&self, began: Instant, failed: Option<String>) {
        let mut trouble = self.trouble.lock();
        let since = trouble.as_ref().map_or(began, |known| known.since);
        *trouble = failed.map(|why| Trouble { since, latest: Instant::now(), why });
    }
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        if !self.answered {
            self.answering.note(self.began, Some(self.answering.silent.to_owned()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn answer(answering: &Answering, answer: Result<(), &'static str>) {
        let _ = answering.watch(async { answer }, |error| *error != "fenced").await;
    }

    #[tokio::test(start_paused = true)]
    async fn trouble_lasts_until_the_next_answer_and_a_call_given_up_is_trouble() {
        let answering = Answering::new("silence");
        assert!(answering.trouble().is_none());
        answer(&answering, Err("refused")).await;
        assert!(answering.trouble().is_some_and(|silence| silence.why == "refused"));
        answer(&answering, Ok(())).await;
        assert!(answering.trouble().is_none());
        let call = answering.watch(std::future::pending::<Result<(), &str>>(), |_| true);
        assert!(tokio::time::timeout(Duration::from_secs(1), call).await.is_err());
        assert!(answering.trouble().is_some_and(|silence| silence.why == "silence"));
    }

    #[tokio::test]
    async fn an_error_that_is_an_answer_is_no_trouble() {
        let answering = Answering::new("silence");
        answer(&answering, Err("refused")).await;
        answer(&answering, Err("fenced")).await;
        assert!(answering.trouble().is_none());
    }
}
