//! What looks bring, and what they may claim at once. While all that is due fits, it is all here.

use std::collections::HashSet;

use outbox_schema::MessageId;
use outbox_store::{Header, Lane, Revision, WalkStart};
use tokio::time::Instant;

use super::Schedule;
use super::keys::key_of;
use super::lane::{Feeding, Spot};
use super::parking::{ASK_AGAIN, MOST_PARKED};
use super::rooms::{Rooms, Standing};

/// How many lanes with a backlog a look may be told to pass over.
const MOST_PASSED_OVER: usize = 64;

/// The most rows that are claimed unseen.
const MOST_UNSEEN: usize = 32;

/// What became of headers that a look brought.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Added {
    /// How many were new here.
    pub new: usize,
    /// How many were left in the database: their lanes are fed later, or another round finds them.
    pub passed_over: usize,
    /// Rows whose channel nobody has configured.
    pub unknown_channel: Vec<MessageId>,
}

/// What a look may claim at once, unseen, without breaking a rule.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Unseen {
    /// The most rows. 0: a look may not claim.
    pub up_to: usize,
    /// Rows in flight, and rows that are not free to go.
    pub known: Vec<MessageId>,
    /// Lanes with a backlog. They have their turns.
    pub not_of: Vec<Lane>,
}

/// What a look at all lanes shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shows {
    /// With the looks before it, all there is up to this place.
    AllUpTo(WalkStart),
    /// What came last, amid a backlog.
    Newest,
}

/// A look, as to which destinations in slow start it may bring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum By {
    /// It goes through all there is, in order, and has come from that place.
    Order(WalkStart),
    /// It follows what comes. The newest find a place when the others have theirs.
    Newest,
    /// It goes from lane to lane. `alone`: the row is the only one that it brought of its lane.
    Round { alone: bool },
    /// It brings the rows of lanes, or keys, that are known.
    More,
}

impl Schedule {
    /// Takes in the headers of a look at all lanes, in its order. It brings no rows with a key.
    pub fn add(&mut self, page: Vec<Header>, shows: Shows, rooms: &mut dyn Rooms, now: Instant) -> Added {
        let (by, seen) = match shows {
            Shows::AllUpTo(seen) => (By::Order(seen), seen),
            Shows::Newest => (By::Newest, WalkStart::default()),
        };
        let (mut added, per_lane) = (Added::default(), self.per_lane());
        for header in page {
            match self.lane_of.get(&header.lane).copied() {
                Some(lane) if self.note_behind(lane, &header) => added.passed_over += 1,
                Some(lane) if self.lanes[lane].here >= per_lane && self.is_new(&header) => {
                    self.leave_row(lane, &header, seen);
                    added.passed_over += 1;
                }
                _ => drop(self.take_in(header, by, &mut added, rooms, now)),
            }
        }
        added
    }

    /// Takes in the first `each` rows of each priority of some lanes: a step of the round over all lanes.
    pub fn add_lanes(&mut self, step: &[Header], each: u32, rooms: &mut dyn Rooms, now: Instant) -> Added {
        let mut added = Added::default();
        for lane in step.chunk_by(|one, other| one.lane == other.lane) {
            let (by, before) = (By::Round { alone: lane.len() == 1 }, added.new);
            for header in lane {
                self.take_in(header.clone(), by, &mut added, rooms, now);
            }
            let mut by_priority = lane.chunk_by(|one, other| one.priority == other.priority);
            let is_full = by_priority.any(|rows| rows.len() >= each as usize);
            let Some(&number) = self.lane_of.get(&lane[0].lane).filter(|_| is_full) else { continue };
            let is_in_flight = |row: &Header| matches!(self.known.get(&row.id), Some((_, Spot::InFlight)));
            // All that is behind these may be unknown.
            if added.new > before || self.lanes[number].more.is_some() || lane.iter().all(is_in_flight) {
                let behind = lane.iter().map(behind).fold(WalkStart::default(), |earlier, place| place.or(earlier));
                self.leave(number, behind);
            }
        }
        added
    }

    /// Takes in the first rows of ordering keys. What has no place is met again, with all that is behind it in its key: the round
    /// over all keys never ends.
    pub fn add_keys(&mut self, step: Vec<Header>, rooms: &mut dyn Rooms, now: Instant) -> Added {
        let (mut added, mut stopped) = (Added::default(), HashSet::new());
        for header in step {
            let (id, key) = (header.id, key_of(&header));
            let Some(key) = key.filter(|key| !stopped.contains(key)) else {
                added.passed_over += 1;
                continue;
            };
            if !self.take_in(header, By::More, &mut added, rooms, now) {
                // None of its key overtakes it.
                self.drop_key(&key, id);
                stopped.insert(key);
            }
        }
        added
    }

    /// Puts a header in its place, if it has one, and says whether it has. Counts what became of it.
    pub(super) fn take_in(
        &mut self,
        mut header: Header,
        by: By,
        added: &mut Added,
        rooms: &mut dyn Rooms,
        now: Instant,
    ) -> bool {
        if !weigh(&mut header, rooms) {
            added.unknown_channel.push(header.id);
            return true;
        }
        let has_place = match self.known.get(&header.id) {
            Some((revision, _)) if *revision >= header.revision => return true,
            Some((_, Spot::InFlight)) => {
                // It is to be found again once it is marked.
                self.skipped = true;
                false
            }
            Some((_, Spot::Flow(..) | Spot::Gate)) => {
                if let Some(key) = self.drop_row(header.id) {
                    self.open_gate(&key);
                }
                self.find_place(header, by, rooms, now)
            }
            None => self.find_place(header, by, rooms, now),
        };
        added.new += usize::from(has_place);
        added.passed_over += usize::from(!has_place);
        has_place
    }

    /// Puts a header that is not here in its place, if it has one.
    fn find_place(&mut self, header: Header, by: By, rooms: &mut dyn Rooms, now: Instant) -> bool {
        let lane = self.lane_of.get(&header.lane).copied();
        if self.counts.here >= self.capacity.headers || lane.is_none() && self.lanes.len() >= self.capacity.headers {
            match (lane, by) {
                _ if header.key.is_some() => {}
                (Some(lane), By::Order(seen)) => self.leave_row(lane, &header, seen),
                (Some(lane), _) => self.leave_row(lane, &header, WalkStart::default()),
                (None, _) => self.skipped = true,
            }
            return false;
        }
        // The round over all keys meets it again.
        if header.key.is_some() && !self.has_place_for_key(&header, rooms, now) {
            return false;
        }
        let in_slow_start = self.is_for_slow_start(&header, rooms);
        if in_slow_start && lane.is_none() {
            if let Standing::Closed { until } = rooms.standing(&header.lane.channel, &header.destination, now) {
                self.leave_until(until.unwrap_or(now), now);
                return false;
            }
            if self.counts.for_slow_start >= self.part_of_slow_start(by, header.revision == Revision(0)) {
                self.skipped |= header.key.is_none();
                return false;
            }
        }
        if lane.is_none() {
            let fair = rooms.fair(&header.lane.channel);
            self.channel(&header.lane.channel, Some(fair));
        }
        let destination = self.destination(&header.destination);
        self.learn(destination, in_slow_start);
        let new_lane = lane.is_none().then(|| header.lane.clone());
        self.put(header);
        self.end_destination_if_over(destination);
        if let Some(&lane) = new_lane.and_then(|lane| self.lane_of.get(&lane)) {
            self.lanes[lane].begun = Some(now);
        }
        true
    }

    /// Whether a row with a key finds a place. Rows behind gates have a quarter of all, and those before them a half: so they
    /// leave places for rows without a key. One flow has no more of that half than is left, and few where its destination takes
    /// nothing.
    fn has_place_for_key(&self, header: &Header, rooms: &mut dyn Rooms, now: Instant) -> bool {
        let (most, flow) = (self.capacity.headers, self.headers_for(header));
        let is_closed = |of| matches!(of, Standing::Closed { .. });
        let has_place = match key_of(header).and_then(|key| self.keys.get(&key)) {
            Some(_) => self.counts.behind_gates < most / 4,
            None => flow + self.keys.len() < most / 2,
        };
        has_place && (flow < MOST_PARKED || !is_closed(rooms.standing(&header.lane.channel, &header.destination, now)))
    }

    /// Whether the destination of a row has never answered.
    pub(super) fn is_for_slow_start(&self, header: &Header, rooms: &mut dyn Rooms) -> bool {
        match self.destination_of.get(&header.destination) {
            Some(known) => self.destinations[*known].in_slow_start,
            None => rooms.in_slow_start(&header.destination),
        }
    }

    pub(super) fn is_new(&self, header: &Header) -> bool {
        self.known.get(&header.id).is_none_or(|(revision, _)| *revision < header.revision)
    }

    /// Whether a row lies behind the place of its lane: the lane is fed with it later.
    fn note_behind(&mut self, lane: usize, header: &Header) -> bool {
        let of = &mut self.lanes[lane];
        let behind = of.more.is_some_and(|more| more.is_before(header.priority.into(), header.at, header.id.0));
        of.passed |= behind && of.feeding == Feeding::Asked;
        behind
    }

    /// Rows were left in the database that may go then.
    pub(super) fn leave_until(&mut self, until: Instant, now: Instant) {
        let until = until.max(now + ASK_AGAIN);
        self.left_until = Some(self.left_until.map_or(until, |earlier| earlier.min(until)));
    }

    /// What a look may claim at once: all that may wait here is of the lanes that it passes over, and there is room for all that
    /// it may find. Such a look goes beside no claim of what [`Schedule::take`] chose: each would use the same room.
    pub fn unseen(&self, rooms: &mut dyn Rooms, now: Instant) -> Unseen {
        if self.more.len() > MOST_PASSED_OVER || self.counts.closed > 0 || !self.heavy.is_empty() {
            return Unseen::default();
        }
        let of_these: usize = self.more.iter().map(|lane| self.lanes[*lane].here).sum();
        let slow_start = self.slow_start.room(&self.capacity, rooms.budget_of_slow_start(), now);
        let fit = self.flights.how_many_fit(rooms.largest()).min(MOST_UNSEEN);
        let up_to = fit.min(slow_start).min(rooms.room_for_anyone(now));
        if up_to == 0 || self.counts.here > of_these {
            return Unseen::default();
        }
        let others = self.flights.iter().filter(|flight| !self.more.contains(&flight.lane));
        let known = others.map(|flight| flight.header.id).chain(self.held.keys().copied()).collect();
        let not_of = self.more.iter().map(|lane| self.lanes[*lane].name.clone()).collect();
        Unseen { up_to, known, not_of }
    }

    /// Whether some lane has more in the database than is here.
    pub fn has_more(&self) -> bool {
        !self.more.is_empty() || !self.left_slow_start.is_empty()
    }

    /// Whether rows were left in the database since the last call of which nothing here tells. Only another round over all lanes,
    /// or a look from the beginning, finds them.
    pub fn take_skipped(&mut self) -> bool {
        std::mem::take(&mut self.skipped)
    }

    /// How many headers of destinations in slow start are here at most, before another lane of theirs comes in.
    /// `untried`: whether the row was never tried. A new one is not to wait behind those that failed and come again.
    fn part_of_slow_start(&self, by: By, untried: bool) -> usize {
        let quarter = self.capacity.headers / 4;
        match by {
            By::Order(_) | By::Round { alone: true } => quarter,
            By::Newest if !untried => quarter + quarter / 4,
            By::Newest | By::Round { alone: false } | By::More => quarter * 2,
        }
    }
}

/// Behind a row.
pub(super) fn behind(header: &Header) -> WalkStart {
    WalkStart::behind(i16::from(header.priority), header.at, header.id.0)
}

/// A message that is too large is claimed without being read: it takes no bytes. Says whether its channel is configured.
pub(super) fn weigh(header: &mut Header, rooms: &dyn Rooms) -> bool {
    let most = rooms.most_bytes(&header.lane.channel);
    header.bytes = if most.is_some_and(|most| header.bytes > most) { 0 } else { header.bytes };
    most.is_some()
}
