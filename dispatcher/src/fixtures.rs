//! What the unit tests of the loop share.

use std::time::{Duration, Instant};

use outbox_schema::{AttemptRecord, ClaimId, Epoch, Holder, Mark, Message, MessageId, Revision, Verdict};

use crate::clock::{Clock, Moment};

/// A claimed row of the channel `hook`.
pub(crate) fn message(id: i64) -> Message {
    Message {
        id,
        revision: 0,
        idempotency_key: id.to_string(),
        channel: "hook".to_owned(),
        target: "https://shop.example/x".to_owned(),
        destination: "https://shop.example:443".to_owned(),
        payload: "{}".to_owned(),
        headers: None,
        attempts: 0,
        max_attempts: None,
        expires_in_ms: None,
        retrying_for_ms: None,
        waited_ms: 0,
        ordering_key: None,
        traceparent: None,
        tracestate: None,
    }
}

/// The mark of a row that was not sent.
pub(crate) fn mark(claim: ClaimId, id: i64) -> Mark {
    Mark {
        claim,
        id: MessageId(id),
        revision: Revision(0),
        verdict: Verdict::Unsent,
        status_code: None,
        error: None,
        attempt: AttemptRecord {
            number: 1,
            epoch: Epoch(1),
            holder: Holder::new("a", "1"),
            started: Instant::now(),
            duration: Duration::ZERO,
            outcome: "unsent",
            excerpt: None,
        },
    }
}

/// Tokio's clock, which tests pause and step.
#[derive(Debug)]
pub(crate) struct TestClock(tokio::time::Instant);

impl TestClock {
    pub(crate) fn new() -> Self {
        Self(tokio::time::Instant::now())
    }
}

impl Clock for TestClock {
    fn now(&self) -> Moment {
        Moment::at(self.0.elapsed())
    }
}
