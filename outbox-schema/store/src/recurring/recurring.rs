//! Recurring messages (`outbox_recurring`): the times for which each was written.
//!
//! The row of a name and the messages of its times are written by one transaction, which proves the term of the poller. So a time has
//! its message exactly when the row says so, whatever crashes, and whichever replica polls.

use async_trait::async_trait;
use outbox_schema::NewMessage;
use sqlx::FromRow;

use crate::{StoreError, TermId};

/// What is kept of recurring messages, and the time by the clock of the database.
#[derive(Debug)]
pub struct RecurringNow {
    /// Microseconds since 1970.
    pub now_us: i64,
    /// What is kept of each.
    pub states: Vec<RecurringState>,
}

/// What is kept of one recurring message. Times are in milliseconds since 1970.
#[derive(Debug, Clone, FromRow)]
pub struct RecurringState {
    /// The name.
    pub name: String,
    /// The pattern of cron by which a poller last knew it.
    pub cron: String,
    /// The time zone by which a poller last knew it.
    pub timezone: String,
    /// Times up to this one are nobody's.
    pub since_ms: i64,
    /// The last time for which a message was written.
    pub fired_ms: Option<i64>,
    /// The next time.
    pub next_ms: Option<i64>,
    /// When somebody asked for a message by hand that is not written yet.
    pub asked_ms: Option<i64>,
    /// Whether it is paused.
    pub paused: bool,
}

/// One step of a poller for one recurring message.
#[derive(Debug, Clone)]
pub enum RecurringStep {
    /// Keeps its pattern, its zone and its next time. Where the name is new, or one of the first two has changed, all times up to now
    /// are nobody's.
    Know {
        /// The name.
        name: String,
        /// The pattern of cron.
        cron: String,
        /// The time zone.
        timezone: String,
        /// The next time.
        next_ms: Option<i64>,
    },
    /// Writes the messages of its times, where none of these has one yet.
    Fire {
        /// The name.
        name: String,
        /// The first and the last of the times.
        times_ms: (i64, i64),
        /// The next time.
        next_ms: Option<i64>,
        /// A message for each time.
        messages: Vec<NewMessage>,
    },
    /// Writes the message that somebody asked for.
    FireAsked {
        /// The name.
        name: String,
        /// When it was asked for.
        asked_ms: i64,
        /// The message.
        message: Box<NewMessage>,
    },
}

/// Keeps recurring messages. [`Database`](crate::Database) does it for each of the three dialects.
///
/// # Cancel safety
/// Safe: what was committed stays, and each call can be repeated.
#[async_trait]
pub trait RecurringStore: Send + Sync + std::fmt::Debug {
    /// What is kept of recurring messages.
    async fn recurring_now(&self) -> Result<RecurringNow, StoreError>;

    /// Takes a step, in a transaction that proves the term. Returns whether it wrote messages.
    ///
    /// # Errors
    /// [`StoreError::Fenced`] where a later term has begun.
    async fn take_step(&self, term: &TermId, step: &RecurringStep) -> Result<bool, StoreError>;
}
