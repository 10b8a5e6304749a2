//! What becomes of messages: they are claimed or refused, and marked. And what is not free to go.

use outbox_schema::MessageId;
use outbox_store::Header;
use tokio::time::Instant;

use super::Schedule;
use super::flight::Flight;
use super::keys::{Gate, Through, key_of};
use super::lane::Spot;
use super::looks::weigh;
use super::rooms::Rooms;

impl Schedule {
    /// These were claimed unseen.
    pub fn add_claimed(&mut self, headers: Vec<Header>, rooms: &mut dyn Rooms, now: Instant) {
        for mut header in headers {
            match self.known.get(&header.id) {
                Some((_, Spot::InFlight)) => continue,
                Some((_, Spot::Flow(..) | Spot::Gate)) => {
                    if let Some(key) = self.drop_row(header.id) {
                        self.drop_key(&key, MessageId(i64::MIN));
                    }
                }
                None => {}
            }
            weigh(&mut header, rooms);
            let slow_start_since = rooms.in_slow_start(&header.destination).then_some(now);
            if slow_start_since.is_some() {
                self.slow_start.begin(&self.capacity, &header, now);
            }
            let fair = rooms.fair(&header.lane.channel);
            self.channel(&header.lane.channel, Some(fair));
            let lane = self.note_in_flight(&header);
            self.flights.begin(Flight { header, lane, slow_start_since });
        }
    }

    /// A message is in flight that was not here. Returns the number of its lane.
    pub(super) fn note_in_flight(&mut self, header: &Header) -> usize {
        let lane = self.lane(&header.lane);
        self.lanes[lane].in_flight += 1;
        self.known.insert(header.id, (header.revision, Spot::InFlight));
        if let Some(key) = key_of(header) {
            self.keys.entry(key).or_default().through = Some(Through::InFlight(header.id));
        }
        lane
    }

    /// A claim was asked for this row, and did not return it: it has changed. It is found again.
    pub fn refused(&mut self, id: MessageId) {
        if let Some(header) = self.end(id, true) {
            self.destination_changed(&header.destination);
        }
    }

    /// The mark of a message is written, or it was given back. `again`: it is not finished, and is found again, with all of its
    /// key.
    pub fn finished(&mut self, id: MessageId, again: bool) {
        self.end(id, again);
    }

    fn end(&mut self, id: MessageId, again: bool) -> Option<Header> {
        let Flight { header, lane, slow_start_since } = self.flights.end(id)?;
        self.known.remove(&id);
        if let Some(since) = slow_start_since {
            self.slow_start.end(&self.capacity, &header, since);
        }
        self.lanes[lane].in_flight -= 1;
        if let Some(key) = key_of(&header)
            && let Some(Gate { through, .. }) = self.keys.get_mut(&key)
        {
            *through = None;
            if again {
                self.drop_key(&key, MessageId(i64::MIN));
            } else {
                self.open_gate(&key);
            }
        }
        self.end_lane_if_over(lane);
        Some(header)
    }

    /// A destination answered, opened, or has room for another reason: its flows are tried again.
    pub fn destination_changed(&mut self, destination: &str) {
        if let Some(&destination) = self.destination_of.get(destination) {
            self.note_change(destination);
        }
    }

    /// Something about any destination may have changed: all flows that wait for theirs are tried again.
    pub fn destinations_changed(&mut self) {
        self.skipped |= self.left_until.take().is_some();
        let all: Vec<usize> = self.destination_of.values().copied().collect();
        for destination in all {
            self.note_change(destination);
        }
    }

    /// These rows are not free to go: their claim is not settled, or they are in quarantine.
    pub fn hold(&mut self, ids: impl IntoIterator<Item = MessageId>) {
        for id in ids {
            if self.held.contains_key(&id) {
                continue;
            }
            self.held.insert(id, None);
            if let Some((_, Spot::Flow(flow, rank))) = self.known.get(&id).copied() {
                let key = self.flows[flow].queue.get(&rank).and_then(key_of);
                if let Some(key) = key {
                    self.close_gate_behind(&key, id);
                    self.open_gate(&key);
                } else {
                    let header = self.take_out(flow, rank);
                    self.known.remove(&id);
                    self.held.insert(id, Some(header));
                }
            }
        }
    }

    /// These rows are free to go.
    pub fn free(&mut self, ids: impl IntoIterator<Item = MessageId>) {
        for id in ids {
            let Some(Some(header)) = self.held.remove(&id) else { continue };
            match key_of(&header) {
                Some(key) => self.open_gate(&key),
                None if self.known.contains_key(&id) => {}
                None if self.counts.here < self.capacity.headers => self.put(header),
                None => self.skipped = true,
            }
        }
    }

    /// Drops all of a flow that is here. Its rows are left in the database.
    pub(super) fn leave_flow(&mut self, flow: usize) {
        let headers: Vec<MessageId> = self.flows[flow].queue.values().map(|header| header.id).collect();
        for id in headers {
            if let Some(key) = self.drop_row(id) {
                self.drop_key(&key, id);
            }
        }
    }
}
