//! Due messages that no turn brings. A tenant's turn is one of its oldest messages, or of its newest. Where thousands of both are
//! for destinations that take nothing, its others are hidden: as where an application writes the same tenant in each row. So the
//! poller also looks over all due messages, in steps, while it goes on claiming.

use std::collections::HashSet;
use std::time::Duration;

use outbox_schema::StoreError;
use outbox_schema::look::Place;
use outbox_schema::store::{Hidden, HiddenLook};
use tokio::task::JoinHandle;
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

/// Where claims bring something for destinations that have answered, steps rest for this many times as long as the last one took,
/// and else as long.
const RESTS: u32 = 4;

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
    /// The step that is being taken.
    step: Option<Step>,
}

/// A step on its way. Nobody waits for it: claims go on meanwhile.
#[derive(Debug)]
struct Step(JoinHandle<(Result<Hidden, StoreError>, Duration)>);

impl Drop for Step {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Default for HiddenMessages {
    fn default() -> Self {
        Self { place: Place::FIRST, rows: ROWS, rests_until: Instant::now(), missed: false, step: None }
    }
}

impl HiddenMessages {
    /// Learns from a claim whether it brought nothing for destinations that have answered, though there are such.
    pub fn missed(&mut self, missed: bool) {
        self.missed = missed;
    }

    /// Forgets the step that is being taken.
    pub fn forget(&mut self) {
        self.step = None;
    }

    /// Takes out what a step brought that has ended, and how long it took.
    async fn ended(&mut self) -> Option<(Result<Hidden, StoreError>, Duration)> {
        self.step.as_ref().filter(|step| step.0.is_finished())?;
        (&mut self.step.take()?.0).await.ok()
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
    /// Claims messages that no turn brings, where a step of the look for them has found some, and begins the next step. None once the
    /// term is over, and within it where there is nothing to claim.
    pub(super) async fn find_hidden(&mut self, term: &Term, room: Room) -> Option<Option<Batch>> {
        if room.takers.are_kept_for() {
            return Some(None);
        }
        let Some((hidden, took)) = self.turns.hidden.ended().await else {
            self.look_for_hidden(term, room);
            return Some(None);
        };
        let Hidden { mut found, next } = hidden.unwrap_or_else(|error| {
            tracing::warn!(%error, "poll.hidden_failed");
            Hidden::default()
        });
        let channels = self.channels.current();
        let mut admission = self.admission(&channels, room);
        let excluded: HashSet<_> = self.in_flight.excluded().into_iter().collect();
        found.leave_out(&excluded, &admission.closed, &admission.closed_channels);
        let mut claimed = None;
        if !found.is_empty() {
            let told: HashSet<&str> = admission.rooms.iter().map(|one| one.destination.as_str()).collect();
            let others = found.destinations().into_iter().filter(|name| !told.contains(name));
            let others = others.map(str::to_owned).collect();
            self.destinations.tell_of(&mut admission, others);
            claimed = self.claim_found(term, channels, room, found, admission).await?;
        }
        self.turns.hidden.learn(next, claimed.is_some(), took);
        Some(claimed.map(|(batch, _)| batch))
    }

    /// Begins a step, where tenants take turns, and some destinations take nothing while others take something.
    fn look_for_hidden(&mut self, term: &Term, room: Room) {
        let began = Instant::now();
        let HiddenMessages { step, rests_until, .. } = &self.turns.hidden;
        if step.is_some() || *rests_until > began || self.turns.next().is_none() {
            return;
        }
        let admission = self.admission(&self.channels.current(), room);
        if admission.closed.is_empty() && admission.rooms.iter().all(|one| one.room > 0) {
            self.turns.hidden.rests_until = began + AGAIN;
            return;
        }
        let mut open = self.destinations.answered_before(MOST_RESTING);
        open.extend(admission.rooms.into_iter().filter(|one| one.room > 0).map(|one| one.destination));
        let excluded = self.in_flight.excluded();
        let limit = u32::try_from(room.messages).unwrap_or(u32::MAX);
        let (from, rows) = (self.turns.hidden.place.clone(), self.turns.hidden.rows);
        let (store, shard, wakeup) = (self.store.clone(), term.id.shard, self.wakeup.clone());
        self.turns.hidden.step = Some(Step(tokio::spawn(async move {
            let look = HiddenLook { from, rows, limit, open: &open, excluded: &excluded };
            let hidden = store.hidden(shard, &look).await;
            if hidden.as_ref().is_ok_and(|hidden| !hidden.found.is_empty()) {
                wakeup.notify_one();
            }
            (hidden, began.elapsed())
        })));
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
    async fn steps_take_a_fifth_of_the_time_and_half_where_claims_bring_nothing() {
        let (mut hidden, took) = (HiddenMessages::default(), Duration::from_millis(140));
        assert_eq!(learned(&mut hidden, true, false, took).1, took * 4);
        assert_eq!(learned(&mut hidden, true, true, took).1, took, "it found some");
        hidden.missed(true);
        assert_eq!(learned(&mut hidden, true, false, took).1, took);
        assert_eq!(learned(&mut hidden, false, false, took).1, AGAIN, "it came to the end");
    }
}
