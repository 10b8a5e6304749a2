//! What the schedule of the poller says to the rest of the process, while the loop runs.

use std::time::Duration;

use tokio::sync::{mpsc, oneshot};

use crate::destinations::{DestinationNow, DestinationsNow};
use crate::schedule::Schedule;

/// How long somebody waits for an answer of the loop, which is busy for milliseconds at most.
const ANSWERED: Duration = Duration::from_millis(500);

/// The most questions that wait for the loop.
const QUESTIONS: usize = 16;

/// A question to the schedule. It answers to whoever asked.
pub(crate) type Question = Box<dyn FnOnce(&Schedule) + Send>;

/// A way to the schedule of this process, which is in use while the process polls.
#[derive(Debug, Clone)]
pub struct ScheduleNow {
    questions: mpsc::Sender<Question>,
    destinations: DestinationsNow,
}

impl ScheduleNow {
    /// The way to a schedule, and the questions that its loop is to answer.
    pub(crate) fn new(destinations: DestinationsNow) -> (Self, mpsc::Receiver<Question>) {
        let (questions, asked) = mpsc::channel(QUESTIONS);
        (Self { questions, destinations }, asked)
    }

    /// Asks the schedule. None where this process does not poll, or its loop does not answer in time.
    pub async fn ask<T: Send + 'static>(&self, question: impl FnOnce(&Schedule) -> T + Send + 'static) -> Option<T> {
        if !self.destinations.polls() {
            return None;
        }
        let (answer, answered) = oneshot::channel();
        let question: Question = Box::new(move |schedule| drop(answer.send(question(schedule))));
        self.questions.try_send(question).ok()?;
        tokio::time::timeout(ANSWERED, answered).await.ok()?.ok()
    }

    /// What the process knows of a destination that is in use. None where it does not poll.
    pub fn destination(&self, name: &str) -> Option<DestinationNow> {
        self.destinations.of(name)
    }
}

impl Default for ScheduleNow {
    /// The way to that of a process that never polls.
    fn default() -> Self {
        Self::new(DestinationsNow::default()).0
    }
}
