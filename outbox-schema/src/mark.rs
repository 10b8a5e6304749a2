//! Outcomes of attempts, and the marks that record them.

use std::time::{Duration, Instant};

use crate::destination::Pause;
use crate::{ClaimId, MessageId, Revision};

/// The closed result of one attempt, as an adapter reports it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The other side accepted the message. `receipt` is the id it gave, if any.
    Delivered {
        /// FCM: `name`.
        receipt: Option<String>,
    },
    /// Not accepted, worth another try; not before that long from now where the other side said so.
    Retry {
        /// From a `Retry-After`, or the floor of the channel.
        not_before: Option<Duration>,
    },
    /// Will never be accepted.
    Dead {
        /// Why.
        reason: DeadReason,
    },
    /// Will never be accepted, because the target is gone: also recorded in `outbox_invalid_target`.
    DeadTarget,
    /// The fault is ours or the destination's, not the message's (bad credentials, quota): the whole scope
    /// waits, and no attempt is counted.
    Defer {
        /// What waits.
        scope: Scope,
        /// For how long.
        until: Duration,
    },
    /// The request was, or may have been, written, and no answer came.
    InDoubt,
    /// Nothing was sent: the gate was closed.
    Unsent,
}

impl Outcome {
    /// The word used in `outbox_attempt.outcome`, logs and metrics.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Delivered { .. } => "delivered",
            Self::Retry { .. } => "retry",
            Self::Dead { .. } => "dead",
            Self::DeadTarget => "dead_target",
            Self::Defer { .. } => "deferred",
            Self::InDoubt => "in_doubt",
            Self::Unsent => "unsent",
        }
    }
}

/// What a deferral holds up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// The message's destination: an HTTP origin, or an FCM channel.
    Destination,
    /// All of the message's channel.
    Channel,
}

/// Why a row is `DEAD`: the `dead_reason` column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum DeadReason {
    /// The message, or its target, can never be accepted.
    Permanent,
    /// Its attempts, or the age up to which it is retried, are used up.
    Exhausted,
    /// `expires_at` passed before it was sent.
    Expired,
    /// In doubt on a channel that is at most once.
    InDoubt,
    /// Cancelled by a person or by its application.
    Cancelled,
}

impl DeadReason {
    /// Every reason.
    pub const ALL: [Self; 5] = [Self::Permanent, Self::Exhausted, Self::Expired, Self::InDoubt, Self::Cancelled];

    /// The value of the column.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Permanent => "permanent",
            Self::Exhausted => "exhausted",
            Self::Expired => "expired",
            Self::InDoubt => "in_doubt",
            Self::Cancelled => "cancelled",
        }
    }
}

/// What becomes of a row that is in doubt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InDoubtPolicy {
    /// At least once: send it again, with the same idempotency key.
    Resend,
    /// At most once: keep it as a dead letter with the reason `in_doubt`.
    DeadLetter,
}

/// One attempt's result for one claimed row, ready to be written.
#[derive(Debug, Clone)]
pub struct Mark {
    /// The claim under which the row was sent.
    pub claim: ClaimId,
    /// The row.
    pub id: MessageId,
    /// The revision that the claim recorded; the mark is refused where the row has moved on.
    pub revision: Revision,
    /// What becomes of the row.
    pub verdict: Verdict,
    /// What is paused for what came of the attempt.
    pub pause: Option<Pause>,
    /// The answer's status code, where there was an answer.
    pub status_code: Option<u16>,
    /// What went wrong, for people; none for a plain success.
    pub error: Option<String>,
    /// The attempt as `outbox_attempt` keeps it (every attempt that was not a plain success). For a plain
    /// success it is written only where the mark is refused, as delivered-but-fenced.
    pub attempt: AttemptRecord,
}

/// What becomes of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// `SUCCESS`; counts an attempt.
    Success {
        /// What the other side returned as its own id.
        receipt: Option<String>,
    },
    /// Stays `PENDING`, due again after `after`; counts an attempt.
    Retry {
        /// From the moment the mark is written, by the database's clock.
        after: Duration,
    },
    /// `DEAD`; counts an attempt where one was made.
    Dead {
        /// Why.
        reason: DeadReason,
        /// Whether a request was made, or may have been.
        attempted: bool,
        /// Whether the target goes into `outbox_invalid_target`.
        invalid_target: bool,
    },
    /// Stays `PENDING`, due again after `after`; counts no attempt.
    Deferred {
        /// From the moment the mark is written, by the database's clock.
        after: Duration,
    },
    /// Stays `PENDING`, due again after `after`; counts no attempt, though one was made and failed: its destination is at fault.
    /// How long the message is tried counts from it all the same.
    Spared {
        /// From the moment the mark is written, by the database's clock.
        after: Duration,
        /// The same where the destination takes messages again before that.
        at_least: Duration,
    },
    /// Stays `PENDING` and due: it was not sent. Counts no attempt.
    Unsent,
}

/// One numbered try to deliver.
#[derive(Debug, Clone)]
pub struct AttemptRecord {
    /// 1 for the first.
    pub number: u32,
    /// Epoch under which it was made.
    pub epoch: crate::Epoch,
    /// Who made it.
    pub holder: crate::Holder,
    /// When it began, by this process's clock; written as the database's now less the time since.
    pub started: Instant,
    /// From the gate to the last byte of the answer.
    pub duration: Duration,
    /// [`Outcome::as_str`].
    pub outcome: &'static str,
    /// The beginning of the response, where one helps to explain.
    pub excerpt: Option<String>,
}

/// What a group of marks did.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct MarkReport {
    /// Rows whose mark was refused because they had moved on.
    pub fenced: Vec<MessageId>,
}
