//! What a message is: its identity and its states.

use std::fmt;
use std::time::{Duration, SystemTime};

use outbox_schema::MessageId;

use crate::StoreError;
use crate::store::lossy::Lossy;

/// The longest deadline that time-outs lead to. A channel's own timeout may be longer.
pub const LONGEST_DEADLINE: Duration = Duration::from_mins(1);

/// Counts every decision taken about a row: each mark, settlement, redrive, edit and cancel raises it, and
/// nothing lowers it. A claim records it and a mark compares it, so nobody decides about a row that has moved on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct Revision(pub i32);

/// The state of a row.
///
/// ```text
/// PENDING ──accepted──────────────▶ SUCCESS
///    │ ▲ └─retry, in doubt─▶ PENDING (available_at moves)
///    │ └──────redrive────────┐
///    └─refused, exhausted, expired, in doubt, cancelled─▶ DEAD
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "UPPERCASE")]
pub enum Status {
    /// The message waits for its time or its turn, or is in flight.
    #[serde(alias = "pending")]
    Pending,
    /// The receiver accepted the message.
    #[serde(alias = "success")]
    Success,
    /// The message is a dead letter, kept with its reason until it is redriven or its retention ends.
    #[serde(alias = "dead")]
    Dead,
}

impl Status {
    /// All states.
    pub const ALL: [Self; 3] = [Self::Pending, Self::Success, Self::Dead];

    /// The value of the `status` column.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "PENDING",
            Self::Success => "SUCCESS",
            Self::Dead => "DEAD",
        }
    }
}

/// A claimed row.
#[derive(Clone, sqlx::FromRow)]
pub struct Message {
    /// The primary key.
    pub id: i64,
    /// The revision that the claim recorded.
    pub revision: i32,
    /// The idempotency key, the same on every attempt.
    #[sqlx(try_from = "Lossy<String>")]
    pub idempotency_key: String,
    /// The name of a configured channel.
    #[sqlx(try_from = "Lossy<String>")]
    pub channel: String,
    /// What the row addresses, as the application wrote it.
    #[sqlx(try_from = "Lossy<String>")]
    pub target: String,
    /// The destination: what is paused, limited and counted as one.
    #[sqlx(try_from = "Lossy<String>")]
    pub destination: String,
    /// The bytes of payload, target and headers.
    pub bytes: i64,
    /// Whether the message is larger than its channel allows. Payload and headers are then empty: they were not read.
    pub too_large: bool,
    /// Why the database could not give payload and headers. Both are then empty.
    #[sqlx(skip)]
    pub unread: Option<String>,
    /// The payload: JSON as the database returns it, never re-serialised.
    #[sqlx(try_from = "Lossy<String>")]
    pub payload: String,
    /// Extra HTTP headers: a JSON object as text.
    #[sqlx(try_from = "Lossy<Option<String>>")]
    pub headers: Option<String>,
    /// Attempts counted so far.
    pub attempts: i32,
    /// The row's own number of attempts, as written: it may be nonsense.
    pub max_attempts: Option<i32>,
    /// Milliseconds from the claim to `expires_at` by the database's clock. Negative once past.
    pub expires_in_ms: Option<i64>,
    /// Milliseconds since the first attempt after enqueuing or after the last redrive.
    pub retrying_for_ms: Option<i64>,
    /// The milliseconds for which the next attempt waits for an answer, once one has timed out.
    pub deadline_ms: Option<i32>,
    /// Milliseconds from `created_at` to the claim.
    pub waited_ms: i64,
    /// `created_at` in milliseconds since 1970, by the database's clock. None where it is no time of the calendar
    /// (`infinity`).
    pub created_ms: Option<i64>,
    /// The ordering key. Messages of the channel with the same key go out one at a time: the next is due once this one
    /// has an outcome.
    #[sqlx(try_from = "Lossy<Option<String>>")]
    pub ordering_key: Option<String>,
    /// The tenant, where the application named one.
    #[sqlx(try_from = "Lossy<Option<String>>")]
    pub tenant: Option<String>,
    /// Whether the channel's target is in `outbox_invalid_target`.
    pub target_is_gone: bool,
    /// The W3C trace context of the request that enqueued the message.
    #[sqlx(try_from = "Lossy<Option<String>>")]
    pub traceparent: Option<String>,
    /// The vendor part of the trace context.
    #[sqlx(try_from = "Lossy<Option<String>>")]
    pub tracestate: Option<String>,
}

impl Message {
    /// Takes in what the row says, which was read by itself. Where the database cannot give it, notes why.
    ///
    /// # Errors
    /// The database did not answer.
    pub(crate) fn read_apart(&mut self, body: Result<(String, Option<String>), StoreError>) -> Result<(), StoreError> {
        match body {
            Ok((payload, headers)) => (self.payload, self.headers) = (payload, headers),
            Err(StoreError::Refused { source, .. }) => self.unread = Some(source.to_string()),
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// The bytes of the message that are held in memory.
    pub fn weight(&self) -> u64 {
        (self.payload.len() + self.target.len() + self.headers.as_ref().map_or(0, String::len)) as u64
    }

    /// Who takes turns with others in the channel: the tenant that the row names, or else its destination.
    pub fn whose_turn(&self) -> &str {
        self.tenant.as_deref().unwrap_or(&self.destination)
    }

    /// The row's primary key.
    pub fn id(&self) -> MessageId {
        MessageId(self.id)
    }

    /// How long before the claim the first attempt began, counted since the last redrive. Zero where there was none.
    pub fn retrying_for(&self) -> Duration {
        Duration::from_millis(self.retrying_for_ms.and_then(|ms| ms.try_into().ok()).unwrap_or(0))
    }

    /// How long an attempt waits for an answer, on a channel with this timeout.
    pub fn deadline(&self, timeout: Duration) -> Duration {
        let own = self.deadline_ms.and_then(|ms| ms.try_into().ok()).map_or(Duration::ZERO, Duration::from_millis);
        timeout.max(own.min(LONGEST_DEADLINE))
    }

    /// When the application wrote the message, by the database's clock. None where that is no time of the calendar.
    pub fn created_at(&self) -> Option<SystemTime> {
        let since_1970 = Duration::from_millis(u64::try_from(self.created_ms?).ok()?);
        SystemTime::UNIX_EPOCH.checked_add(since_1970)
    }

    /// The revision that a mark of this claim must find.
    pub fn revision(&self) -> Revision {
        Revision(self.revision)
    }
}

/// Names the message. Bodies, headers and targets stay out of logs.
impl fmt::Debug for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Message")
            .field("id", &self.id)
            .field("revision", &self.revision)
            .field("idempotency_key", &self.idempotency_key)
            .field("channel", &self.channel)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deadline_is_the_longer_of_the_channels_and_the_messages_which_is_a_minute_at_most() {
        for (own, timeout, expected) in [
            (None, 15, 15),
            (Some(30_000), 15, 30),
            (Some(30_000), 45, 45),
            (Some(i32::MAX), 15, 60),
            (Some(i32::MAX), 90, 90),
            (Some(-1), 15, 15),
        ] {
            let deadline = Message { deadline_ms: own, ..message() }.deadline(Duration::from_secs(timeout));
            assert_eq!(deadline, Duration::from_secs(expected), "{own:?} where the channel says {timeout} s");
        }
    }

    #[test]
    fn the_body_headers_and_target_of_a_message_are_in_no_debug_output() {
        let shown = format!("{:?}", message());
        assert!(shown.contains("order-4711") && !shown.contains("s3cret"), "{shown}");
    }

    fn message() -> Message {
        Message {
            id: 7,
            revision: 0,
            idempotency_key: "order-4711".to_owned(),
            channel: "hook".to_owned(),
            target: "https://shop.example/s3cret".to_owned(),
            destination: "https://shop.example:443".to_owned(),
            payload: "\"s3cret\"".to_owned(),
            headers: Some("{\"X-Api-Key\": \"s3cret\"}".to_owned()),
            attempts: 0,
            max_attempts: None,
            expires_in_ms: None,
            retrying_for_ms: None,
            deadline_ms: None,
            waited_ms: 0,
            created_ms: None,
            ordering_key: None,
            bytes: 8,
            too_large: false,
            unread: None,
            tenant: None,
            target_is_gone: false,
            traceparent: None,
            tracestate: None,
        }
    }
}
