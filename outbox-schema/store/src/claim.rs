//! Claims: the committed record, made before any send, that a term may send these rows.

use std::time::Duration;

use crate::store::Header;
use crate::{InDoubtPolicy, OutcomeTarget};

/// What the store must know about a configured channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChannelTerms {
    /// The channel's name, as rows say it.
    pub name: String,
    /// The longest a request of this channel may take.
    pub timeout: Duration,
    /// Attempts of a row of this channel that has no number of its own.
    pub max_attempts: u32,
    /// What becomes of a row of this channel that is in doubt.
    pub in_doubt: InDoubtPolicy,
    /// What a dead letter of this channel means for later messages of its ordering key.
    pub on_dead_ordered: OnDeadOrdered,
    /// The largest message, in bytes of payload, target and headers. A larger one is claimed without being read.
    pub max_message_bytes: u64,
    /// Where a dead letter of this channel is told.
    pub on_dead: Option<OutcomeTarget>,
}

/// What becomes of the messages behind a dead letter in its ordering key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum OnDeadOrdered {
    /// The next message goes out.
    #[default]
    Continue,
    /// The messages wait until the dead letter is redriven or purged. A cancelled letter halts nothing: whoever
    /// cancelled it decided that.
    Halt,
}

/// The priorities that a row can have: 0 to 3.
const PRIORITIES: usize = 4;

/// Where a look over the due rows begins: for each priority, behind a row that was shown, else at the oldest due row.
///
/// The start is a hint. While a snapshot is open, the database keeps index entries of finished rows where a look would
/// begin; a start lets the look skip them. Rows can become due before the start: transactions commit in another order
/// than they began, letters are redriven, pauses end. So the start alone never shows that no row is due.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WalkStart([Option<Place>; PRIORITIES]);

/// Where a row lies among the due rows of its priority.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    /// `available_at` in microseconds since 1970.
    pub(crate) us: i64,
    pub(crate) id: i64,
}

impl WalkStart {
    /// Behind the row `id` of that priority, due since `us` microseconds after 1970. For other priorities, at the
    /// beginning.
    pub fn behind(priority: i16, us: i64, id: i64) -> Self {
        let mut start = Self::default();
        start.pass(priority, Place { us, id });
        start
    }

    /// Whether the look begins at the oldest due row of every priority.
    pub fn is_beginning(&self) -> bool {
        *self == Self::default()
    }

    /// Whether a look that begins here shows this row: it lies behind the start.
    pub fn is_before(&self, priority: i16, us: i64, id: i64) -> bool {
        let start = usize::try_from(priority).ok().and_then(|priority| self.0.get(priority));
        start.is_none_or(|start| *start < Some(Place { us, id }))
    }

    /// This start. For a priority that it leaves open, the start of `earlier`.
    #[must_use]
    pub fn or(self, earlier: Self) -> Self {
        Self(std::array::from_fn(|priority| self.0[priority].or(earlier.0[priority])))
    }

    /// Moves the start behind the row of that header, unless it is further on already.
    pub fn pass_header(&mut self, header: &Header) {
        self.pass(header.priority.into(), Place { us: header.at, id: header.id.0 });
    }

    /// This start, but no later than so long before the last of its places.
    #[must_use]
    pub fn no_later_than_before_last(self, moment: Duration) -> Self {
        let Some(last) = self.0.iter().flatten().map(|place| place.us).max() else { return self };
        let moment = i64::try_from(moment.as_micros()).unwrap_or(i64::MAX);
        let limit = Place { us: last.saturating_sub(moment), id: 0 };
        Self(self.0.map(|place| place.map(|place| place.min(limit))))
    }

    /// Moves the start behind that row, unless it is further on already.
    pub(crate) fn pass(&mut self, priority: i16, place: Place) {
        if let Some(start) = usize::try_from(priority).ok().and_then(|priority| self.0.get_mut(priority)) {
            *start = (*start).max(Some(place));
        }
    }

    /// The places, one for each priority, the lowest first.
    pub(crate) fn places(&self) -> [Option<Place>; PRIORITIES] {
        self.0
    }
}
