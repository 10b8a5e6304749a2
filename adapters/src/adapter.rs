//! The port of everything a message can be delivered to.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use outbox_schema::Outcome;

/// A way out: the code of one kind of channel, set up for one configured channel.
#[async_trait]
pub trait Adapter: Send + Sync + fmt::Debug {
    /// Makes one attempt and reports its closed outcome. It retries nothing by itself, and it ends within the
    /// channel's `timeout` whatever the other side does. Whatever may be wrong with the row (its target, its
    /// headers, its payload) is an [`Outcome::Dead`] that says what to fix, never a panic.
    async fn deliver(&self, delivery: Delivery) -> Answer;

    /// What `outbox check` says of the channel: a sentence when it can be used, else what to mend.
    /// Sends no message.
    async fn check(&self) -> Result<String, String>;
}

/// Says whether a send may still begin. It is asked immediately before each request is written, as making a connection, or
/// fetching an access token, takes time.
pub trait Permit: Send + Sync {
    /// Whether it may.
    fn holds(&self) -> bool;
}

/// Whoever can be asked.
impl<F: Fn() -> bool + Send + Sync> Permit for F {
    fn holds(&self) -> bool {
        self()
    }
}

/// What one attempt needs to know of a message.
#[derive(Clone)]
pub struct Delivery {
    /// Same on every attempt.
    pub idempotency_key: String,
    /// As the application wrote it.
    pub target: String,
    /// JSON text, passed through as it is.
    pub payload: String,
    /// Extra headers: a JSON object as text.
    pub headers: Option<String>,
    /// When the application wrote the message, where that is a moment.
    pub created_at: Option<SystemTime>,
    /// W3C trace context of the attempt's span, else of the row.
    pub traceparent: Option<String>,
    /// Vendor part of the trace context.
    pub tracestate: Option<String>,
    /// Where that is gone before a request was written, the outcome is [`Outcome::Unsent`].
    pub permit: Arc<dyn Permit>,
}

/// Says which message it is; bodies, headers and targets stay out of logs.
impl fmt::Debug for Delivery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Delivery").field("idempotency_key", &self.idempotency_key).finish_non_exhaustive()
    }
}

/// What came of an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// What to do about the message.
    pub outcome: Outcome,
    /// The status code of the response, where there was one.
    pub status_code: Option<u16>,
    /// For people: what happened and what to do. None for a plain success. Never a body, never a secret.
    pub error: Option<String>,
    /// The beginning of the response of a failure.
    pub excerpt: Option<String>,
    /// How long the destination asks to be left alone, by whatever message.
    pub busy_for: Option<Duration>,
    /// The message dies of how its channel is set up: others will too, and somebody must be told.
    pub misconfigured: bool,
}

impl Answer {
    /// A plain success.
    pub fn delivered(status_code: u16, receipt: Option<String>) -> Self {
        Self {
            outcome: Outcome::Delivered { receipt },
            status_code: Some(status_code),
            error: None,
            excerpt: None,
            busy_for: None,
            misconfigured: false,
        }
    }

    /// A failure before anything was sent, or without a response.
    pub fn failed(outcome: Outcome, error: impl Into<String>) -> Self {
        Self {
            outcome,
            status_code: None,
            error: Some(error.into()),
            excerpt: None,
            busy_for: None,
            misconfigured: false,
        }
    }
}

/// Longest excerpt of a response that is kept, in bytes of UTF-8.
pub const EXCERPT_BYTES: usize = 1024;

/// Longest response that is read, in decoded bytes; the rest is dropped with the connection.
pub const RESPONSE_BYTES: usize = 64 * 1024;

/// Longest `Retry-After` that is understood. What a channel waits for of it is up to its `retry.max`, which is no longer.
pub const RETRY_AFTER_MAX: Duration = Duration::from_hours(30 * 24);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_body_headers_and_target_of_a_delivery_are_in_no_debug_output() {
        let delivery = Delivery {
            idempotency_key: "order-4711".to_owned(),
            target: "https://shop.example/s3cret".to_owned(),
            payload: "\"s3cret\"".to_owned(),
            headers: Some("{\"X-Api-Key\": \"s3cret\"}".to_owned()),
            created_at: None,
            traceparent: None,
            tracestate: None,
            permit: Arc::new(|| true),
        };
        let shown = format!("{delivery:?}");
        assert!(shown.contains("order-4711") && !shown.contains("s3cret"), "{shown}");
    }
}
