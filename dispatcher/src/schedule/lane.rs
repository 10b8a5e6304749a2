//! Lanes and flows: in what order the messages of one tenant go.
//!
//! A lane is a tenant of a channel, and a flow is what goes to one destination within it. Within a lane the flow goes next whose
//! first message has the highest priority, and of these the one due for longest. Flows that cannot go now are no part of this.

use std::collections::{BTreeMap, BTreeSet};

use outbox_store::{Header, Lane, WalkStart};
use tokio::time::Instant;

use super::ring::{Rank, SlowStartTurn, Turn};

/// A lane with fewer than this in flight has little in flight.
pub(super) const LITTLE: usize = 8;

/// A lane with something here, in flight, or known to wait in the database.
#[derive(Debug)]
pub(super) struct LaneState {
    pub(super) name: Lane,
    /// The number of its channel.
    pub(super) channel: usize,
    /// The flows that can go, by the rank of their first message.
    pub(super) open: BTreeSet<(Rank, usize)>,
    /// The same of destinations that have never answered.
    pub(super) open_to_slow_start: BTreeSet<(Rank, usize)>,
    /// Its place among the lanes of its channel, while it has an open flow.
    pub(super) turn: Option<Turn>,
    /// Its place among those with flows in slow start.
    pub(super) slow_start_turn: Option<SlowStartTurn>,
    /// Whether it has its turn just now.
    pub(super) in_turn: bool,
    /// What it may still send before others have their turns, in messages. Below zero: a debt.
    pub(super) credit: i64,
    /// Headers here, those of them whose flow can go, and of these those for destinations that have never answered.
    pub(super) here: usize,
    pub(super) ready: usize,
    pub(super) ready_for_slow_start: usize,
    /// Its flows.
    pub(super) flows: usize,
    pub(super) in_flight: usize,
    /// The place in the database up to which it was looked at. None: all of its rows are known.
    pub(super) more: Option<WalkStart>,
    /// When it was last looked at from the beginning. None: it is to be.
    pub(super) begun: Option<Instant>,
    pub(super) feeding: Feeding,
    /// Whether rows of it were passed over while it was being looked at. Then that look does not move its place on.
    pub(super) passed: bool,
}

impl LaneState {
    pub(super) fn new(name: Lane, channel: usize) -> Self {
        Self {
            name,
            channel,
            open: BTreeSet::new(),
            open_to_slow_start: BTreeSet::new(),
            turn: None,
            slow_start_turn: None,
            in_turn: false,
            credit: 0,
            here: 0,
            ready: 0,
            ready_for_slow_start: 0,
            flows: 0,
            in_flight: 0,
            more: None,
            begun: None,
            feeding: Feeding::Rests,
            passed: false,
        }
    }

    /// The flows that can go, of destinations in slow start or of others.
    pub(super) fn flows_that_go(&mut self, of_slow_start: bool) -> &mut BTreeSet<(Rank, usize)> {
        if of_slow_start { &mut self.open_to_slow_start } else { &mut self.open }
    }

    /// How many headers here may go. Those for destinations in slow start may hide others: they count where all are for one
    /// destination.
    pub(super) fn can_go(&self) -> usize {
        if self.flows > 1 { self.ready - self.ready_for_slow_start } else { self.ready }
    }

    /// Whether it has nothing here, and little in flight: it waits for no turn.
    pub(super) fn is_fresh(&self) -> bool {
        self.here == 0 && self.in_flight < LITTLE
    }

    /// Whether nothing needs it any more.
    pub(super) fn is_over(&self) -> bool {
        self.here == 0 && self.in_flight == 0 && self.more.is_none() && !self.in_turn
    }
}

/// Whether a lane is being fed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Feeding {
    Rests,
    /// It waits to be looked at.
    Hungry,
    /// It is being looked at.
    Asked,
}

/// The messages of a lane for one destination.
#[derive(Debug)]
pub(super) struct Flow {
    pub(super) lane: usize,
    /// The number of its destination.
    pub(super) destination: usize,
    pub(super) queue: BTreeMap<Rank, Header>,
    pub(super) state: FlowState,
    /// Whether its destination had never answered when it was last looked at.
    pub(super) in_slow_start: bool,
    /// Whether rows of it were left in the database, before the place of its lane.
    pub(super) left: bool,
}

/// Whether a flow can go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FlowState {
    /// It takes part in the turns of its lane, or in those of slow start.
    Open,
    /// Its destination has no room. It waits there, at this place. `closed`: for other than answers.
    Parked { ticket: u64, closed: bool },
    /// Its first message waits for bytes, at this place.
    Heavy { ticket: u64 },
}

/// Where a row is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Spot {
    /// In this flow.
    Flow(usize, Rank),
    /// Behind the gate of its key.
    Gate,
    InFlight,
}

/// How many headers are here.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) here: usize,
    /// Those behind the gates of their keys.
    pub(super) behind_gates: usize,
    /// Those for destinations that have never answered, without those that count as closed.
    pub(super) for_slow_start: usize,
    /// Those that are parked with destinations that take nothing for now.
    pub(super) closed: usize,
}
