//! The headers that are here, and how they come and go: into the flows of their lanes, and behind the gates of their keys.

use std::collections::BTreeMap;

use outbox_schema::MessageId;
use outbox_store::{Header, Lane, Revision};

use super::Schedule;
use super::destination::Destination;
use super::keys::{KeyName, Through, key_of};
use super::lane::{Flow, FlowState, LaneState, Spot};
use super::ring::{Channel, Entry, Rank, SlowStartTurn, Turn, rank};

impl Schedule {
    /// Puts a header in its place.
    pub(super) fn put(&mut self, header: Header) {
        let Some(key) = key_of(&header) else {
            match self.held.get_mut(&header.id) {
                Some(met) => *met = Some(header),
                None => self.queue(header),
            }
            return;
        };
        self.known.insert(header.id, (header.revision, Spot::Gate));
        self.count_behind_gates(1);
        self.keys.entry(key.clone()).or_default().waiting.insert(header.id, header);
        self.open_gate(&key);
    }

    /// Lets the first message of a key through, where none is in flight and it is free to go.
    pub(super) fn open_gate(&mut self, key: &KeyName) {
        let Some(gate) = self.keys.get_mut(key) else { return };
        let Some(next) = gate.next() else {
            if gate.is_over() {
                self.keys.remove(key);
            }
            return;
        };
        if let Some(Through::Here(through)) = gate.through.take() {
            self.close_gate_behind(key, through);
            return self.open_gate(key);
        }
        if let Some(met) = self.held.get_mut(&next) {
            *met = gate.waiting.get(&next).cloned();
        } else if let Some(header) = gate.waiting.remove(&next) {
            gate.through = Some(Through::Here(next));
            self.count_behind_gates(-1);
            self.queue(header);
        }
    }

    /// Takes a message that was let through back behind its gate.
    pub(super) fn close_gate_behind(&mut self, key: &KeyName, id: MessageId) {
        let Some((revision, Spot::Flow(flow, rank))) = self.known.get(&id).copied() else { return };
        let header = self.take_out(flow, rank);
        self.known.insert(id, (revision, Spot::Gate));
        self.count_behind_gates(1);
        let gate = self.keys.entry(key.clone()).or_default();
        gate.through = None;
        gate.waiting.insert(id, header);
    }

    /// Drops all of a key that is not in flight, from this row on. They are found again.
    pub(super) fn drop_key(&mut self, key: &KeyName, from: MessageId) {
        let Some(gate) = self.keys.get_mut(key) else { return };
        let waiting = gate.waiting.split_off(&from);
        let through = match gate.through {
            Some(Through::Here(id)) if id >= from => Some(id),
            Some(Through::Here(_) | Through::InFlight(_)) | None => None,
        };
        self.counts.here -= waiting.len();
        self.counts.behind_gates -= waiting.len();
        for id in waiting.into_keys() {
            self.known.remove(&id);
        }
        through.and_then(|id| self.drop_row(id));
        self.open_gate(key);
    }

    /// Drops a row that is here. Returns its key, of which the next one may go by now.
    pub(super) fn drop_row(&mut self, id: MessageId) -> Option<KeyName> {
        match self.known.get(&id)?.1 {
            Spot::InFlight => None,
            Spot::Flow(flow, rank) => {
                self.known.remove(&id);
                let key = key_of(&self.take_out(flow, rank))?;
                self.keys.get_mut(&key)?.through = None;
                Some(key)
            }
            // Only a row that was edited is dropped from behind its gate, and few are.
            Spot::Gate => {
                let (key, gate) = self.keys.iter_mut().find(|(_, gate)| gate.waiting.contains_key(&id))?;
                let key = key.clone();
                gate.waiting.remove(&id);
                self.known.remove(&id);
                self.count_behind_gates(-1);
                Some(key)
            }
        }
    }

    /// Puts a header into its flow.
    fn queue(&mut self, header: Header) {
        let (lane, destination) = (self.lane(&header.lane), self.destination(&header.destination));
        let entry = if self.lanes[lane].is_fresh() { Entry::Fresh } else { Entry::Last };
        let flow = self.flow(lane, destination);
        let rank = rank(&header);
        self.known.insert(header.id, (header.revision, Spot::Flow(flow, rank)));
        let first = self.flows[flow].queue.first_key_value().is_none_or(|(first, _)| rank < *first);
        if first {
            self.unlist(flow);
            self.set_state(flow, FlowState::Open, |state| matches!(state, FlowState::Heavy { .. }));
        }
        self.change(flow, |flow| flow.queue.insert(rank, header));
        self.counts.here += 1;
        self.lanes[lane].here += 1;
        if first {
            self.list(flow);
        }
        self.enter(lane, entry);
    }

    /// Takes a header out of its flow.
    pub(super) fn take_out(&mut self, flow: usize, rank: Rank) -> Header {
        self.unlist(flow);
        let header = self.change(flow, |flow| flow.queue.remove(&rank)).expect("a header where it was put");
        let lane = self.flows[flow].lane;
        self.counts.here -= 1;
        self.lanes[lane].here -= 1;
        if self.flows[flow].queue.is_empty() {
            self.end_flow(flow);
        } else {
            self.set_state(flow, FlowState::Open, |state| matches!(state, FlowState::Heavy { .. }));
            self.list(flow);
            self.fill_again(flow);
        }
        self.enter(lane, Entry::Last);
        self.end_lane_if_over(lane);
        header
    }

    /// The number of a lane.
    pub(super) fn lane(&mut self, name: &Lane) -> usize {
        if let Some(lane) = self.lane_of.get(name) {
            return *lane;
        }
        let channel = self.channel(&name.channel, None);
        let lane = self.lanes.insert(LaneState::new(name.clone(), channel));
        self.lane_of.insert(name.clone(), lane);
        self.turns.shared |= self.lanes.len() > 1;
        lane
    }

    /// The number of a channel. Channels are few. `fair`: as of [`Channel`], where it was asked.
    pub(super) fn channel(&mut self, name: &str, fair: Option<bool>) -> usize {
        let known = self.channels.iter().position(|channel| *channel.name == *name);
        let number = known.unwrap_or_else(|| {
            self.channels.push(Channel::new(name.into(), true));
            self.channels.len() - 1
        });
        let channel = &mut self.channels[number];
        // The places of lanes mean another thing then.
        if channel.is_idle() {
            channel.fair = fair.unwrap_or(channel.fair);
        }
        number
    }

    pub(super) fn end_lane_if_over(&mut self, lane: usize) {
        if self.lanes.get(lane).is_some_and(LaneState::is_over) && !self.left_slow_start.contains(&lane) {
            self.lane_of.remove(&self.lanes[lane].name);
            self.lanes.remove(lane);
        }
    }

    /// The number of a destination. What it is, is asked before the next turns.
    pub(super) fn destination(&mut self, name: &std::sync::Arc<str>) -> usize {
        if let Some(destination) = self.destination_of.get(name) {
            return *destination;
        }
        let destination = self.destinations.insert(Destination::new(name.clone()));
        self.destination_of.insert(name.clone(), destination);
        self.note_change(destination);
        destination
    }

    /// Has a destination looked at before the next turns.
    pub(super) fn note_change(&mut self, destination: usize) {
        if !std::mem::replace(&mut self.destinations[destination].changed, true) {
            self.changed.push(destination);
        }
    }

    fn flow(&mut self, lane: usize, destination: usize) -> usize {
        if let Some(flow) = self.flow_of.get(&(lane, destination)) {
            return *flow;
        }
        let of = &mut self.destinations[destination];
        let (in_slow_start, queue) = (of.in_slow_start, BTreeMap::new());
        let flow =
            self.flows.insert(Flow { lane, destination, queue, state: FlowState::Open, in_slow_start, left: false });
        of.flows.insert(flow);
        self.flow_of.insert((lane, destination), flow);
        self.lanes[lane].flows += 1;
        flow
    }

    /// An empty flow is over, and its destination with the last of them.
    fn end_flow(&mut self, flow: usize) {
        let Flow { lane, destination, state, left, .. } = self.flows[flow];
        match state {
            FlowState::Open => {}
            FlowState::Parked { ticket, .. } => drop(self.destinations[destination].parked.remove(&ticket)),
            FlowState::Heavy { ticket } => self.no_longer_heavy(ticket),
        }
        if left {
            self.begin_again(lane);
        }
        self.flow_of.remove(&(lane, destination));
        self.flows.remove(flow);
        self.lanes[lane].flows -= 1;
        self.destinations[destination].flows.remove(&flow);
        self.end_destination_if_over(destination);
    }

    pub(super) fn end_destination_if_over(&mut self, destination: usize) {
        let Some(of) = self.destinations.get(destination).filter(|of| of.flows.is_empty()) else { return };
        if let Some(alarm) = of.alarm {
            self.alarms.remove(&(alarm, destination));
        }
        self.destination_of.remove(&of.name);
        self.destinations.remove(destination);
    }

    /// Learns whether a destination has never answered: its flows take part in other turns.
    pub(super) fn learn(&mut self, destination: usize, in_slow_start: bool) {
        let of = &mut self.destinations[destination];
        if std::mem::replace(&mut of.in_slow_start, in_slow_start) == in_slow_start {
            return;
        }
        for flow in of.flows.clone() {
            if self.flows[flow].state == FlowState::Open {
                self.reopen(flow);
            }
        }
    }

    /// Adds an open flow to those of its lane. The lane is to enter the turns then.
    pub(super) fn list(&mut self, flow: usize) {
        let Flow { lane, in_slow_start, state: FlowState::Open, ref queue, .. } = self.flows[flow] else { return };
        let Some((&first, _)) = queue.first_key_value() else { return };
        self.lanes[lane].flows_that_go(in_slow_start).insert((first, flow));
    }

    /// The opposite.
    pub(super) fn unlist(&mut self, flow: usize) {
        let Flow { lane, in_slow_start, state: FlowState::Open, ref queue, .. } = self.flows[flow] else { return };
        let Some((&first, _)) = queue.first_key_value() else { return };
        self.lanes[lane].flows_that_go(in_slow_start).remove(&(first, flow));
    }

    /// Gives a lane its places in the turns where it has something that can go, and takes them away where it has nothing. It
    /// keeps those that it has.
    pub(super) fn enter(&mut self, lane: usize, entry: Entry) {
        let ticket = self.ticket();
        let of = &mut self.lanes[lane];
        if of.in_turn {
            return;
        }
        let channel = &mut self.channels[of.channel];
        let first = of.open.first().map(|(first, _)| *first);
        let moves = |turn: &mut Turn| first.is_none_or(|first| !channel.fair && *turn != first);
        if let Some(turn) = of.turn.take_if(moves) {
            channel.leave(turn);
        }
        if let Some(first) = first {
            of.turn.get_or_insert_with(|| channel.enter(lane, entry, first, ticket));
        }
        let strange = of.open_to_slow_start.first().and_then(|(_, flow)| self.flows[*flow].queue.values().next());
        let turn = strange.map(|header| {
            let (many, untried) = (of.here > 1, (header.revision == Revision(0)).then_some(header.at));
            let kept = of.slow_start_turn.filter(|turn| turn.many || !many);
            SlowStartTurn { untried, ..kept.unwrap_or(SlowStartTurn { many, ticket, untried }) }
        });
        if turn != of.slow_start_turn {
            if let Some(turn) = of.slow_start_turn {
                channel.leave_slow_start(turn);
            }
            of.slow_start_turn = turn.map(|turn| channel.enter_slow_start(lane, turn));
        }
    }

    /// A number that is higher each time.
    pub(super) fn ticket(&mut self) -> u64 {
        self.tickets += 1;
        self.tickets
    }

    /// Counts rows that come behind gates, or leave them.
    fn count_behind_gates(&mut self, rows: isize) {
        self.counts.here = self.counts.here.saturating_add_signed(rows);
        self.counts.behind_gates = self.counts.behind_gates.saturating_add_signed(rows);
    }

    /// Changes a flow, and counts its headers anew.
    pub(super) fn change<T>(&mut self, flow: usize, change: impl FnOnce(&mut Flow) -> T) -> T {
        let before = self.counted(flow);
        let changed = change(&mut self.flows[flow]);
        let after = self.counted(flow);
        let of = &mut self.lanes[self.flows[flow].lane];
        let counts =
            [&mut self.counts.for_slow_start, &mut self.counts.closed, &mut of.ready, &mut of.ready_for_slow_start];
        for ((count, before), after) in counts.into_iter().zip(before).zip(after) {
            *count = *count - before + after;
        }
        changed
    }

    /// How many headers of a flow count as for destinations in slow start, as for closed destinations, as ready, and as ready for
    /// destinations in slow start.
    fn counted(&self, flow: usize) -> [usize; 4] {
        let Flow { in_slow_start, state, ref queue, .. } = self.flows[flow];
        let (closed, ready) = (matches!(state, FlowState::Parked { closed: true, .. }), state == FlowState::Open);
        [in_slow_start && !closed, closed, ready, ready && in_slow_start]
            .map(|counts| if counts { queue.len() } else { 0 })
    }
}
