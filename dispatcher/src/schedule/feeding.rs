//! Lanes of which the database has more than is here, and how they are fed.
//!
//! Such a lane has a few headers here and its place in the database, and is fed behind that place as it runs low. Rows can become
//! due before that place: transactions commit in another order than they began, and pauses end. So a lane that goes on being fed
//! is fed from the beginning every [`FROM_THE_BEGINNING`]. A flow that cannot go has [`MOST_PARKED`] headers here at most: the
//! lane is fed with what lies behind, and from the beginning once that flow runs low.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use outbox_store::{Header, LaneLook, WalkStart};
use tokio::time::Instant;

use super::Schedule;
use super::lane::{Feeding, FlowState, LaneState};
use super::looks::{Added, By, behind};
use super::parking::MOST_PARKED;
use super::rooms::Rooms;

/// So many headers a lane may have here at least, however many lanes have more. A flow with no more is low.
const FEW: usize = 8;

/// How often a lane is fed from the beginning.
const FROM_THE_BEGINNING: Duration = Duration::from_secs(5);

impl Schedule {
    /// The lanes to look at next, and how many rows of each priority and lane.
    pub fn hungry(&mut self, now: Instant) -> Option<(Vec<LaneLook>, u32)> {
        if self.counts.here >= self.capacity.headers {
            return None;
        }
        let per_lane = self.per_lane();
        let most = (self.capacity.headers / 4 / per_lane).clamp(1, 256);
        let mut looks = Vec::new();
        while looks.len() < most
            && let Some(lane) = self.hungry.pop_front()
        {
            let Some(of) = self.lanes.get_mut(lane) else { continue };
            of.feeding = Feeding::Rests;
            let Some(more) = &mut of.more else { continue };
            if of.begun.is_none_or(|begun| now.saturating_duration_since(begun) >= FROM_THE_BEGINNING) {
                (*more, of.begun) = (WalkStart::default(), Some(now));
            }
            (of.feeding, of.passed) = (Feeding::Asked, false);
            looks.push(LaneLook { lane: of.name.clone(), behind: *more });
        }
        (!looks.is_empty()).then(|| (looks, u32::try_from(per_lane).unwrap_or(u32::MAX)))
    }

    /// Takes in what a look at these lanes brought, which was to bring `limit` rows of each priority. A lane that brought fewer
    /// has no more.
    pub fn add_fed(
        &mut self,
        asked: &[LaneLook],
        limit: u32,
        page: Vec<Header>,
        rooms: &mut dyn Rooms,
        now: Instant,
    ) -> Added {
        let mut added = Added::default();
        let mut brought: HashMap<(usize, u8), u32> = HashMap::new();
        let mut stopped: HashSet<(usize, u8)> = HashSet::new();
        for header in page {
            let Some(&lane) = self.lane_of.get(&header.lane) else { continue };
            let of = (lane, header.priority);
            *brought.entry(of).or_default() += 1;
            if stopped.contains(&of) {
                added.passed_over += 1;
                continue;
            }
            let behind = behind(&header);
            let full = self.counts.here >= self.capacity.headers && self.is_new(&header);
            if full {
                stopped.insert(of);
            } else if let LaneState { more: Some(more), passed: false, .. } = &mut self.lanes[lane] {
                *more = behind.or(*more);
            }
            if full || self.note_left(lane, &header) || self.note_left_slow_start(lane, &header, rooms) {
                added.passed_over += 1;
            } else {
                self.take_in(header, By::More, &mut added, rooms, now);
            }
        }
        let full: Vec<usize> = brought.iter().filter(|(_, rows)| **rows >= limit).map(|((lane, _), _)| *lane).collect();
        let goes_on: HashSet<usize> = full.into_iter().chain(stopped.into_iter().map(|(lane, _)| lane)).collect();
        for look in asked {
            let Some(&lane) = self.lane_of.get(&look.lane) else { continue };
            let of = &mut self.lanes[lane];
            of.feeding = Feeding::Rests;
            if !std::mem::take(&mut of.passed) && !goes_on.contains(&lane) {
                of.more = None;
                self.more.remove(&lane);
                self.end_lane_if_over(lane);
            } else {
                self.note_if_low(lane);
            }
        }
        added
    }

    /// A look at these lanes failed: they are to be looked at again.
    pub fn not_fed(&mut self, asked: &[LaneLook]) {
        for look in asked {
            if let Some(&lane) = self.lane_of.get(&look.lane) {
                self.lanes[lane].feeding = Feeding::Rests;
                self.note_if_low(lane);
            }
        }
    }

    /// A lane has more in the database, behind that place.
    pub(super) fn leave(&mut self, lane: usize, behind: WalkStart) {
        let of = &mut self.lanes[lane];
        of.passed |= of.feeding == Feeding::Asked;
        if of.more.is_none() {
            of.more = Some(behind);
            self.more.insert(lane);
            self.note_if_low(lane);
        }
    }

    /// A row of a lane is left in the database, which is known up to that place.
    pub(super) fn leave_row(&mut self, lane: usize, header: &Header, seen: WalkStart) {
        let of = &mut self.lanes[lane];
        if of.more.is_some_and(|more| !more.is_before(header.priority.into(), header.at, header.id.0)) {
            of.begun = None;
        }
        self.leave(lane, seen);
    }

    /// A lane is to be fed from the beginning.
    pub(super) fn begin_again(&mut self, lane: usize) {
        let of = &mut self.lanes[lane];
        (of.more, of.begun) = (Some(WalkStart::default()), None);
        of.passed |= of.feeding == Feeding::Asked;
        self.more.insert(lane);
        self.note_if_low(lane);
    }

    /// Where a flow of which rows were left has few here, its lane is fed from the beginning.
    pub(super) fn fill_again(&mut self, flow: usize) {
        let of = &mut self.flows[flow];
        if of.left && of.queue.len() <= FEW {
            of.left = false;
            let lane = of.lane;
            self.begin_again(lane);
        }
    }

    /// Notes whether a lane runs low, and has more in the database.
    pub(super) fn note_if_low(&mut self, lane: usize) {
        let per_lane = self.per_lane();
        let of = &mut self.lanes[lane];
        if of.more.is_some() && of.feeding == Feeding::Rests && of.can_go() <= per_lane / 2 {
            of.feeding = Feeding::Hungry;
            self.hungry.push_back(lane);
        }
    }

    /// How many headers a lane may have here, while others have more in the database too.
    pub(super) fn per_lane(&self) -> usize {
        let most = (self.capacity.slots * 2).max(FEW);
        (self.capacity.headers / 4 / self.more.len().max(1)).clamp(FEW, most)
    }

    /// Whether a row is left in the database since it is for a destination in slow start, and half of all headers are.
    fn note_left_slow_start(&mut self, lane: usize, header: &Header, rooms: &mut dyn Rooms) -> bool {
        let leaves = self.counts.for_slow_start >= self.capacity.headers / 2
            && self.is_for_slow_start(header, rooms)
            && self.is_new(header);
        if leaves {
            self.left_slow_start.insert(lane);
        }
        leaves
    }

    /// Has the lanes fed from the beginning of which rows for destinations in slow start were left, once few of these are here.
    pub(super) fn bring_slow_start(&mut self) {
        if self.counts.for_slow_start < self.capacity.headers / 4 {
            for lane in std::mem::take(&mut self.left_slow_start) {
                self.begin_again(lane);
            }
        }
    }

    /// How many headers of the flow of a row are here.
    pub(super) fn headers_for(&self, header: &Header) -> usize {
        let (lane, destination) = (self.lane_of.get(&header.lane), self.destination_of.get(&header.destination));
        let flow = lane.zip(destination).and_then(|(lane, destination)| self.flow_of.get(&(*lane, *destination)));
        flow.map_or(0, |flow| self.flows[*flow].queue.len())
    }

    /// Whether a row is left in the database since its flow, which is parked, has many here.
    pub(super) fn note_left(&mut self, lane: usize, header: &Header) -> bool {
        let Some(&destination) = self.destination_of.get(&header.destination) else { return false };
        let Some(&flow) = self.flow_of.get(&(lane, destination)) else { return false };
        let of = &mut self.flows[flow];
        let left = of.queue.len() >= MOST_PARKED && of.state != FlowState::Open;
        of.left |= left;
        left
    }
}
