//! The result of a claim. The PostgreSQL function decides what there is room for, and returns the rows that it took and
//! those that it met.

use crate::claim::{PRIORITIES, Place};
use crate::store::rows::by_channel;
use crate::{Claimed, Message, WalkStart};

/// A row that a claim met: `claimed`, `deferred` since it was in the way, or the first of its priority that was `left`. Or a
/// stranger, `asked` about.
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

    /// The result of a claim of `limit` rows at most, whose walk began at `from`.
    pub(super) fn split(mut rows: Vec<Self>, from: WalkStart, limit: u32) -> Claimed {
        if rows.iter().any(|row| row.came_by == "asked") {
            let asked = rows.into_iter().map(|row| row.message.destination).collect();
            return Claimed { asked, ..Claimed::default() };
        }
        let left: Vec<_> = rows.extract_if(.., |row| row.came_by == "left").collect();
        rows.sort_by_key(|row| row.place);
        let reached = Self::reached(&rows, &left, from);
        let took_all = left.is_empty() && rows.iter().all(|row| row.complete) && rows.len() < limit as usize;
        let (claimed, met): (Vec<_>, Vec<_>) = rows.into_iter().partition(Self::is_claimed);
        Claimed {
            messages: claimed.into_iter().map(|row| row.message).collect(),
            deferred: by_channel(met.into_iter().map(|row| row.message.channel)),
            reached,
            asked: Vec::new(),
            took_all,
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
