//! Messages as one JSON text: the same for every dialect, whose `enqueue` statement unfolds it into rows.

use std::collections::BTreeMap;
use std::time::UNIX_EPOCH;

use serde::Serialize;
use uuid::Uuid;

use crate::new_message::Moment;
use crate::wire::millis;
use crate::{InvalidMessage, NewMessage, trace};

/// A message that is valid, ready to be inserted.
#[derive(Debug)]
pub struct Row {
    /// Minted here where the message has none, so that the caller learns it.
    pub(super) key: String,
    /// The object that the statement unfolds.
    pub(super) json: String,
}

#[derive(Serialize)]
struct Columns<'a> {
    idempotency_key: &'a str,
    channel: &'a str,
    target: &'a str,
    /// JSON as text, so that no parser on the way rewrites its numbers.
    payload: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    headers: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ordering_key: Option<&'a str>,
    priority: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_attempts: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    due_in_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    due_at_ms: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_in_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at_ms: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    traceparent: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tracestate: Option<&'a str>,
}

impl Row {
    pub(super) fn of(message: &NewMessage) -> Result<Self, InvalidMessage> {
        message.validate()?;
        let key = message.idempotency_key.clone().unwrap_or_else(|| Uuid::now_v7().to_string());
        let (due_in_ms, due_at_ms) = millis_of(message.due);
        let (expires_in_ms, expires_at_ms) = millis_of(message.expires);
        let trace = message.trace.clone().or_else(trace::current);
        let columns = Columns {
            idempotency_key: &key,
            channel: &message.channel,
            target: &message.target,
            payload: &message.payload_text()?,
            headers: object(&message.headers)?,
            ordering_key: message.ordering_key.as_deref(),
            priority: message.priority,
            max_attempts: message.max_attempts,
            due_in_ms,
            due_at_ms,
            expires_in_ms,
            expires_at_ms,
            traceparent: trace.as_ref().map(|trace| trace.traceparent.as_str()),
            tracestate: trace.as_ref().and_then(|trace| trace.tracestate.as_deref()),
        };
        let json =
            serde_json::to_string(&columns).map_err(|error| InvalidMessage::new("payload", error.to_string()))?;
        Ok(Self { key, json })
    }
}

/// The array that the `enqueue` statement takes.
pub(super) fn rows_as_json(rows: &[Row]) -> String {
    let rows: Vec<_> = rows.iter().map(|row| row.json.as_str()).collect();
    format!("[{}]", rows.join(","))
}

/// The array that the `enqueued` statement takes.
pub(super) fn keys_as_json(rows: &[&Row]) -> String {
    rows.iter().map(|row| row.key.as_str()).collect::<serde_json::Value>().to_string()
}

/// From now, or since 1970.
fn millis_of(moment: Option<Moment>) -> (Option<u64>, Option<i64>) {
    match moment {
        Some(Moment::After(time)) => (Some(millis(time)), None),
        Some(Moment::At(time)) => {
            let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
            (None, Some(i64::try_from(since.as_millis()).unwrap_or(i64::MAX)))
        }
        None => (None, None),
    }
}

fn object(headers: &BTreeMap<String, String>) -> Result<Option<String>, InvalidMessage> {
    if headers.is_empty() {
        return Ok(None);
    }
    serde_json::to_string(headers).map(Some).map_err(|error| InvalidMessage::new("headers", error.to_string()))
}
