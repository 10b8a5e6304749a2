//! An outbox in memory, for the simulation: rows, and what looks, claims and marks do with them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use outbox_schema::MessageId;
use outbox_store::{Header, Lane, LaneLook, Revision, WalkStart};

/// Numbers that only look like chance: the same for the same seed.
#[derive(Debug)]
pub(super) struct Chance(pub(super) u64);

impl Chance {
    pub(super) fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % end
    }

    pub(super) fn one_in(&mut self, end: u64) -> bool {
        self.below(end) == 0
    }

    pub(super) fn pick<T: Copy>(&mut self, of: &[T]) -> Option<T> {
        of.get(usize::try_from(self.below(of.len().max(1) as u64)).ok()?).copied()
    }
}

#[derive(Debug, Clone)]
pub(super) struct Row {
    pub(super) header: Header,
    pub(super) committed: bool,
    pub(super) pending: bool,
}

/// The rows of an outbox, and what was claimed.
#[derive(Debug, Default)]
pub(super) struct Store {
    pub(super) rows: BTreeMap<i64, Row>,
    /// Every row and revision that was ever claimed.
    claimed: BTreeSet<(i64, i32)>,
    pub(super) now: i64,
}

impl Store {
    /// An application writes a row, which is committed now or later.
    pub(super) fn write(&mut self, chance: &mut Chance) {
        let id = i64::try_from(self.rows.len()).expect("few rows") + 1;
        let tenant = format!("t{}", chance.below(1 + chance.0 % 6));
        let own: Arc<str> = format!("d{}", chance.below(6)).into();
        let key = chance.one_in(4).then(|| format!("k{}", chance.below(3)).into());
        let header = Header {
            id: MessageId(id),
            revision: Revision(0),
            priority: u8::try_from(chance.below(5) / 4).expect("0 or 1"),
            at: self.now + if chance.one_in(10) { 50_000 } else { 0 },
            lane: Lane { channel: ["http", "mail"][usize::from(chance.one_in(4))].into(), tenant: tenant.into() },
            destination: own,
            key,
            bytes: if chance.one_in(12) { 1500 } else { 50 + chance.below(150) },
        };
        self.rows.insert(id, Row { header, committed: !chance.one_in(8), pending: true });
    }

    fn is_due(&self, row: &Row) -> bool {
        row.committed && row.pending && row.header.at <= self.now
    }

    /// Headers of due rows without a key, behind a place, in the order of a look: so many of each priority.
    pub(super) fn look(&self, behind: WalkStart, limit: usize, of: impl Fn(&Header) -> bool) -> Vec<Header> {
        let due = self.rows.values().filter(|row| self.is_due(row)).map(|row| &row.header);
        let mut due: Vec<Header> = due
            .filter(|row| row.key.is_none() && of(row) && behind.is_before(row.priority.into(), row.at, row.id.0))
            .cloned()
            .collect();
        due.sort_by_key(|row| (u8::MAX - row.priority, row.at, row.id));
        let mut found = BTreeMap::new();
        due.retain(|row| {
            let found: &mut usize = found.entry(row.priority).or_default();
            *found += 1;
            *found <= limit
        });
        due
    }

    pub(super) fn look_at_lanes(&self, lanes: &[LaneLook], limit: usize) -> Vec<Header> {
        lanes.iter().flat_map(|look| self.look(look.behind, limit, |row| row.lane == look.lane)).collect()
    }

    /// The first rows of some lanes behind that one, and where to go on.
    pub(super) fn next_lanes(&self, from: Option<&Lane>, lanes: usize, each: usize) -> (Vec<Header>, Option<Lane>) {
        let due = self.rows.values().filter(|row| self.is_due(row) && row.header.key.is_none());
        let all: BTreeSet<&Lane> = due.map(|row| &row.header.lane).collect();
        let next: Vec<&Lane> =
            all.into_iter().filter(|lane| from.is_none_or(|from| *lane > from)).take(lanes).collect();
        let last = (next.len() == lanes).then(|| next[lanes - 1].clone());
        (
            next.into_iter().flat_map(|lane| self.look(WalkStart::default(), each, |row| row.lane == *lane)).collect(),
            last,
        )
    }

    /// The first rows of all keys, as far as they are due.
    pub(super) fn heads(&self, each: usize) -> Vec<Header> {
        let waiting = self.rows.values().filter(|row| row.committed && row.pending);
        let mut keys: BTreeMap<_, Vec<&Row>> = BTreeMap::new();
        for row in waiting {
            let Some(key) = &row.header.key else { continue };
            keys.entry((row.header.lane.channel.clone(), key.clone())).or_default().push(row);
        }
        let first = |rows: Vec<&Row>| -> Vec<Header> {
            rows.into_iter().take(each).take_while(|row| self.is_due(row)).map(|row| row.header.clone()).collect()
        };
        keys.into_values().flat_map(first).collect()
    }

    /// Claims these rows as far as they still are as they were seen.
    pub(super) fn claim(&mut self, rows: &[Header]) -> Vec<Header> {
        let fits = |seen: &&Header| {
            let row = &self.rows[&seen.id.0];
            let same_key = |other: &&Row| {
                other.committed
                    && other.pending
                    && other.header.lane.channel == seen.lane.channel
                    && other.header.key == seen.key
            };
            let is_first =
                seen.key.is_none() || self.rows.values().find(same_key).is_some_and(|first| first.header.id == seen.id);
            self.is_due(row) && row.header.revision == seen.revision && is_first
        };
        let claimed: Vec<Header> = rows.iter().filter(fits).cloned().collect();
        for row in &claimed {
            assert!(self.claimed.insert((row.id.0, row.revision.0)), "{row:?} is in two claims at one revision");
        }
        claimed
    }

    /// A row is decided: the attempt at that revision was accepted, or is to be made again then.
    pub(super) fn mark(&mut self, id: MessageId, revision: Revision, again: Option<i64>) {
        let Some(row) = self.rows.get_mut(&id.0).filter(|row| row.header.revision == revision) else { return };
        row.header.revision.0 += 1;
        match again {
            Some(at) => row.header.at = at,
            None => row.pending = false,
        }
    }

    /// Somebody cancels a row, or edits it.
    pub(super) fn meddle(&mut self, chance: &mut Chance) {
        let pending: Vec<i64> =
            self.rows.iter().filter(|(_, row)| row.pending && row.committed).map(|(id, _)| *id).collect();
        let Some(row) = chance.pick(&pending).and_then(|id| self.rows.get_mut(&id)) else { return };
        row.header.revision.0 += 1;
        match chance.below(3) {
            0 => row.pending = false,
            1 => row.header.destination = format!("d{}", chance.below(6)).into(),
            _ => row.header.priority ^= 1,
        }
    }

    /// A transaction that began earlier is committed.
    pub(super) fn commit_late(&mut self, chance: &mut Chance) {
        let open: Vec<i64> = self.rows.iter().filter(|(_, row)| !row.committed).map(|(id, _)| *id).collect();
        if let Some(row) = chance.pick(&open).and_then(|id| self.rows.get_mut(&id)) {
            row.committed = true;
        }
    }
}
