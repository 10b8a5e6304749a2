//! Due messages that no turn brings. A tenant's turn is one of its oldest messages, or of its newest. Where thousands of both are
//! for destinations that take nothing, its others are hidden: as where an application writes the same tenant in each row. So the
//! poller also looks over all due messages, in steps.

use std::collections::HashSet;
use std::time::Duration;

use outbox_schema::look::Place;
use outbox_schema::store::{Hidden, HiddenLook};
use tokio::time::Instant;

use crate::in_flight::Room;
use crate::poller::claim::{Batch, Intake};
use crate::term::Term;

/// So many due messages a step looks at, at first: twice as many as the last one where that was [`QUICK`].
const ROWS: u32 = 4096;

/// The most.
const MOST_ROWS: u32 = 65_536;

/// A quick step takes less. One that takes four times as long is followed by one that looks at half as many rows.
const QUICK: Duration = Duration::from_millis(50);

/// A step is told of so many of the destinations that have answered and rest.
const MOST_RESTING: usize = 1_024;

/// Where claims bring something for destinations that have answered, there is no step for this many times as long as the last one took.
/// Else it is once as long.
const RESTS: u32 = 9;

/// The next step comes no sooner than this where the last one came to the end of what is due.
const AGAIN: Duration = Duration::from_millis(500);

/// Where the next step goes on, and when.
#[derive(Debug)]
pub struct HiddenMessages {
    place: Place,
    rows: u32,
    rests_until: Instant,
    /// Whether the last claim brought nothing for destinations that have answered, though there are such.
    missed: bool,
}

impl Default for HiddenMessages {
    fn default() -> Self {
        Self { place: Place::FIRST, rows: ROWS, rests_until: Instant::now(), missed: false }
    }
}

impl HiddenMessages {
    /// Learns from a claim whether it brought nothing for destinations that have answered, though there are such.
    pub fn missed(&mut self, missed: bool) {
        self.missed = missed;
    }

    /// Learns from a step that took so long. Where messages of it were claimed, the next one looks at the same rows again.
    fn learn(&mut self, next: Option<Place>, claimed: bool, took: Duration) {
        let rests = if self.missed || claimed { 1 } else { RESTS };
        let again = if claimed || next.is_some() { Duration::ZERO } else { AGAIN };
        self.rests_until = Instant::now() + again.max(took * rests);
        if claimed {
            return;
        }
        self.place = next.unwrap_or(Place::FIRST);
        if took < QUICK {
            self.rows = (self.rows * 2).min(MOST_ROWS);
        } else if took > QUICK * 4 {
            self.rows = (self.rows / 2).max(ROWS);
        }
    }
}

impl Intake {
    /// Claims messages that no turn brings, where a step of the look for them finds some. None once the term is over, and within it
    /// where there is none.
    pub(super) async fn find_hidden(&mut self, term: &Term, room: Room) -> Option<Option<Batch>> {
        let began = Instant::now();
        if self.turns.next().is_none() || self.turns.hidden.rests_until > began || room.takers.are_kept_for() {
            return Some(None);
        }
        let channels = self.channels.current();
        let mut admission = self.admission(&channels, room);
        if admission.closed.is_empty() && admission.rooms.iter().all(|one| one.room > 0) {
            // Each destination takes something.
            self.turns.hidden.rests_until = began + AGAIN;
            return Some(None);
        }
        let with_room = admission.rooms.iter().filter(|one| one.room > 0).map(|one| one.destination.clone());
        let mut open = self.destinations.answered_before(MOST_RESTING);
        let resting: HashSet<String> = open.iter().cloned().collect();
        open.extend(with_room);
        let excluded = self.in_flight.excluded();
        let limit = u32::try_from(room.messages).unwrap_or(u32::MAX);
        let HiddenMessages { place, rows, .. } = &self.turns.hidden;
        let look = HiddenLook { from: place.clone(), rows: *rows, limit, open: &open, excluded: &excluded };
        let Hidden { mut found, next } = match self.store.hidden(term.id.shard, &look).await {
            Ok(hidden) => hidden,
            Err(error) => {
                tracing::warn!(%error, "poll.hidden_failed");
                self.turns.hidden.learn(None, false, began.elapsed());
                return Some(None);
            }
        };
        let took = began.elapsed();
        found.leave_out(&HashSet::new(), &admission.closed, &admission.closed_channels);
        let mut claimed = None;
        if !found.is_empty() {
            let met = found.destinations().into_iter().filter(|name| resting.contains(*name));
            self.destinations.introduce(&mut admission, met.map(str::to_owned).collect());
            claimed = self.claim_found(term, channels, room, found, admission).await?;
        }
        self.turns.hidden.learn(next, claimed.is_some(), took);
        Some(claimed.map(|(batch, _)| batch))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many rows the next step looks at, and how long it waits.
    fn learned(hidden: &mut HiddenMessages, goes_on: bool, claimed: bool, took: Duration) -> (u32, Duration) {
        hidden.learn(goes_on.then_some(Place::FIRST), claimed, took);
        (hidden.rows, hidden.rests_until - Instant::now())
    }

    #[tokio::test(start_paused = true)]
    async fn a_step_looks_at_as_much_as_it_can_soon() {
        let mut hidden = HiddenMessages::default();
        let [quick, long, too_long] = [20, 100, 300].map(Duration::from_millis);
        let mut step = |took| learned(&mut hidden, true, false, took).0;
        assert_eq!([quick, quick, long, too_long].map(&mut step), [8_192, 16_384, 16_384, 8_192]);
        assert_eq!([quick, quick, quick, quick].map(&mut step), [16_384, 32_768, MOST_ROWS, MOST_ROWS]);
        assert_eq!(step(too_long), MOST_ROWS / 2);
        assert_eq!(learned(&mut hidden, true, true, quick).0, MOST_ROWS / 2, "it found some, and is taken again");
    }

    #[tokio::test(start_paused = true)]
    async fn steps_take_a_tenth_of_the_time_and_half_where_claims_bring_nothing() {
        let (mut hidden, took) = (HiddenMessages::default(), Duration::from_millis(40));
        assert_eq!(learned(&mut hidden, true, false, took).1, took * 9);
        assert_eq!(learned(&mut hidden, true, true, took).1, took, "it found some");
        hidden.missed(true);
        assert_eq!(learned(&mut hidden, true, false, took).1, took);
        assert_eq!(learned(&mut hidden, false, false, took).1, AGAIN, "it came to the end");
    }
}
