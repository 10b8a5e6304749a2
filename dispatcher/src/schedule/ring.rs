//! Turns: which lane is next. Channels take turns, and within a channel its lanes.
//!
//! A lane that had nothing here goes before those that wait for their next turn: but after [`FRESH_IN_A_ROW`] of these one of the
//! others has its turn, so that none waits for ever. Where a channel has `fairness = "off"`, its lanes take no turns. Their
//! messages go by priority and time, as if they were one lane.

use std::collections::BTreeMap;
use std::sync::Arc;

use outbox_store::Header;
use tokio::time::Instant;

/// The order within a lane: the highest priority first, then the longest due, in microseconds of the database's clock.
pub(super) type Rank = (u8, i64, i64);

/// The rank of a row.
pub(super) fn rank(header: &Header) -> Rank {
    (u8::MAX - header.priority, header.at, header.id.0)
}

/// So many lanes that had nothing go one after another while others wait.
const FRESH_IN_A_ROW: u32 = 8;

/// A place among the lanes of a channel.
pub(super) type Turn = Rank;

/// A place among the lanes with flows in slow start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SlowStartTurn {
    /// Whether the lane has more than one message here.
    pub(super) many: bool,
    /// A number that is higher for a lane that came later.
    pub(super) ticket: u64,
    /// Since when its message is due, where that was never tried: in microseconds of the database's clock.
    pub(super) untried: Option<i64>,
}

/// A channel, and its lanes with something that can go.
#[derive(Debug, Default)]
pub(super) struct Channel {
    pub(super) name: Arc<str>,
    /// Whether its lanes take turns.
    pub(super) fair: bool,
    lanes: BTreeMap<Turn, usize>,
    fresh_in_a_row: u32,
    /// Lanes with flows in slow start: those with one message here, and those with more.
    of_slow_start: [BTreeMap<u64, usize>; 2],
    /// Those of them whose message was never tried, and their turns, by the time since which it is due.
    pub(super) untried: BTreeMap<(i64, u64), SlowStartTurn>,
    slow_start_picks: usize,
}

/// Where a lane comes in among others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Entry {
    /// It had nothing here and little in flight, or goes on with a turn for which it had to wait.
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
        Self { name, fair, ..Self::default() }
    }

    /// Whether no lane has anything that can go, but for destinations in slow start.
    pub(super) fn is_idle(&self) -> bool {
        self.lanes.is_empty()
    }

    /// Whether no lane has anything that can go to destinations in slow start.
    pub(super) fn has_no_slow_start(&self) -> bool {
        self.of_slow_start.iter().all(BTreeMap::is_empty)
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

    /// Gives a lane its place among those with flows in slow start.
    pub(super) fn enter_slow_start(&mut self, lane: usize, turn: SlowStartTurn) -> SlowStartTurn {
        self.of_slow_start[usize::from(turn.many)].insert(turn.ticket, lane);
        if let Some(at) = turn.untried {
            self.untried.insert((at, turn.ticket), turn);
        }
        turn
    }

    pub(super) fn leave_slow_start(&mut self, turn: SlowStartTurn) {
        if let Some(at) = turn.untried {
            self.untried.remove(&(at, turn.ticket));
        }
        self.of_slow_start[usize::from(turn.many)].remove(&turn.ticket);
    }

    /// The lane whose destination in slow start is tried next: by turns the newest that was never tried, and the one that is here
    /// longest. So a new receiver that works is behind none that is silent or fails. Of the latter, lanes with many messages and
    /// with one take turns.
    pub(super) fn next_slow_start(&mut self) -> Option<usize> {
        self.slow_start_picks += 1;
        if self.slow_start_picks.is_multiple_of(2)
            && let Some((_, &turn)) = self.untried.last_key_value()
        {
            return self.of_slow_start[usize::from(turn.many)].get(&turn.ticket).copied();
        }
        let many = self.slow_start_picks / 2 % 2;
        let first = if self.of_slow_start[many].is_empty() { 1 - many } else { many };
        self.of_slow_start[first].first_key_value().map(|(_, &lane)| lane)
    }
}

/// What is known of turns.
#[derive(Debug, Default)]
pub(super) struct Turns {
    /// The number of the present take.
    pub(super) take: u64,
    /// The channel that had the last turn, and that of the last destination in slow start.
    pub(super) channel: usize,
    pub(super) slow_start_channel: usize,
    /// Turns since that of slow start.
    pub(super) since_slow_start: u32,
    /// Whether there was more than one lane since the last take, and until when slots are kept for others.
    pub(super) shared: bool,
    pub(super) shared_until: Option<Instant>,
}
