//! The order in which tenants take turns. For dialects whose statements do not decide that themselves; PostgreSQL's is in
//! `outbox_turns`.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::store::fitting::{DueRow, Fitting};
use crate::store::lossy::Lossy;
use crate::{ClaimRequest, Turns};

/// How many tenants may be few: of each of these come as many rows as its share. Of each of more comes the first, and of so many
/// whose destinations have answered and have room, the share of these.
pub(crate) const FEW: usize = 16;

/// A claim does without a walk only beside fewer closed destinations.
const MOST_CLOSED: usize = 64;

/// How many of the newest rows are looked at beside the oldest.
pub(crate) const NEWEST: u32 = 64;

/// The parts of a claim: channels have equal ones, and the tenants of a channel have equal parts of that.
#[derive(Debug)]
pub(crate) struct Parts<C> {
    limit: usize,
    /// How many tenants each channel has.
    tenants: HashMap<C, usize>,
}

impl<C: Eq + Hash> Parts<C> {
    /// The parts of a claim of at most `limit` rows. `channels` has the channel of each tenant.
    pub(crate) fn of(limit: u32, channels: impl Iterator<Item = C>) -> Self {
        let mut tenants = HashMap::new();
        for channel in channels {
            *tenants.entry(channel).or_default() += 1;
        }
        Self { limit: limit as usize, tenants }
    }

    /// The rows of one tenant of this channel: at least one.
    pub(crate) fn of_tenant(&self, channel: &C) -> usize {
        self.share(self.tenants.get(channel).copied().unwrap_or(1))
    }

    /// The rows of a tenant of which no other has fewer.
    pub(crate) fn smallest(&self) -> usize {
        self.share(self.tenants.values().copied().max().unwrap_or(1))
    }

    fn share(&self, tenants: usize) -> usize {
        (self.limit / self.tenants.len().max(1) / tenants.max(1)).max(1)
    }
}

/// A due row, with whose turn it is.
#[derive(Debug, Clone, sqlx::FromRow)]
pub(crate) struct TurnRow {
    #[sqlx(flatten)]
    pub(crate) due: DueRow,
    /// The tenant of the row, or its destination.
    #[sqlx(try_from = "Lossy<String>")]
    pub(crate) tenant: String,
    /// `available_at` in a unit of the dialect.
    pub(crate) age: i64,
    /// MySQL: the number of the tenant.
    #[sqlx(default)]
    pub(crate) turn: Option<i64>,
}

/// Whether a claim may do without a walk. Beside ordering keys it may not: their heads come with the walk.
pub(crate) fn may_glance(request: &ClaimRequest<'_>) -> bool {
    request.found.is_none()
        && request.turns.is_some_and(|turns| turns.glance)
        && request.closed.len() < MOST_CLOSED
        && request.closed_channels.is_empty()
        && request.channels.iter().all(|channel| channel.fair)
}

/// How many rows of each of these tenants a claim without a walk reads. They are all that have something that waits. `room` is that of
/// a tenant which is a destination, as far as it is known: where it has none, it is passed over. None where the tenants are too many,
/// or one that has nobody to take turns with, or where none of them has room.
pub(crate) fn glance_shares<T>(
    tenants: Vec<T>,
    room: impl Fn(&T) -> Option<u32>,
    request: &ClaimRequest<'_>,
) -> Option<Vec<(T, usize)>> {
    if !(2..=2 * FEW).contains(&tenants.len()) {
        return None;
    }
    let rooms = tenants.into_iter().map(|tenant| (room(&tenant).unwrap_or(request.limit).min(request.limit), tenant));
    let shares: Vec<_> = rooms.filter(|(room, _)| *room > 0).map(|(room, tenant)| (tenant, room as usize)).collect();
    (1..=FEW).contains(&shares.len()).then_some(shares)
}

/// What a claim takes of these rows of few tenants, in the order of their turns; of each tenant no more than its share. None where it
/// cannot take as many as it may, or no tenant has more than that: then a walk must look for others.
pub(crate) fn glanced(
    mut rows: Vec<TurnRow>,
    share_of: impl Fn(&TurnRow) -> usize,
    request: &ClaimRequest<'_>,
) -> Option<Vec<DueRow>> {
    rows.sort_by_key(|row| (Reverse(row.due.priority), row.age, row.due.id));
    let (mut counts, mut some_left): (HashMap<_, usize>, _) = (HashMap::new(), false);
    rows.retain(|row| {
        let count = counts.entry((row.due.channel.clone(), row.tenant.clone())).or_default();
        *count += 1;
        some_left |= *count >= share_of(row);
        *count <= share_of(row)
    });
    let due = in_turn(rows, &[], &HashSet::new(), request);
    let most = due.len().min(request.limit as usize);
    let taken = Fitting::of(due, request, request.from).taken;
    (some_left && taken.len() == most).then_some(taken)
}

/// The tenants of which more than the first row is to come: one row of each, of all channels alike. They are not among those `walked`,
/// and send to destinations that have room.
pub(crate) fn open_tenants<'a>(
    rows: &'a [TurnRow],
    walked: &HashSet<i64>,
    request: &ClaimRequest<'_>,
) -> Vec<&'a TurnRow> {
    let rooms = request.rooms.iter().filter(|room| room.room > 0);
    let open: HashSet<&str> = rooms.map(|room| room.destination.as_str()).collect();
    let (mut met, mut of_channels) = (HashSet::new(), HashMap::new());
    let beside = rows.iter().filter(|row| !walked.contains(&row.due.id) && open.contains(row.due.destination.as_str()));
    let tenants = beside.filter(|row| met.insert((&row.due.channel, &row.tenant)));
    let mut in_turn: Vec<(usize, &TurnRow)> = tenants
        .map(|row| {
            let before = of_channels.entry(&row.due.channel).or_default();
            *before += 1;
            (*before, row)
        })
        .collect();
    in_turn.sort_by_key(|(of_channel, _)| *of_channel);
    in_turn.into_iter().map(|(_, row)| row).take(FEW).collect()
}

/// Puts rows into the order in which they are to go: channels take turns, and the tenants of a channel do. Within a tenant
/// order is by priority and age. The rows of a channel without turns count as those of one tenant. Rows that are not among
/// those `walked` are kept out of the start of the next walk. Those of `newest` go first in every other claim, the newest of all
/// before the others.
///
/// Which of two tenants goes first in a round is a matter of where turns begin, and so another one each time: not of their
/// priorities, since there may be room for one row only, whenever this is asked.
pub(crate) fn in_turn(
    mut rows: Vec<TurnRow>,
    walked: &[DueRow],
    newest: &HashSet<i64>,
    request: &ClaimRequest<'_>,
) -> Vec<DueRow> {
    let unfair: HashSet<_> = request.unfair().into_iter().collect();
    let from = request.turns.map_or(0, |turns| turns.from);
    let places: HashMap<i64, &DueRow> = walked.iter().map(|row| (row.id, row)).collect();
    for row in &mut rows {
        let walked = places.get(&row.due.id);
        row.due.place = walked.and_then(|walked| walked.place);
        row.due.ordered = walked.is_some_and(|walked| walked.ordered);
    }
    rows.sort_by_key(|row| (Reverse(row.due.priority), row.age, row.due.id));
    let mut of_tenants: HashMap<(String, Option<String>), u32> = HashMap::new();
    let mut ranked: Vec<(u32, Place, DueRow)> = rows
        .into_iter()
        .map(|TurnRow { due, tenant, age, .. }| {
            let goes_first = from % 2 == 1 && newest.contains(&due.id);
            let place = if goes_first { Place::Newest(Reverse(age)) } else { Place::Ring(behind(from, &tenant)) };
            let tenant = (!unfair.contains(due.channel.as_str())).then_some(tenant);
            let rank = of_tenants.entry((due.channel.clone(), tenant)).or_default();
            *rank += 1;
            (*rank, place, due)
        })
        .collect();
    ranked.sort_by_key(|(rank, place, _)| (*rank, *place));
    let mut of_channels: HashMap<String, u32> = HashMap::new();
    let mut turns: Vec<(u32, bool, u64, DueRow)> = ranked
        .into_iter()
        .map(|(_, place, due)| {
            let rank = of_channels.entry(due.channel.clone()).or_default();
            *rank += 1;
            (*rank, matches!(place, Place::Ring(_)), behind(from, &due.channel), due)
        })
        .collect();
    turns.sort_by_key(|(rank, late, place, _)| (*rank, *late, *place));
    turns.into_iter().map(|(.., due)| due).collect()
}

/// The place of a row among those of its round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    Newest(Reverse<i64>),
    /// How far its tenant lies behind the beginning of turns.
    Ring(u64),
}

/// How far a name lies behind a place on the ring.
fn behind(from: u64, name: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    hasher.finish().wrapping_sub(from) & Turns::LAST
}
