//! Outcomes of attempts, and the marks that record them.

use std::time::{Duration, Instant};

use outbox_schema::MessageId;

use crate::destination::Pause;
use crate::{ClaimId, OutcomeTarget, Revision};

/// The closed result of one attempt, as an adapter reports it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The receiver accepted the message.
    Delivered {
        /// The id that the receiver gave, if any. FCM: `name`.
        receipt: Option<String>,
    },
    /// Not accepted, and worth another try.
    Retry {
        /// The earliest time of the next try, from now: from a `Retry-After`, or the floor of the channel.
        not_before: Option<Duration>,
    },
    /// The receiver refused the message, or by what the channel shows who it is. Worth another try, unless the message is
    /// known to be at fault.
    Refused {
        /// The earliest time of the next try, from now: from a `Retry-After`.
        not_before: Option<Duration>,
        /// What the receiver may have refused in place of the message.
        identity: Identity,
    },
    /// The message will never be accepted.
    Dead {
        /// Why it will never be accepted.
        reason: DeadReason,
    },
    /// The message will never be accepted, because the target is gone. The target is recorded in
    /// `outbox_invalid_target`.
    DeadTarget,
    /// The fault lies with this replica or with the destination, not with the message: bad credentials, a quota. The
    /// whole scope waits, and no attempt is counted.
    Defer {
        /// The scope that waits.
        scope: Scope,
        /// How long it waits.
        until: Duration,
    },
    /// The request was written, or may have been, and no answer came.
    InDoubt,
    /// Nothing was sent: the gate was closed.
    Unsent,
}

impl Outcome {
    /// The word used in `outbox_attempt.outcome`, logs and metrics.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Delivered { .. } => "delivered",
            Self::Retry { .. } | Self::Refused { .. } => "retry",
            Self::Dead { .. } => "dead",
            Self::DeadTarget => "dead_target",
            Self::Defer { .. } => "deferred",
            Self::InDoubt => "in_doubt",
            Self::Unsent => "unsent",
        }
    }
}

/// In place of `delivered` in `outbox_attempt.outcome`: the receiver said that it knew the idempotency key already.
pub const KNOWN_ALREADY: &str = "known_already";

/// How a channel shows a receiver who it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Identity {
    /// By a credential, or a certificate.
    Credential,
    /// By a signature.
    Signature,
}

/// The scope of an [`Outcome::Defer`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// The message's destination: an HTTP origin, or an FCM channel.
    Destination,
    /// The whole channel of the message.
    Channel,
}

/// Why a row is `DEAD`: the `dead_reason` column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum DeadReason {
    /// The message or its target can never be accepted.
    Permanent,
    /// The attempts of the message are used up, or the age up to which it is retried.
    Exhausted,
    /// The message's `expires_at` passed before it was sent.
    Expired,
    /// The message was in doubt, on a channel that sends at most once.
    InDoubt,
    /// A person or the application cancelled the message.
    Cancelled,
}

impl DeadReason {
    /// All reasons.
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

/// What `outbox_attempt` keeps of the deliveries of a channel. Other attempts are always kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DeliveryRecord {
    /// Nothing, but for a delivery whose mark was refused.
    #[default]
    Off,
    /// The attempt: who made it, when, how long it took, and the status code.
    Summary,
    /// The same, and the beginning of the answer.
    Full,
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
    /// The pause that the attempt leads to.
    pub pause: Option<Pause>,
    /// The status code of the answer, if there was one.
    pub status_code: Option<u16>,
    /// What went wrong, for people. None for a plain success.
    pub error: Option<String>,
    /// How long the next attempt waits for an answer, where this one timed out and the next waits longer.
    pub deadline: Option<Duration>,
    /// Where the outcome of the message is told, in the transaction of the mark. Only a verdict that ends the row has one.
    pub told: Option<OutcomeTarget>,
    /// The attempt as `outbox_attempt` keeps it.
    pub attempt: AttemptRecord,
}

/// What becomes of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// `SUCCESS`. Counts an attempt.
    Success {
        /// The receiver's own id of the message.
        receipt: Option<String>,
    },
    /// Stays `PENDING`, due again after `after`. Counts an attempt.
    Retry {
        /// From the moment the mark is written, by the database's clock.
        after: Duration,
    },
    /// `DEAD`. Counts an attempt where one was made.
    Dead {
        /// The reason of the death.
        reason: DeadReason,
        /// Whether a request was made, or may have been.
        attempted: bool,
        /// Whether the target goes into `outbox_invalid_target`.
        invalid_target: bool,
    },
    /// Stays `PENDING`, due again after `after`. Counts no attempt.
    Deferred {
        /// From the moment the mark is written, by the database's clock.
        after: Duration,
    },
    /// Stays `PENDING`, due again after `after`. An attempt was made and failed, but is not counted: the destination is
    /// at fault. The age up to which the message is retried counts from that attempt all the same.
    Spared {
        /// From the moment the mark is written, by the database's clock.
        after: Duration,
        /// The same, where the destination takes messages again before that.
        at_least: Duration,
    },
    /// Stays `PENDING` and due, since it was not sent. Counts no attempt.
    Unsent,
}

/// One numbered try to deliver.
#[derive(Debug, Clone)]
pub struct AttemptRecord {
    /// The number of the attempt, 1 for the first.
    pub number: u32,
    /// The epoch of the attempt.
    pub epoch: crate::Epoch,
    /// The holder that made the attempt.
    pub holder: crate::Holder,
    /// When the attempt began, by the clock of this process. The store writes the database's now less the time since.
    pub started: Instant,
    /// The time from the gate to the last byte of the answer.
    pub duration: Duration,
    /// Whether the attempt is kept where it was a plain success. One whose mark is refused, as delivered-but-fenced, always is.
    pub kept: bool,
    /// The outcome: [`Outcome::as_str`].
    pub outcome: &'static str,
    /// The beginning of the answer, where that helps to explain.
    pub excerpt: Option<String>,
}

/// What a group of marks did.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct MarkReport {
    /// Rows whose mark was refused because they had moved on.
    pub fenced: Vec<MessageId>,
    /// Rows that another transaction has locked: their marks are not written, and may be tried again. SQLite has none.
    pub held: Vec<MessageId>,
}
