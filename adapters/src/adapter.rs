//! The port of the channels: whatever a message can be delivered to.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use outbox_store::Outcome;

use crate::recorder::Recorder;

/// The code of one kind of channel, set up for one configured channel.
#[async_trait]
pub trait Adapter: Send + Sync + fmt::Debug {
    /// Makes one attempt and reports its closed outcome. It retries nothing by itself, and ends within the delivery's
    /// `deadline`, whatever the receiver does. A fault in the row (its target, its headers, its payload) is an
    /// [`Outcome::Dead`] that says what to fix, never a panic.
    async fn deliver(&self, delivery: Delivery) -> Answer;

    /// Makes the request for a message as [`deliver`](Self::deliver) does, and sends nothing. Gives it as a command of `curl`, with
    /// `***` for what is secret.
    ///
    /// # Errors
    /// Why the message would be a dead letter before anything is sent, and what to do about it.
    fn examine(&self, delivery: Delivery) -> Result<String, String>;

    /// Checks the channel for `outbox check`. Returns a sentence when the channel can be used, or else what to mend.
    /// Sends no message.
    async fn check(&self) -> Result<String, String>;
}

/// Says whether a send may still begin. The connection asks immediately before it writes a request, since making a
/// connection or fetching an access token takes time.
pub trait Permit: Send + Sync {
    /// Whether the permit still lets a send begin.
    fn holds(&self) -> bool;
}

/// Any function that answers the question.
impl<F: Fn() -> bool + Send + Sync> Permit for F {
    fn holds(&self) -> bool {
        self()
    }
}

/// What one attempt needs to know of a message.
#[derive(Clone)]
pub struct Delivery {
    /// The idempotency key, the same on every attempt.
    pub idempotency_key: String,
    /// The target, as the application wrote it.
    pub target: String,
    /// The destination that the database makes of the target: the one that is paused and counted.
    pub destination: String,
    /// The payload: JSON text, passed on unchanged.
    pub payload: String,
    /// Extra headers: a JSON object as text.
    pub headers: Option<String>,
    /// The longest that the attempt may take, from its begin. None: the channel's `timeout`.
    pub deadline: Option<Duration>,
    /// When the application wrote the message. None where that is no time of the calendar.
    pub created_at: Option<SystemTime>,
    /// The W3C trace context of the attempt's span, or else of the row.
    pub traceparent: Option<String>,
    /// The vendor part of the trace context.
    pub tracestate: Option<String>,
    /// Where the permit ends before a request is written, the outcome is [`Outcome::Unsent`].
    pub permit: Arc<dyn Permit>,
    /// Whoever wants to see what is sent and answered.
    pub recorder: Option<Arc<dyn Recorder>>,
}

/// Names the message. Bodies, headers and targets stay out of logs.
impl fmt::Debug for Delivery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Delivery").field("idempotency_key", &self.idempotency_key).finish_non_exhaustive()
    }
}

/// What a failure is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum About {
    /// The message, or the destination.
    #[default]
    Unsaid,
    /// Perhaps the message's target alone, so that the destination takes messages for others.
    Target,
    /// A fault in the set-up of its channel. Other messages will die of it too, so an operator must know.
    Channel,
}

/// The result of an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The outcome for the message.
    pub outcome: Outcome,
    /// The status code of the response, if there was one.
    pub status_code: Option<u16>,
    /// What happened and what to do, for people. None for a plain success. Never contains a body or a secret.
    pub error: Option<String>,
    /// The beginning of the response to a failed attempt.
    pub excerpt: Option<String>,
    /// Whether the deadline passed after the request was written, or may have been.
    pub timed_out: bool,
    /// How long the answer asks for a pause. It is one of the whole destination, but where it is about its target.
    pub busy_for: Option<Duration>,
    /// What a failure is about.
    pub about: About,
    /// Whether the receiver said that it knew the idempotency key already: it did not do the message a second time.
    pub known: bool,
}

impl Answer {
    /// A plain success.
    pub fn delivered(status_code: u16, receipt: Option<String>) -> Self {
        Self {
            outcome: Outcome::Delivered { receipt },
            status_code: Some(status_code),
            error: None,
            excerpt: None,
            timed_out: false,
            busy_for: None,
            about: About::Unsaid,
            known: false,
        }
    }

    /// A failure before a request was sent, or without a response.
    pub fn failed(outcome: Outcome, error: impl Into<String>) -> Self {
        Self {
            outcome,
            status_code: None,
            error: Some(error.into()),
            excerpt: None,
            timed_out: false,
            busy_for: None,
            about: About::Unsaid,
            known: false,
        }
    }

    /// An attempt whose deadline passed after the request was written, or may have been.
    pub fn timed_out(error: impl Into<String>) -> Self {
        Self { timed_out: true, ..Self::failed(Outcome::InDoubt, error) }
    }
}

/// The longest excerpt of a response that is kept, in bytes of UTF-8.
pub const EXCERPT_BYTES: usize = 1024;

/// The longest response that is read, in decoded bytes. The rest is dropped with the connection.
pub const RESPONSE_BYTES: usize = 64 * 1024;

/// The longest `Retry-After` that is accepted. A channel waits for `retry.max` at most, which is not longer.
pub const RETRY_AFTER_MAX: Duration = Duration::from_hours(30 * 24);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_body_headers_and_target_of_a_delivery_are_in_no_debug_output() {
        let delivery = Delivery {
            idempotency_key: "order-4711".to_owned(),
            target: "https://shop.example/s3cret".to_owned(),
            destination: "https://shop.example:443".to_owned(),
            payload: "\"s3cret\"".to_owned(),
            headers: Some("{\"X-Api-Key\": \"s3cret\"}".to_owned()),
            deadline: None,
            created_at: None,
            traceparent: None,
            tracestate: None,
            permit: Arc::new(|| true),
            recorder: None,
        };
        let shown = format!("{delivery:?}");
        assert!(shown.contains("order-4711") && !shown.contains("s3cret"), "{shown}");
    }
}
