//! The rows that the statements of every dialect return, under the same column names.

use std::collections::BTreeMap;
use std::time::Duration;

use outbox_schema::MessageId;

use crate::Message;
use crate::destination::{DestinationState, PauseKind, Ramp};
use crate::store::Decided;
use crate::store::lossy::Lossy;

/// A row of a claim, and its place in the claim.
#[derive(Debug, sqlx::FromRow)]
pub(crate) struct ReadRow {
    place: i64,
    #[sqlx(flatten)]
    message: Message,
}

impl ReadRow {
    /// The messages, in the order in which they were claimed.
    pub(crate) fn in_order(mut rows: Vec<Self>) -> Vec<Message> {
        rows.sort_unstable_by_key(|row| row.place);
        rows.into_iter().map(|row| row.message).collect()
    }
}

/// Counts how often each channel occurs.
pub(crate) fn by_channel(channels: impl Iterator<Item = String>) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for channel in channels {
        *counts.entry(channel).or_default() += 1;
    }
    counts
}

/// A row whose claim waits for its settling time.
#[derive(Debug, sqlx::FromRow)]
pub(crate) struct UnsettledRow {
    id: i64,
    settles_in_ms: i64,
}

impl UnsettledRow {
    /// The rows, and the time until the first of their claims can be settled.
    pub(crate) fn split(rows: &[Self]) -> (Vec<MessageId>, Option<Duration>) {
        let next = rows.iter().map(|row| duration(row.settles_in_ms)).min();
        (rows.iter().map(|row| MessageId(row.id)).collect(), next)
    }
}

/// A row that was in doubt.
#[derive(Debug, sqlx::FromRow)]
pub(crate) struct DecidedRow {
    message_id: i64,
    #[sqlx(try_from = "Lossy<String>")]
    destination: String,
    crashed: bool,
    resend: bool,
}

impl From<DecidedRow> for Decided {
    fn from(row: DecidedRow) -> Self {
        let DecidedRow { message_id, destination, crashed, resend } = row;
        Self { id: MessageId(message_id), destination, crashed, resend }
    }
}

/// The state of a destination that a new term must know.
#[derive(Debug, sqlx::FromRow)]
pub(crate) struct DestinationRow {
    destination: String,
    pause_kind: Option<String>,
    paused_ms: Option<i64>,
    failures: i32,
    aside_ms: Option<i64>,
    ramp_ms: Option<i64>,
    unused_ms: Option<i64>,
}

impl From<DestinationRow> for DestinationState {
    fn from(row: DestinationRow) -> Self {
        let ramp = row.ramp_ms.zip(row.unused_ms);
        Self {
            destination: row.destination,
            pause: pause_of(row.pause_kind.as_deref(), row.paused_ms),
            failures: row.failures.try_into().unwrap_or(0),
            aside: duration(row.aside_ms.unwrap_or(0)),
            ramp: ramp.map(|(rising, unused)| Ramp { rising_for: duration(rising), unused_for: duration(unused) }),
        }
    }
}

/// What holds a destination, and the time until that ends. A breaker holds it until it is closed.
pub(crate) fn pause_of(kind: Option<&str>, paused_ms: Option<i64>) -> Option<(PauseKind, Duration)> {
    let pause = (PauseKind::of(kind), duration(paused_ms.unwrap_or(0)));
    Some(pause).filter(|(kind, remaining)| *kind == PauseKind::Breaker || !remaining.is_zero())
}

/// A duration from milliseconds of a database. A negative number is zero.
fn duration(millis: i64) -> Duration {
    Duration::from_millis(u64::try_from(millis).unwrap_or(0))
}
