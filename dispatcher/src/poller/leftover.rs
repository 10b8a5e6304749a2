//! What a claim found and left, where tenants take turns. To look at hundreds of tenants takes far longer than to claim their rows.
//! So the next claims take what the last look found, as long as that is new, and enough of it is for destinations that have answered.

use std::collections::HashSet;
use std::time::Duration;

use outbox_schema::{Found, Message, MessageId};
use tokio::time::Instant;

use crate::destinations::Admission;
use crate::in_flight::{ENOUGH, Room};
use crate::poller::claim::{Batch, Intake};
use crate::term::Term;

/// For so long claims take what a look found. Whoever writes meanwhile waits for the next look.
const FRESH: Duration = Duration::from_millis(250);

/// What the last look found and no claim has taken.
#[derive(Debug, Default)]
pub struct Leftover {
    found: Found,
    /// When it was looked for. None: nothing is left.
    since: Option<Instant>,
}

impl Leftover {
    /// Keeps what a claim for this `room` left of what was looked for at `since`. Where it took few, there is no room for what it
    /// left.
    pub fn keep_of(&mut self, taken: &[Message], room: Room, found: Found, since: Instant) {
        let found = found.of_turns();
        let keeps = taken.len() >= room.messages.min(ENOUGH) && !found.is_empty();
        *self = Self { since: keeps.then_some(since), found };
    }

    /// Takes out what may be claimed now, and when it was looked for.
    pub fn take(&mut self, admission: &Admission, excluded: &[MessageId]) -> Option<(Found, Instant)> {
        let since = self.since.take().filter(|since| since.elapsed() < FRESH)?;
        let mut found = std::mem::take(&mut self.found);
        let excluded: HashSet<_> = excluded.iter().copied().collect();
        found.leave_out(&excluded, &admission.closed, &admission.closed_channels);
        Some((found, since))
    }

    /// Whether the last look left no rows.
    pub fn is_empty(&self) -> bool {
        self.since.is_none()
    }

    /// Forgets what was left.
    pub fn forget(&mut self) {
        *self = Self::default();
    }
}

impl Intake {
    /// Claims of what the last claim found and left, without a look. None once the term is over, and within it where too little is
    /// left.
    pub(super) async fn find_left(&mut self, term: &Term, room: Room) -> Option<Option<Batch>> {
        if self.in_flight.let_go() {
            self.start.forget();
            self.turns.leftover.forget();
        }
        if self.turns.leftover.is_empty() || room.takers.are_kept_for() {
            return Some(None);
        }
        let (channels, began) = (self.channels.current(), Instant::now());
        let mut admission = self.admission(&channels, room);
        let excluded = self.in_flight.excluded();
        let Some((found, since)) = self.turns.leftover.take(&admission, &excluded) else { return Some(None) };
        let destinations: Vec<String> = found.destinations().into_iter().map(str::to_owned).collect();
        let worthwhile = room.messages.min(ENOUGH);
        if destinations.len() < worthwhile {
            // Few destinations may have many rows each, and whoever wrote meanwhile would wait for those.
            return Some(None);
        }
        if self.recall(&destinations).await.is_err() {
            return Some(None); // the claim that looks anew says what is wrong
        }
        self.destinations.introduce(&mut admission, destinations);
        if found.fitting(&admission.rooms) < worthwhile / 2 {
            // Most of it is for strangers, who may be silent.
            return Some(None);
        }
        let Some((batch, left)) = self.claim_found(term, channels, room, found, admission).await? else {
            return Some(None);
        };
        self.metrics.polled(began.elapsed());
        self.turns.leftover.keep_of(&batch.messages, room, left, since);
        Some(Some(batch))
    }
}
