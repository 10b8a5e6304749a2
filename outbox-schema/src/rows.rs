//! The rows that the statements of every dialect return, under the same column names.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::claim::Place;
use crate::store::Decided;
use crate::{Claimed, Message, MessageId, Pause, WalkStart};

/// A row that a claim met: claimed, or deferred out of its way.
#[derive(Debug, sqlx::FromRow)]
pub(crate) struct ClaimedRow {
    pub(crate) claimed: bool,
    pub(crate) priority: i16,
    /// `available_at`, or a second ago if that is earlier, in microseconds since 1970; none where it is no moment.
    pub(crate) start_us: Option<i64>,
    /// How many due rows the walk came by, the same in every row of a claim; where that is more than came back, some were
    /// left.
    pub(crate) seen: i32,
    #[sqlx(flatten)]
    pub(crate) message: Message,
}

impl ClaimedRow {
    /// What a claim brought whose walk began at `from`.
    pub(crate) fn split(rows: Vec<Self>, from: WalkStart) -> Claimed {
        let reached = Self::reached(&rows, from);
        let (claimed, met): (Vec<_>, Vec<_>) = rows.into_iter().partition(|row| row.claimed);
        Claimed {
            messages: claimed.into_iter().map(|row| row.message).collect(),
            deferred: by_channel(met.into_iter().map(|row| row.message.channel)),
            reached,
        }
    }

    /// Behind the last claimed row of each priority. Heads of ordering keys are found in another way.
    fn reached(rows: &[Self], from: WalkStart) -> Option<WalkStart> {
        if rows.iter().any(|row| usize::try_from(row.seen).is_ok_and(|seen| seen > rows.len())) {
            return None;
        }
        let mut start = from;
        for row in rows.iter().filter(|row| row.claimed) {
            if let (Some(us), None) = (row.start_us, &row.message.ordering_key) {
                start.pass(row.priority, Place { us, id: row.message.id });
            }
        }
        Some(start)
    }

    /// The rows among `rows` that are to be moved out of the way.
    pub(crate) fn met(rows: &[Self]) -> Met {
        let met = rows.iter().filter(|row| !row.claimed).map(|row| &row.message);
        met.map(|message| (message.id, message.channel.clone())).collect()
    }
}

/// Rows in the way of a claim, and the channel of each.
pub(crate) type Met = BTreeMap<i64, String>;

/// How often each channel is named.
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
    /// The rows, and when the first of their claims can be settled.
    pub(crate) fn split(rows: &[Self]) -> (Vec<MessageId>, Option<Duration>) {
        let next = rows.iter().map(|row| duration(row.settles_in_ms)).min();
        (rows.iter().map(|row| MessageId(row.id)).collect(), next)
    }
}

/// A row that was in doubt.
#[derive(Debug, sqlx::FromRow)]
pub(crate) struct DecidedRow {
    message_id: i64,
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

/// A destination whose pause is not over.
#[derive(Debug, sqlx::FromRow)]
pub(crate) struct PausedRow {
    destination: String,
    remaining_ms: i64,
}

impl From<PausedRow> for Pause {
    fn from(row: PausedRow) -> Self {
        Self { destination: row.destination, remaining: duration(row.remaining_ms) }
    }
}

/// Milliseconds as a database counts them; the past is zero.
fn duration(millis: i64) -> Duration {
    Duration::from_millis(u64::try_from(millis).unwrap_or(0))
}
