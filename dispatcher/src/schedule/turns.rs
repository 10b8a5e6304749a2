//! Who goes next: the turns of channels, lanes and slow start, one after another.

use std::time::Duration;

use outbox_store::Header;
use tokio::time::Instant;

use super::Schedule;
use super::flight::Flight;
use super::keys::{Through, key_of};
use super::lane::{Flow, LITTLE, Spot};
use super::parking::ASK_AGAIN;
use super::ring::{Entry, Turn};
use super::rooms::{Rooms, Standing};

/// The messages of a turn: so that a connection is used while it is warm.
const TURN: i64 = 4;

/// So many bytes count as one more message.
const BYTES: u64 = 16 * 1024;

/// One turn of so many is that of slow start, while others wait too.
const SLOW_START_TURN: u32 = 4;

/// How long slots are kept for others after there was more than one lane.
const SHARED: Duration = Duration::from_secs(1);

/// Of how many answers a destination's flows are tried: two for each. As many as it has room for would be parked again by the
/// hundred.
const TRIED: usize = 2;

/// How many destinations in slow start in one take may turn out to have too large a message for now.
const TRIES: u32 = 8;

/// Whether a flow can go.
enum Go {
    Now,
    /// Its destination has no room. It was parked, or left.
    Parked,
    /// It is large, and waits for bytes.
    Heavy,
    /// Destinations in slow start have what they may have.
    NoPlace,
}

/// A take, while it goes on.
struct Take<'a> {
    rooms: &'a mut dyn Rooms,
    now: Instant,
    most: usize,
    batch: Vec<Header>,
    /// Whether slots are kept for others.
    shared: bool,
    /// How many more destinations in slow start are tried whose message is too large for now.
    tries: u32,
}

impl Schedule {
    /// Chooses which messages are claimed next: `most` at most. From here on they are in flight. What became of those of the last
    /// call is known by now: they were admitted to their destinations, or refused.
    pub fn take(&mut self, most: usize, rooms: &mut dyn Rooms, now: Instant) -> Vec<Header> {
        self.turns.take += 1;
        if std::mem::take(&mut self.turns.shared) || self.lanes.len() > 1 {
            self.turns.shared_until = Some(now + SHARED);
        }
        self.turns.shared_until.take_if(|until| *until <= now);
        self.look_after(rooms, now);
        let shared = self.turns.shared_until.is_some();
        let mut take = Take { rooms, now, most, batch: Vec::new(), shared, tries: TRIES };
        let budget = take.rooms.budget_of_slow_start();
        // Lanes that have to leave the rest to others, and their turns.
        let mut aside: Vec<(Turn, usize)> = Vec::new();
        while self.goes_on(&take) {
            if self.take_heavy(&mut take, budget) {
                continue;
            }
            let slow_start = take.tries > 0 && self.slow_start_may_go(budget, shared, now);
            if slow_start && self.turns.since_slow_start + 1 >= SLOW_START_TURN && self.try_slow_start(&mut take) {
                self.turns.since_slow_start = 0;
                continue;
            }
            if let Some((turn, lane)) = self.next_lane() {
                self.turns.since_slow_start += 1;
                if self.leaves_rest(lane, shared) {
                    self.lanes[lane].in_turn = true;
                    aside.push((turn, lane));
                } else {
                    self.in_turn(lane, |schedule| schedule.turn(lane, &mut take));
                }
            } else if !(slow_start && self.try_slow_start(&mut take)) {
                break;
            }
        }
        for (turn, lane) in aside {
            self.slow_start.others_want(now);
            let of = &mut self.lanes[lane];
            (of.turn, of.in_turn) = (Some(turn), false);
            self.channels[of.channel].give_back(lane, turn);
            self.enter(lane, Entry::Last);
        }
        if self.channels.iter().any(|channel| !channel.is_idle()) {
            self.slow_start.others_want(now);
        }
        take.batch
    }

    /// Whether another message may be chosen.
    fn goes_on(&self, take: &Take<'_>) -> bool {
        take.batch.len() < take.most && self.flights.free_slots() > 0
    }

    /// Looks at destinations of which something may have changed, before the turns.
    fn look_after(&mut self, rooms: &mut dyn Rooms, now: Instant) {
        while let Some(&(at, destination)) = self.alarms.first().filter(|(at, _)| *at <= now) {
            self.alarms.remove(&(at, destination));
            self.destinations[destination].alarm = None;
            self.unpark(destination, now);
        }
        for destination in std::mem::take(&mut self.changed) {
            let Some(of) = self.destinations.get_mut(destination) else { continue };
            of.changed = false;
            let in_slow_start = rooms.in_slow_start(&of.name);
            self.learn(destination, in_slow_start);
            (0..TRIED).for_each(|_| self.unpark(destination, now));
        }
        if self.slow_start_wait() {
            self.slow_start.give_up(now);
        }
        self.bring_slow_start();
        if self.left_until.take_if(|until| *until <= now).is_some() {
            self.skipped = true;
        }
    }

    /// Whether messages for destinations in slow start wait for their turn, which their budget may delay, or for bytes.
    pub fn slow_start_wait(&self) -> bool {
        let in_slow_start = |flow: &usize| self.destinations[self.flows[*flow].destination].in_slow_start;
        self.channels.iter().any(|channel| !channel.has_no_slow_start()) || self.heavy.values().any(in_slow_start)
    }

    /// Whether a destination in slow start may go. The last sixteenth of the slots is for others, where there are any.
    fn slow_start_may_go(&self, budget: usize, shared: bool, now: Instant) -> bool {
        let kept = if shared { self.capacity.slots / 16 } else { 0 };
        self.flights.free_slots() > kept && self.slow_start.room(&self.capacity, budget, now) > 0
    }

    /// Whether a lane leaves what is free to others. An eighth of the slots is for lanes with less in flight than half an equal
    /// part, or than [`LITTLE`]; the second half of that is for those with nothing in flight.
    fn leaves_rest(&self, lane: usize, shared: bool) -> bool {
        let slots = self.capacity.slots;
        let little = LITTLE.max(slots / 2 / self.lanes.len().max(1)).min(slots / 8).max(1);
        let little = if self.flights.free_slots() <= slots / 16 { 1 } else { little };
        shared && self.flights.are_scarce() && self.lanes[lane].in_flight >= little
    }

    /// Takes out the lane whose turn it is.
    fn next_lane(&mut self) -> Option<(Turn, usize)> {
        for _ in 0..self.channels.len() {
            self.turns.channel = (self.turns.channel + 1) % self.channels.len();
            if let Some((turn, lane)) = self.channels[self.turns.channel].next() {
                self.lanes[lane].turn = None;
                return Some((turn, lane));
            }
        }
        None
    }

    /// A lane goes on: meanwhile it takes part in no turns. Then it enters them at the place that is returned.
    fn in_turn(&mut self, lane: usize, go: impl FnOnce(&mut Self) -> Entry) {
        let was_in_turn = std::mem::replace(&mut self.lanes[lane].in_turn, true);
        let entry = go(self);
        self.lanes[lane].in_turn = was_in_turn;
        self.enter(lane, entry);
        self.note_if_low(lane);
        self.end_lane_if_over(lane);
    }

    /// A lane has its turn.
    fn turn(&mut self, lane: usize, take: &mut Take<'_>) -> Entry {
        let of = &mut self.lanes[lane];
        let fair = self.channels[of.channel].fair;
        if of.credit <= 0 {
            of.credit += TURN;
        }
        while self.goes_on(take) {
            let of = &self.lanes[lane];
            let is_over = if fair { of.credit <= 0 } else { of.credit < TURN };
            let is_over = is_over || self.leaves_rest(lane, take.shared);
            let Some(&(_, flow)) = of.open.first().filter(|_| !is_over) else { break };
            self.try_flow(flow, take);
        }
        let of = &mut self.lanes[lane];
        if of.here == 0 || !fair {
            of.credit = 0;
        }
        if of.credit > 0 { Entry::First } else { Entry::Last }
    }

    /// A destination in slow start has its turn. Says whether there was one.
    fn try_slow_start(&mut self, take: &mut Take<'_>) -> bool {
        let mut next = None;
        for _ in 0..self.channels.len() {
            self.turns.slow_start_channel = (self.turns.slow_start_channel + 1) % self.channels.len();
            next = self.channels[self.turns.slow_start_channel].next_slow_start();
            if next.is_some() {
                break;
            }
        }
        let Some(lane) = next else { return false };
        let of = &mut self.lanes[lane];
        if let Some(turn) = of.slow_start_turn.take() {
            self.channels[of.channel].leave_slow_start(turn);
        }
        self.in_turn(lane, |schedule| {
            while let Some(&(_, flow)) = schedule.lanes[lane].open_to_slow_start.first() {
                match schedule.try_flow(flow, take) {
                    Go::Now => break,
                    Go::NoPlace => {
                        take.tries -= 1;
                        break;
                    }
                    Go::Heavy | Go::Parked => {}
                }
            }
            Entry::Last
        });
        true
    }

    /// The first message that waits for bytes goes, where it fits by now. True: look again. It went, was parked, or takes part in
    /// turns again.
    fn take_heavy(&mut self, take: &mut Take<'_>, budget: usize) -> bool {
        let Some((_, &flow)) = self.heavy.first_key_value() else { return false };
        let Flow { lane, destination, ref queue, .. } = self.flows[flow];
        let bytes = queue.first_key_value().map_or(0, |(_, header)| header.bytes);
        if !self.flights.fits_at_last(bytes) {
            return false;
        }
        if self.destinations[destination].in_slow_start && self.slow_start.room(&self.capacity, budget, take.now) == 0 {
            // It keeps what it needs until it has a place in the budget, and others may have the rest.
            self.flights.reserve_at_most(bytes);
            return false;
        }
        self.in_turn(lane, |schedule| {
            schedule.reopen(flow);
            schedule.try_flow(flow, take);
            Entry::Last
        });
        true
    }

    /// The first message of an open flow goes where it can. Otherwise the flow waits, if not for a place among destinations in
    /// slow start.
    fn try_flow(&mut self, flow: usize, take: &mut Take<'_>) -> Go {
        let go = self.go(flow, take.rooms, take.now);
        match go {
            Go::Now => self.fly(flow, take.now, &mut take.batch),
            Go::Heavy => self.make_heavy(flow),
            Go::Parked | Go::NoPlace => {}
        }
        go
    }

    /// Whether the first message of an open flow can go. Where its destination has no room, the flow is parked with it.
    fn go(&mut self, flow: usize, rooms: &mut dyn Rooms, now: Instant) -> Go {
        let Flow { lane, destination, in_slow_start, ref queue, .. } = self.flows[flow];
        let (bytes, headers) = (queue.first_key_value().map_or(0, |(_, header)| header.bytes), queue.len());
        let channel = self.lanes[lane].channel;
        let name = &self.channels[channel].name;
        let ask = |destination: &str| rooms.standing(name, destination, now);
        match self.destinations[destination].standing(self.turns.take, channel, ask) {
            Standing::Room(_) if in_slow_start && !self.slow_start.fits(&self.capacity, bytes) => Go::NoPlace,
            Standing::Room(_) if self.flights.fits(bytes) => Go::Now,
            Standing::Room(_) => Go::Heavy,
            Standing::Full => {
                self.park(flow, false, now + ASK_AGAIN);
                Go::Parked
            }
            Standing::Closed { until } => {
                if self.counts.closed + headers > self.capacity.headers / 4 {
                    self.leave_flow(flow);
                    self.leave_until(until.unwrap_or(now), now);
                } else {
                    self.park(flow, true, until.map_or(now + ASK_AGAIN, |until| until.min(now + ASK_AGAIN)));
                }
                Go::Parked
            }
        }
    }

    /// The first message of a flow goes.
    fn fly(&mut self, flow: usize, now: Instant, batch: &mut Vec<Header>) {
        let Flow { lane, destination, in_slow_start, ref queue, .. } = self.flows[flow];
        let Some((&rank, _)) = queue.first_key_value() else { return };
        if self.destinations[destination].given() {
            self.unpark(destination, now);
        }
        let header = self.take_out(flow, rank);
        self.known.insert(header.id, (header.revision, Spot::InFlight));
        if let Some(key) = key_of(&header)
            && let Some(gate) = self.keys.get_mut(&key)
        {
            gate.through = Some(Through::InFlight(header.id));
        }
        let of = &mut self.lanes[lane];
        of.in_flight += 1;
        if in_slow_start {
            self.slow_start.begin(&self.capacity, &header, now);
        } else {
            of.credit -= 1 + i64::try_from(header.bytes / BYTES).unwrap_or(i64::MAX);
            self.slow_start.others_want(now);
        }
        self.flights.begin(Flight { header: header.clone(), lane, slow_start_since: in_slow_start.then_some(now) });
        batch.push(header);
    }
}
