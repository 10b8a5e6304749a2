//! A recurring message as it is configured.

use jiff::Timestamp;
use outbox_schema::NewMessage;

use super::timetable::Timetable;

/// The most times of one message that `missed = "all"` makes up for.
const MOST: usize = 100;

/// How late a message of `missed = "skip"` may be: a change of poller takes no longer, as a rule.
const LATE_MS: i64 = 60_000;

/// The settings of one recurring message.
#[derive(Debug, Clone)]
pub struct RecurringConfig {
    /// The name.
    pub name: String,
    /// When it is due.
    pub timetable: Timetable,
    /// What becomes of times at which no replica polled.
    pub missed: Missed,
    /// What is written each time, but for its idempotency key.
    pub message: NewMessage,
}

/// What becomes of times at which no replica polled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missed {
    /// Nothing.
    Skip,
    /// One message, for the last of them.
    One,
    /// A message for each of the last hundred.
    All,
}

impl Missed {
    /// The words of the settings.
    pub(crate) const WORDS: [(&str, Self); 3] = [("skip", Self::Skip), ("one", Self::One), ("all", Self::All)];
}

impl RecurringConfig {
    /// The times for which a message is due `now`, the earliest first, where those up to `done` are over. The time of the database is
    /// meant.
    pub fn due(&self, done: Timestamp, now: Timestamp) -> Vec<Timestamp> {
        let most = if self.missed == Missed::All { MOST } else { 1 };
        let mut due = self.timetable.last(most, done, now);
        if self.missed == Missed::Skip {
            due.retain(|time| now.as_millisecond() - time.as_millisecond() <= LATE_MS);
        }
        due
    }

    /// The message of a time. Its key is made from the time, so that no time has two.
    pub fn message_of(&self, time: Timestamp) -> NewMessage {
        self.message.clone().idempotency_key(format!("recurring:{}:{time}", self.name))
    }

    /// The message that somebody asked for at this moment.
    pub fn message_by_hand(&self, asked: Timestamp) -> NewMessage {
        self.message.clone().idempotency_key(format!("recurring:{}:by-hand:{asked}", self.name))
    }
}
