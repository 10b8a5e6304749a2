//! The rows that the statements of every dialect return, under the same column names.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::claim::{PRIORITIES, Place};
use crate::destination::{DestinationState, PauseKind, Ramp};
use crate::lossy::Lossy;
use crate::store::Decided;
use crate::{Claimed, Message, MessageId, WalkStart};

/// A row that a claim met: claimed, or deferred out of its way.
#[derive(Debug, sqlx::FromRow)]
pub(crate) struct ClaimedRow {
    pub(crate) claimed: bool,
    pub(crate) priority: i16,
    /// `available_at`, or a second ago if that is earlier, in microseconds since 1970; none where it is no moment.
    pub(crate) start_us: Option<i64>,
    /// Whether its claim took all that the walk came by: then nobody asks for its place there. PostgreSQL alone says so, and
    /// is spared counting.
    #[sqlx(default)]
    pub(crate) complete: bool,
    /// Its place among the due rows of its priority that the walk came by, from 1; none where that is not known.
    pub(crate) nth: Option<i32>,
    /// Its place in the claim, where the rows come in another order.
    #[sqlx(default)]
    pub(crate) place: Option<i64>,
    #[sqlx(flatten)]
    pub(crate) message: Message,
}

impl ClaimedRow {
    /// What a claim brought whose walk began at `from`.
    pub(crate) fn split(mut rows: Vec<Self>, from: WalkStart) -> Claimed {
        rows.sort_by_key(|row| row.place);
        let reached = Self::reached(&rows, from);
        let (claimed, met): (Vec<_>, Vec<_>) = rows.into_iter().partition(|row| row.claimed);
        Claimed {
            messages: claimed.into_iter().map(|row| row.message).collect(),
            deferred: by_channel(met.into_iter().map(|row| row.message.channel)),
            reached,
        }
    }

    /// The id, revision and channel of each row that is claimed.
    pub(crate) fn claimed(rows: &[Self]) -> impl Iterator<Item = (i64, i32, &str)> {
        let claimed = rows.iter().filter(|row| row.claimed).map(|row| &row.message);
        claimed.map(|message| (message.id, message.revision, message.channel.as_str()))
    }

    /// Behind the last row of each priority before which none was left. Heads of ordering keys are found in another way.
    fn reached(rows: &[Self], from: WalkStart) -> Option<WalkStart> {
        let unknown = |row: &Self| !row.complete && row.nth.is_none() && row.message.ordering_key.is_none();
        if rows.iter().any(|row| !row.claimed || unknown(row)) {
            return None;
        }
        let mut start = from;
        let mut next = [1; PRIORITIES];
        for row in rows {
            let next = usize::try_from(row.priority).ok().and_then(|priority| next.get_mut(priority));
            let Some(next) = next.filter(|next| row.complete || row.nth == Some(**next)) else { continue };
            *next += 1;
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

/// A destination of which a new term must know.
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
        let pause = (PauseKind::of(row.pause_kind.as_deref()), duration(row.paused_ms.unwrap_or(0)));
        let ramp = row.ramp_ms.zip(row.unused_ms);
        Self {
            destination: row.destination,
            pause: Some(pause).filter(|(kind, remaining)| *kind == PauseKind::Breaker || !remaining.is_zero()),
            failures: row.failures.try_into().unwrap_or(0),
            aside: duration(row.aside_ms.unwrap_or(0)),
            ramp: ramp.map(|(rising, unused)| Ramp { rising_for: duration(rising), unused_for: duration(unused) }),
        }
    }
}

/// Milliseconds as a database counts them; the past is zero.
fn duration(millis: i64) -> Duration {
    Duration::from_millis(u64::try_from(millis).unwrap_or(0))
}
