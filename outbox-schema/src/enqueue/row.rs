//! Messages as rows to insert. The `enqueue` statements of MySQL and SQLite unfold one JSON text. That of PostgreSQL
//! takes columns, since to unfold a text would take as long as to insert the rows.

use std::borrow::Cow;
use std::time::{Duration, UNIX_EPOCH};

use serde::Serialize;
use uuid::Uuid;

use super::trace;
use crate::enqueue::new_message::{SendTime, headers_text};
use crate::{InvalidMessage, NewMessage};

/// Whole milliseconds of a duration; more than a century is a century.
pub fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX).min(100 * 366 * 86_400_000)
}

/// A message that is valid, ready to be inserted.
#[derive(Debug, Serialize)]
pub struct Row<'a> {
    /// The idempotency key. Minted here where the message has none, so that the caller learns it.
    #[serde(rename = "idempotency_key")]
    pub(super) key: Cow<'a, str>,
    pub(super) channel: &'a str,
    pub(super) target: &'a str,
    /// The payload as JSON text, so that no parser on the way rewrites its numbers.
    pub(super) payload: Cow<'a, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) headers: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) ordering_key: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tenant: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tags: Option<String>,
    pub(super) priority: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) max_attempts: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) due_in_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) due_at_ms: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) expires_in_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) expires_at_ms: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) traceparent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tracestate: Option<String>,
}

impl<'a> Row<'a> {
    pub(super) fn of(message: &'a NewMessage) -> Result<Self, InvalidMessage> {
        message.validate()?;
        let key = message.idempotency_key.as_deref().map(Cow::Borrowed);
        let (due_in_ms, due_at_ms) = millis_of(message.due);
        let (expires_in_ms, expires_at_ms) = millis_of(message.expires);
        let (traceparent, tracestate) = match message.trace.clone().or_else(trace::current) {
            Some(trace) => (Some(trace.traceparent), trace.tracestate),
            None => (None, None),
        };
        Ok(Self {
            key: key.unwrap_or_else(|| Uuid::now_v7().to_string().into()),
            channel: &message.channel,
            target: &message.target,
            payload: message.payload_text()?,
            headers: headers_text(&message.headers)?,
            ordering_key: message.ordering_key.as_deref(),
            tenant: message.tenant.as_deref(),
            tags: message.tags.column(),
            priority: message.priority,
            max_attempts: message.max_attempts,
            due_in_ms,
            due_at_ms,
            expires_in_ms,
            expires_at_ms,
            traceparent,
            tracestate,
        })
    }

    /// About how many bytes the row takes in a statement. As JSON it may take twice as many.
    pub(super) fn bytes(&self) -> usize {
        let length = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        self.payload.len() + self.target.len() + length(&self.headers) + length(&self.tags)
    }
}

/// The JSON array for the `enqueue` statements of MySQL and SQLite.
#[cfg(any(feature = "mysql", feature = "sqlite"))]
pub(super) fn rows_as_json(rows: &[Row<'_>]) -> sqlx::Result<String> {
    serde_json::to_string(rows).map_err(|error| sqlx::Error::Encode(error.into()))
}

/// The JSON array for the `enqueued` statement.
pub(super) fn keys_as_json(rows: &[&Row<'_>]) -> String {
    rows.iter().map(|row| row.key.as_ref()).collect::<serde_json::Value>().to_string()
}

/// Milliseconds from now, or milliseconds since 1970.
fn millis_of(moment: Option<SendTime>) -> (Option<u64>, Option<i64>) {
    match moment {
        Some(SendTime::After(time)) => (Some(millis(time)), None),
        Some(SendTime::At(time)) => {
            let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
            (None, Some(i64::try_from(since.as_millis()).unwrap_or(i64::MAX)))
        }
        None => (None, None),
    }
}
