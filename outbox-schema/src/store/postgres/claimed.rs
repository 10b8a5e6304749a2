//! The result of a claim. The PostgreSQL function decides what there is room for, and returns the rows that it took and
//! those that it met.

use std::collections::HashSet;

use crate::claim::{Found, PRIORITIES, Place};
use crate::store::fitting::{DueRow, Fitting};
use crate::store::rows::by_channel;
use crate::{ClaimRequest, Claimed, Message, MessageId, OrderingKey, WalkStart};

/// A row that a claim met: `claimed`, `deferred` since it was in the way, or the first of its priority that was `left`. Or one of all
/// that were found, where strangers are `asked` about. One that was `left` and has an ordering key says only that: it is the first
/// key that the claim did not look at.
#[derive(Debug, sqlx::FromRow)]
pub(super) struct ClaimedRow {
    came_by: String,
    priority: i16,
    /// `available_at`, or a second ago if that is earlier, in microseconds since 1970. None where it is no time of the
    /// calendar.
    start_us: Option<i64>,
    /// Whether the claim took all rows that the walk met. Then the place of a row among them is not needed.
    complete: bool,
    /// The row's place among the due rows of its priority that the walk met, from 1. None where that is not known.
    nth: Option<i32>,
    /// The row's place in the claim. The rows arrive in another order.
    place: Option<i64>,
    #[sqlx(flatten)]
    message: Message,
}

impl ClaimedRow {
    /// What the row says, to be read by itself.
    pub(super) fn message(&mut self) -> &mut Message {
        &mut self.message
    }

    pub(super) fn is_claimed(&self) -> bool {
        self.came_by == "claimed"
    }

    /// The result of a claim.
    pub(super) fn split(mut rows: Vec<Self>, request: &ClaimRequest<'_>) -> Claimed {
        rows.sort_by_key(|row| row.place);
        let keys_left = rows.extract_if(.., |row| row.came_by == "left" && row.message.ordering_key.is_some()).last();
        let keys_left = keys_left.and_then(Self::ordering_key);
        if rows.iter().any(|row| row.came_by == "asked") {
            return Claimed { keys_left, ..Self::asked(rows, request) };
        }
        let (from, limit) = (request.from, request.limit);
        let left: Vec<_> = rows.extract_if(.., |row| row.came_by == "left").collect();
        let reached = Self::reached(&rows, &left, from);
        let took_all = left.is_empty() && rows.iter().all(|row| row.complete) && rows.len() < limit as usize;
        let (claimed, met): (Vec<_>, Vec<_>) = rows.into_iter().partition(Self::is_claimed);
        Claimed {
            messages: claimed.into_iter().map(|row| row.message).collect(),
            deferred: by_channel(met.into_iter().map(|row| row.message.channel)),
            reached,
            took_all,
            keys_left,
            ..Claimed::default()
        }
    }

    fn ordering_key(self) -> Option<OrderingKey> {
        let Message { channel, ordering_key, .. } = self.message;
        ordering_key.map(|ordering_key| OrderingKey { channel, ordering_key })
    }

    /// The result of a claim that took these rows of the `chosen`.
    pub(super) fn chosen(mut rows: Vec<Self>, chosen: Fitting) -> Claimed {
        rows.sort_by_key(|row| row.place);
        let all = rows.len() == chosen.taken.len();
        let held = if rows.is_empty() { chosen.taken } else { Vec::new() };
        Claimed {
            held: held.into_iter().map(|row| MessageId(row.id)).collect(),
            messages: rows.into_iter().map(|row| row.message).collect(),
            reached: chosen.reached.filter(|_| all),
            asked: chosen.asked,
            found: chosen.found,
            took_all: chosen.took_all && all,
            ..Claimed::default()
        }
    }

    /// What a claim asks about, and what it found.
    fn asked(rows: Vec<Self>, request: &ClaimRequest<'_>) -> Claimed {
        let channels: HashSet<&str> = request.channels.iter().map(|terms| terms.name.as_str()).collect();
        let said: HashSet<&str> = request.rooms.iter().map(|room| room.destination.as_str()).collect();
        let strangers = rows
            .iter()
            .map(|row| &row.message)
            .filter(|row| channels.contains(row.channel.as_str()) && !said.contains(row.destination.as_str()));
        let asked: HashSet<String> = strangers.map(|row| row.destination.clone()).collect();
        let found = rows.into_iter().map(Self::found).collect();
        Claimed { asked: asked.into_iter().collect(), found: Found(found), ..Claimed::default() }
    }

    fn found(self) -> DueRow {
        let Self { message, priority, start_us, nth, .. } = self;
        DueRow {
            id: message.id,
            revision: message.revision,
            channel: message.channel,
            destination: message.destination,
            bytes: message.bytes,
            priority,
            ordered: message.ordering_key.is_some(),
            start_us,
            place: nth.and_then(|nth| usize::try_from(nth).ok()),
        }
    }

    /// For each priority, the last place before which no row was left. The heads of ordering keys are found in another
    /// way.
    fn reached(rows: &[Self], left: &[Self], from: WalkStart) -> Option<WalkStart> {
        // Where tenants take turns, some rows come from beside the walk, and the others in another order.
        let walked = |row: &&Self| row.complete || row.nth.is_some() || row.message.ordering_key.is_some();
        let mut in_order: Vec<&Self> = rows.iter().filter(walked).collect();
        if rows.iter().any(|row| !row.is_claimed()) || (in_order.is_empty() && left.is_empty() && !rows.is_empty()) {
            return None;
        }
        in_order.sort_by_key(|row| row.nth);
        let mut start = from;
        let mut next = [1; PRIORITIES];
        for row in in_order {
            let next = usize::try_from(row.priority).ok().and_then(|priority| next.get_mut(priority));
            let Some(next) = next.filter(|next| row.complete || row.nth == Some(**next)) else { continue };
            *next += 1;
            if let (Some(us), None) = (row.start_us, &row.message.ordering_key) {
                start.pass(row.priority, Place { us, id: row.message.id });
            }
        }
        for row in left {
            if let Some(us) = row.start_us {
                start.stop_before(row.priority, Place { us, id: row.message.id });
            }
        }
        Some(start)
    }
}
