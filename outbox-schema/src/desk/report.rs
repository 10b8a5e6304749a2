//! What the desk answers. Times are texts that the database made, RFC 3339 in UTC; where it keeps one that no calendar
//! has (`infinity` on PostgreSQL), its own word for it.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use sqlx::FromRow;

use super::Cursor;
use crate::store::lossy::Lossy;
use crate::store::steps::CRASHED;
use crate::{MessageId, Outcome, PauseKind};

/// How an outbox does.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Vitals {
    /// By name; channels that nothing waits for and nothing failed in are not among them.
    pub channels: Vec<ChannelVitals>,
    /// The present term of each shard that has had one.
    pub terms: Vec<CurrentTerm>,
    /// Destinations and channels that take nothing for now.
    pub paused: Vec<PausedDestination>,
    /// Claims of earlier terms that wait for their settling time.
    pub unsettled_claims: i64,
}

impl Vitals {
    /// Age of the oldest message of any channel that is due or put off; zero where there is none.
    pub fn lag(&self) -> Duration {
        self.channels.iter().map(ChannelVitals::lag).max().unwrap_or_default()
    }
}

/// What waits in a channel, and what failed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, FromRow)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ChannelVitals {
    /// As rows say it; nobody need have configured it.
    #[sqlx(try_from = "Lossy<String>")]
    pub channel: String,
    /// Rows that are `PENDING`.
    pub pending: i64,
    /// Of these, due now, the ones in flight among them.
    pub due: i64,
    /// Of these, due but put off: their destination is paused, or nobody has configured their channel.
    pub deferred: i64,
    /// Rows that are `DEAD`.
    pub dead: i64,
    /// Age of the oldest message that is due or put off, in milliseconds; none where nothing is.
    pub lag_ms: Option<i64>,
}

impl ChannelVitals {
    /// Age of the channel's oldest message that is due or put off; zero where there is none.
    pub fn lag(&self) -> Duration {
        Duration::from_millis(self.lag_ms.and_then(|ms| ms.try_into().ok()).unwrap_or(0))
    }
}

/// The term that a shard is in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, FromRow)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CurrentTerm {
    /// What is led.
    pub shard: i32,
    /// The fencing token.
    pub epoch: i64,
    /// Who began it, and leads still if alive.
    pub holder: String,
    /// When it began.
    pub started_at: String,
    /// Milliseconds since.
    pub age_ms: i64,
}

/// A destination, or a whole channel, that takes nothing for now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, FromRow)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PausedDestination {
    /// A destination (`https://host:443`) or the name of a channel.
    pub destination: String,
    /// Until when.
    pub paused_until: String,
    /// Milliseconds left; none where it is until somebody resumes it.
    pub remaining_ms: Option<i64>,
    /// A person, or `dispatcher`.
    pub paused_by: Option<String>,
    /// [`PauseKind::as_str`](crate::PauseKind::as_str).
    pub pause_kind: Option<String>,
    /// What went wrong, or what the person said.
    pub reason: Option<String>,
    /// Times it was paused for a failure.
    pub failures: i32,
}

impl PausedDestination {
    /// [`PauseKind::holds_a_channel`].
    pub fn holds_a_channel(&self) -> bool {
        PauseKind::of(self.pause_kind.as_deref()).holds_a_channel()
    }
}

/// A term, present or past.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, FromRow)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TermEntry {
    /// What was led.
    pub shard: i32,
    /// The fencing token.
    pub epoch: i64,
    /// Who led.
    pub holder: String,
    /// When it began.
    pub started_at: String,
    /// When it ended; none while it lasts.
    pub ended_at: Option<String>,
    /// [`TermEnd::as_str`](crate::TermEnd::as_str).
    pub ended_because: Option<String>,
    /// Rows claimed; none where the holder could not say.
    pub claimed: Option<i64>,
    /// Rows accepted by the other side by the time it ended; what was on the wire then is counted nowhere.
    pub delivered: Option<i64>,
    /// Rows whose attempt had failed by then.
    pub failed: Option<i64>,
}

/// All that there is to know of a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, FromRow)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[allow(missing_docs, reason = "the columns of the table `outbox`")]
pub struct MessageRecord {
    pub id: i64,
    #[sqlx(try_from = "Lossy<String>")]
    pub idempotency_key: String,
    #[sqlx(try_from = "Lossy<String>")]
    pub channel: String,
    #[sqlx(try_from = "Lossy<String>")]
    pub target: String,
    #[sqlx(try_from = "Lossy<String>")]
    pub destination: String,
    /// JSON text, as the database returns it.
    #[sqlx(try_from = "Lossy<String>")]
    pub payload: String,
    /// JSON text, as the database returns it.
    #[sqlx(try_from = "Lossy<Option<String>>")]
    pub headers: Option<String>,
    #[sqlx(try_from = "Lossy<Option<String>>")]
    pub ordering_key: Option<String>,
    pub priority: i32,
    pub shard: i32,
    pub revision: i32,
    /// As written: an application may have written one that no one knows.
    pub status: String,
    pub dead_reason: Option<String>,
    pub attempts: i32,
    pub max_attempts: Option<i32>,
    pub available_at: String,
    pub deferred_from: Option<String>,
    pub expires_at: Option<String>,
    pub first_attempt_at: Option<String>,
    #[sqlx(try_from = "Lossy<Option<String>>")]
    pub traceparent: Option<String>,
    #[sqlx(try_from = "Lossy<Option<String>>")]
    pub tracestate: Option<String>,
    pub last_error: Option<String>,
    pub last_status_code: Option<i32>,
    pub receipt: Option<String>,
    pub created_at: String,
    pub finished_at: Option<String>,
    /// The attempts that were not plain successes, the oldest first.
    #[sqlx(skip)]
    pub attempt_log: Vec<AttemptEntry>,
    /// What people did to it, the oldest first.
    #[sqlx(skip)]
    pub audit: Vec<AuditEntry>,
    /// The claim under which it may be in flight now.
    #[sqlx(skip)]
    pub claim: Option<NamingClaim>,
}

/// An attempt that was not a plain success.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, FromRow)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AttemptEntry {
    /// 1 for the first.
    pub number: i32,
    /// Epoch under which it was made.
    pub epoch: i64,
    /// Who made it.
    pub holder: String,
    /// When its row was claimed.
    pub claimed_at: Option<String>,
    /// When it began; none where nobody lived to say so.
    pub started_at: Option<String>,
    /// From the gate to the last byte of the answer.
    pub duration_ms: Option<i64>,
    /// [`Outcome::as_str`](crate::Outcome::as_str), or `delivered_fenced`.
    pub outcome: String,
    /// Of the answer.
    pub status_code: Option<i32>,
    /// What went wrong.
    pub error: Option<String>,
    /// The beginning of the answer.
    pub excerpt: Option<String>,
}

impl AttemptEntry {
    /// Whether a later term settled it: nobody marked it, so nobody said when it began.
    pub fn was_settled(&self) -> bool {
        self.outcome == Outcome::InDoubt.as_str() && self.started_at.is_none()
    }

    /// Whether its poller died, or was cut off, while it was in flight.
    pub fn was_left_by_a_crash(&self) -> bool {
        self.was_settled() && self.error.as_deref() == Some(CRASHED)
    }
}

/// A claim that names a message with its present revision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, FromRow)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct NamingClaim {
    /// Its UUID.
    pub id: String,
    /// Of which shard.
    pub shard: i32,
    /// Of which term.
    pub epoch: i64,
    /// Who claimed.
    pub holder: String,
    /// When.
    pub claimed_at: String,
    /// When its holder said that it starts no more sends.
    pub gate_closed_at: Option<String>,
    /// When a later term began.
    pub superseded_at: Option<String>,
    /// When a later term may decide its rows; none while its own term lasts.
    pub settles_at: Option<String>,
}

/// What somebody did by hand.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, FromRow)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AuditEntry {
    /// Of the row of `outbox_audit`.
    pub id: i64,
    /// When.
    pub at: String,
    /// A person, or the name of a token.
    pub who: String,
    /// `redrive`, `undo`, `edit`, `cancel`, `purge`, `prune`, `pause`, `resume` or `clear`.
    pub action: String,
    /// What they said about it.
    pub why: Option<String>,
    /// JSON text: what was asked, or what was overwritten.
    pub details: Option<String>,
    /// The entry of the whole operation, where this is that of one message of it.
    pub part_of: Option<i64>,
}

/// A dead letter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, FromRow)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[allow(missing_docs, reason = "columns of the table `outbox`")]
pub struct DeadLetter {
    pub id: i64,
    #[sqlx(try_from = "Lossy<String>")]
    pub idempotency_key: String,
    #[sqlx(try_from = "Lossy<String>")]
    pub channel: String,
    #[sqlx(try_from = "Lossy<String>")]
    pub target: String,
    #[sqlx(try_from = "Lossy<String>")]
    pub destination: String,
    pub dead_reason: Option<String>,
    pub attempts: i32,
    pub last_error: Option<String>,
    pub last_status_code: Option<i32>,
    pub fingerprint: String,
    pub created_at: String,
    pub dead_at: String,
    /// For a cursor: in microseconds since 1970.
    #[serde(skip)]
    pub(super) dead_at_us: i64,
}

impl DeadLetter {
    /// Where a page ends that ends with this letter.
    pub fn cursor(&self) -> Cursor {
        Cursor { dead_at_us: self.dead_at_us, id: MessageId(self.id) }
    }
}

/// Some dead letters.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DeadLetterPage {
    /// The last that died first.
    pub letters: Vec<DeadLetter>,
    /// Where the next page begins; none where this is the last.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub next: Option<Cursor>,
}

/// Dead letters that have channel, reason, status code and the pattern of their error in common.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DeadGroup {
    /// Names it: `channel/reason/status code/hash of the pattern`.
    pub fingerprint: String,
    /// Of the messages.
    pub channel: String,
    /// Why they are dead.
    pub dead_reason: Option<String>,
    /// Of the last answers.
    pub status_code: Option<i32>,
    /// The error without its variable parts.
    pub error: Option<String>,
    /// How many letters.
    pub count: u64,
    /// When the first of them died.
    pub first_seen: String,
    /// When the last of them died.
    pub last_seen: String,
    /// One of them, the newest message.
    pub example: MessageId,
}
