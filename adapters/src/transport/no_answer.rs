//! Why there is no answer.

use hyper::StatusCode;
use outbox_store::{DeadReason, Outcome};
use tokio::time::Instant;

use crate::adapter::Answer;

/// Why there is no answer, in words. The variant says what is proven about the request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NoAnswer {
    /// The request was not sent: the gate has closed.
    NotPermitted,
    /// The request was not sent, and never can be: the address is forbidden for this channel, or the URL cannot be
    /// requested.
    Impossible(String),
    /// The request was provably not sent: the name does not resolve, no server listens, or TLS failed.
    NotSent(String),
    /// The request was provably not processed, on a connection that had been made. Another connection may take it at
    /// once.
    Refused(String),
    /// The request was written, or may have been.
    InDoubt(String),
    /// The same, and the deadline has passed.
    TimedOut(String),
    /// The message was taken: this status, of 2xx, was read. The rest of the answer was not.
    Accepted(StatusCode),
}

impl NoAnswer {
    /// The answer for the message.
    pub(crate) fn into_answer(self) -> Answer {
        match self {
            Self::NotPermitted => {
                Answer::failed(Outcome::Unsent, "not sent: the term ended before the request was written")
            }
            Self::Impossible(error) => Answer::failed(Outcome::Dead { reason: DeadReason::Permanent }, error),
            Self::NotSent(error) | Self::Refused(error) => Answer::failed(Outcome::Retry { not_before: None }, error),
            Self::InDoubt(error) => Answer::failed(Outcome::InDoubt, error),
            Self::TimedOut(error) => Answer::timed_out(error),
            Self::Accepted(status) => Answer::delivered(status.as_u16(), None),
        }
    }
}

/// What is known about a request that was sent at `began` and given up.
pub(crate) fn timed_out(to: &str, began: Instant) -> NoAnswer {
    let waited = began.elapsed().as_secs_f64();
    NoAnswer::TimedOut(format!("{to} did not answer within {waited:.1} s: it may have accepted the message"))
}
