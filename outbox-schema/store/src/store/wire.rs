//! The parameters of statements as JSON text, which every dialect unfolds into rows.

use std::borrow::Cow;
use std::collections::HashMap;
use std::time::Duration;

use outbox_schema::MessageId;
use outbox_schema::enqueue::millis;
use serde::Serialize;
use uuid::Uuid;

use crate::fingerprint::error_hash;
use crate::{ChannelTerms, InDoubtPolicy, Mark, OnDeadOrdered, OutcomeTarget, PauseKind, Status, StoreError, Verdict};

/// The longest error or excerpt that is kept, in bytes of UTF-8.
const TEXT_BYTES: usize = 4096;

/// One mark, flat.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct MarkRow<'a> {
    pub(crate) claim: Uuid,
    pub(crate) id: i64,
    pub(crate) revision: i32,
    pub(crate) status: &'static str,
    /// Where the outcome is told. It is no part of the mark's own statement.
    #[serde(skip)]
    pub(crate) told: Option<&'a OutcomeTarget>,
    /// 1 where the mark counts an attempt.
    counted: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) dead_reason: Option<&'static str>,
    /// When the row is due, from now. Absent where that does not change.
    #[serde(skip_serializing_if = "Option::is_none")]
    after_ms: Option<u64>,
    /// How long the next attempt waits for an answer. Absent where that does not change.
    #[serde(skip_serializing_if = "Option::is_none")]
    deadline_ms: Option<u64>,
    deferred: bool,
    /// From when the row may be tried again, whichever side is at fault. Only where an attempt was made and is not
    /// counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    spared_ms: Option<u64>,
    /// The destination or channel that the mark pauses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) paused: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    paused_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pause_kind: Option<&'static str>,
    pub(crate) invalid_target: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) receipt: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) status_code: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<Cow<'a, str>>,
    /// The hash of the error, where the mark makes a dead letter.
    #[serde(skip_serializing_if = "Option::is_none")]
    error_hash: Option<String>,
    /// Whether the attempt is appended to `outbox_attempt` when the mark is accepted.
    pub(crate) record: bool,
    number: u32,
    epoch: i64,
    holder: &'a str,
    /// How long ago the attempt began.
    pub(crate) started_ms: u64,
    duration_ms: u64,
    outcome: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    excerpt: Option<Cow<'a, str>>,
}

/// The mark of a plain delivery, as most marks are. The database searches the whole object for each field, so a few
/// short fields cost a fraction.
#[derive(Debug, Serialize)]
pub(crate) struct DeliveryRow<'a> {
    id: i64,
    revision: i32,
    started_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    status_code: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    receipt: Option<&'a str>,
}

impl<'a> DeliveryRow<'a> {
    pub(crate) fn all(marks: &[&'a MarkRow<'_>]) -> Vec<Self> {
        let lean = |mark: &&'a MarkRow<'_>| Self {
            id: mark.id,
            revision: mark.revision,
            started_ms: mark.started_ms,
            status_code: mark.status_code,
            receipt: mark.receipt.as_deref(),
        };
        marks.iter().map(lean).collect()
    }
}

/// A configured channel, flat.
#[derive(Debug, Serialize)]
pub(crate) struct ChannelRow<'a> {
    name: &'a str,
    max_attempts: u32,
    /// Whether a row in doubt is sent again.
    resend: bool,
    /// Whether a dead letter halts its ordering key.
    halt: bool,
    max_message_bytes: u64,
}

impl<'a> ChannelRow<'a> {
    pub(crate) fn all(channels: &'a [ChannelTerms]) -> Vec<Self> {
        let flat = |channel: &'a ChannelTerms| Self {
            name: &channel.name,
            max_attempts: channel.max_attempts,
            resend: channel.in_doubt == InDoubtPolicy::Resend,
            halt: channel.on_dead_ordered == OnDeadOrdered::Halt,
            max_message_bytes: channel.max_message_bytes,
        };
        channels.iter().map(flat).collect()
    }
}

/// One argument of a statement.
pub(crate) fn as_json<T: Serialize + ?Sized>(doing: &'static str, value: &T) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|source| StoreError::Refused { doing, source: source.into() })
}

/// The list of messages for a statement.
pub fn ids_as_json(ids: &[MessageId]) -> String {
    ids.iter().map(|id| id.0).collect::<serde_json::Value>().to_string()
}

impl<'a> MarkRow<'a> {
    /// The rows of all marks, in the order in which rows are locked.
    pub(crate) fn all(marks: &'a [Mark]) -> Vec<Self> {
        let mut rows: Vec<_> = marks.iter().map(Self::of).collect();
        rows.sort_unstable_by_key(|row| row.id);
        merge_pauses(&mut rows);
        rows
    }

    /// Whether this is the mark of a delivery, which needs only a few of the fields.
    pub(crate) fn is_delivery(&self) -> bool {
        self.status == Status::Success.as_str() && self.paused.is_none()
    }

    /// Whether this is the mark of a delivery that leaves nothing but the row as it is then.
    pub(crate) fn is_plain(&self) -> bool {
        self.is_delivery() && !self.record
    }

    /// The same attempt, in the form that is recorded where the mark of a delivery was fenced.
    pub(crate) fn fenced_delivery(&self) -> Self {
        Self { outcome: "delivered_fenced", ..self.clone() }
    }

    fn of(mark: &'a Mark) -> Self {
        let verdict = &mark.verdict;
        let (status, counted, dead_reason, after) = match verdict {
            Verdict::Success { .. } => (Status::Success, true, None, None),
            Verdict::Retry { after } => (Status::Pending, true, None, Some(*after)),
            Verdict::Dead { reason, attempted, .. } => (Status::Dead, *attempted, Some(reason.as_str()), None),
            Verdict::Deferred { after } | Verdict::Spared { after, .. } => (Status::Pending, false, None, Some(*after)),
            Verdict::Unsent => (Status::Pending, false, None, None),
        };
        let pause = mark.pause.as_ref();
        let receipt = match verdict {
            Verdict::Success { receipt } => receipt.as_deref().map(storable),
            Verdict::Retry { .. }
            | Verdict::Dead { .. }
            | Verdict::Deferred { .. }
            | Verdict::Spared { .. }
            | Verdict::Unsent => None,
        };
        let spared_ms = match verdict {
            Verdict::Spared { at_least, .. } => Some(millis(*at_least)),
            Verdict::Success { .. }
            | Verdict::Retry { .. }
            | Verdict::Dead { .. }
            | Verdict::Deferred { .. }
            | Verdict::Unsent => None,
        };
        Self {
            claim: mark.claim.0,
            id: mark.id.0,
            revision: mark.revision.0,
            status: status.as_str(),
            told: mark.told.as_ref(),
            counted: counted.into(),
            dead_reason,
            after_ms: after.map(millis),
            deadline_ms: mark.deadline.map(millis),
            deferred: matches!(verdict, Verdict::Deferred { .. } | Verdict::Spared { .. }),
            spared_ms,
            paused: pause.map(|pause| pause.destination.as_str()),
            paused_ms: pause.map(|pause| millis(pause.remaining)),
            pause_kind: pause.map(|pause| pause.kind.as_str()),
            invalid_target: matches!(verdict, Verdict::Dead { invalid_target: true, .. }),
            receipt,
            status_code: mark.status_code,
            error: mark.error.as_deref().map(storable),
            error_hash: dead_reason.and(mark.error.as_deref()).map(|error| error_hash(&storable(error))),
            record: match verdict {
                Verdict::Success { .. } => mark.attempt.kept,
                Verdict::Unsent => false,
                Verdict::Retry { .. } | Verdict::Dead { .. } | Verdict::Deferred { .. } | Verdict::Spared { .. } => {
                    true
                }
            },
            number: mark.attempt.number,
            epoch: mark.attempt.epoch.0,
            holder: mark.attempt.holder.as_str(),
            started_ms: millis(mark.attempt.started.elapsed()),
            duration_ms: millis(mark.attempt.duration),
            outcome: mark.attempt.outcome,
            excerpt: mark.attempt.excerpt.as_deref().map(storable),
        }
    }
}

/// Leaves each destination one pause, the one that ends last. Of two that end together, the one that holds more stays.
/// Where one of them is a breaker's, the remaining pause becomes a breaker's. Otherwise no poller would try the
/// destination carefully.
fn merge_pauses(rows: &mut [MarkRow<'_>]) {
    let breaker = Some(PauseKind::Breaker.as_str());
    let mut last: HashMap<&str, usize> = HashMap::new();
    for place in 0..rows.len() {
        let Some(destination) = rows[place].paused else { continue };
        let Some(before) = last.insert(destination, place) else { continue };
        let later = (rows[place].paused_ms, rows[place].pause_kind) > (rows[before].paused_ms, rows[before].pause_kind);
        let (stays, goes) = if later { (place, before) } else { (before, place) };
        if rows[goes].pause_kind == breaker {
            rows[stays].pause_kind = breaker;
        }
        (rows[goes].paused, rows[goes].paused_ms, rows[goes].pause_kind) = (None, None, None);
        last.insert(destination, stays);
    }
}

/// The same as the signed number that statements take.
pub fn millis_i64(duration: Duration) -> i64 {
    i64::try_from(millis(duration)).unwrap_or(i64::MAX)
}

/// A text from outside, in a form that every database takes: without NUL and other control characters but newline and
/// tab, and of bounded length.
pub fn storable(text: &str) -> Cow<'_, str> {
    let unfit = |c: char| c.is_control() && c != '\n' && c != '\t';
    let cut = &text[..text.floor_char_boundary(TEXT_BYTES)];
    if !cut.contains(unfit) {
        return cut.into();
    }
    // The replacement takes more bytes than the replaced character.
    let mut fit = cut.replace(unfit, "\u{fffd}");
    fit.truncate(fit.floor_char_boundary(TEXT_BYTES));
    fit.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_from_outside_loses_what_a_database_refuses_and_keeps_the_rest() {
        assert_eq!(storable("plain\ntext"), "plain\ntext");
        assert_eq!(storable("a\0b\u{1b}c"), "a\u{fffd}b\u{fffd}c");
        assert!(storable(&"ü".repeat(TEXT_BYTES)).len() <= TEXT_BYTES);
        assert!(storable(&"\0".repeat(TEXT_BYTES)).len() <= TEXT_BYTES);
    }

    #[test]
    fn an_endless_duration_fits_into_a_column() {
        assert!(millis_i64(Duration::MAX) > 0);
    }
}
