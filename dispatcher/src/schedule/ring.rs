//! Turns: which lane is next. Channels take turns, and within a channel its lanes.
//!
//! A lane that had nothing here goes before those that wait for their next turn: but after [`FRESH_IN_A_ROW`] of these one of the
//! others has its turn, so that none waits for ever. Where a channel has `fairness = "off"`, its lanes take no turns. Their messages
//! go by priority and time, as if they were one lane.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::lane::Rank;

/// So many lanes that had nothing go one after another while others wait.
const FRESH_IN_A_ROW: u32 = 8;

/// A place among the lanes of a channel.
pub(super) type Turn = Rank;

/// Whether it is among those with more than one message, and its place there.
pub(super) type StrangersTurn = (bool, u64);

/// A channel, and its lanes with something that can go.
#[derive(Debug)]
pub(super) struct Channel {
    pub(super) name: Arc<str>,
    /// Whether its lanes take turns.
    pub(super) fair: bool,
    lanes: BTreeMap<Turn, usize>,
    fresh_in_a_row: u32,
    /// Lanes with flows of strangers: those with one message here, and those with more.
    strange: [BTreeMap<u64, usize>; 2],
    strange_picks: usize,
}

/// Where a lane comes in among others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Entry {
    /// It had nothing here, or goes on with a turn for which it had to wait.
    Fresh,
    /// It goes on with a turn that was cut short.
    First,
    /// It had its turn.
    Last,
}

impl Entry {
    /// The place that this is, where `at` is higher with each.
    fn turn(self, at: u64) -> Turn {
        let at = i64::try_from(at).unwrap_or(i64::MAX);
        match self {
            Self::Fresh => (0, at, 0),
            Self::First => (1, -at, 0),
            Self::Last => (1, at, 0),
        }
    }
}

impl Channel {
    pub(super) fn new(name: Arc<str>, fair: bool) -> Self {
        Self { name, fair, lanes: BTreeMap::new(), fresh_in_a_row: 0, strange: Default::default(), strange_picks: 0 }
    }

    /// Whether no lane has anything that can go, but for strangers.
    pub(super) fn is_idle(&self) -> bool {
        self.lanes.is_empty()
    }

    /// Whether no lane has anything that can go to strangers.
    pub(super) fn has_no_strangers(&self) -> bool {
        self.strange.iter().all(BTreeMap::is_empty)
    }

    /// Gives a lane its place, which is that of its first message where lanes take no turns.
    pub(super) fn enter(&mut self, lane: usize, entry: Entry, first: Rank, at: u64) -> Turn {
        let turn = if self.fair { entry.turn(at) } else { first };
        self.lanes.insert(turn, lane);
        turn
    }

    /// Gives a lane back the place that it had.
    pub(super) fn give_back(&mut self, lane: usize, turn: Turn) {
        self.lanes.insert(turn, lane);
    }

    pub(super) fn leave(&mut self, turn: Turn) {
        self.lanes.remove(&turn);
    }

    /// Takes out the lane whose turn it is.
    pub(super) fn next(&mut self) -> Option<(Turn, usize)> {
        let fresh = self.fair && self.lanes.first_key_value().is_some_and(|(turn, _)| turn.0 == 0);
        if fresh && self.fresh_in_a_row >= FRESH_IN_A_ROW {
            self.fresh_in_a_row = 0;
            let (&turn, &lane) = self.lanes.range((1, i64::MIN, 0)..).next().or(self.lanes.first_key_value())?;
            self.lanes.remove(&turn);
            return Some((turn, lane));
        }
        self.fresh_in_a_row = if fresh { self.fresh_in_a_row + 1 } else { 0 };
        self.lanes.pop_first()
    }

    /// Gives a lane its place among those with flows of strangers.
    pub(super) fn enter_strange(&mut self, lane: usize, many: bool, at: u64) -> StrangersTurn {
        self.strange[usize::from(many)].insert(at, lane);
        (many, at)
    }

    pub(super) fn leave_strange(&mut self, (many, at): StrangersTurn) {
        self.strange[usize::from(many)].remove(&at);
    }

    /// Takes out the lane whose stranger is tried next: those with many messages and those with one, the newest and the longest
    /// here, by turns. So a new receiver that works is not behind all that are silent.
    pub(super) fn next_strange(&mut self) -> Option<usize> {
        self.strange_picks += 1;
        let (newest, many) = (self.strange_picks % 4 < 2, self.strange_picks % 2);
        let first = if self.strange[many].is_empty() { 1 - many } else { many };
        let lanes = &mut self.strange[first];
        let lane = if newest { lanes.pop_last() } else { lanes.pop_first() };
        lane.map(|(_, lane)| lane)
    }
}
