//! The messages that this process has claimed and not yet marked: the slots that bound them, and the rows that a claim
//! must leave out.
//!
//! There is one set for the whole process, over all its terms. So a hand-over neither frees the slots of messages still
//! on the wire, nor forgets their rows.

mod room;
#[cfg(test)]
mod tests;

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use outbox_schema::{ClaimId, Epoch, Mark, Message, MessageId, Verdict};
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

pub use self::room::{Kept, KeptFrom, Room, Takers};

/// How long a claim waits, once a slot is free, for a batch that is worth a round trip.
const LINGER: Duration = Duration::from_millis(2);

/// Free slots that are worth a claim even where they are fewer than a quarter: marks are written in groups, and the
/// next group takes a while.
pub(crate) const ENOUGH: usize = 64;

/// The rows in flight and the limits on them.
#[derive(Debug)]
pub struct InFlight {
    max_messages: usize,
    max_bytes: u64,
    state: Mutex<State>,
    freed: Notify,
    /// Given when rows have left flight.
    finishes: Notify,
}

#[derive(Debug, Default)]
struct State {
    messages: HashMap<MessageId, Row>,
    bytes: u64,
    /// Slots freed since rows were last claimed.
    freed_since_claim: usize,
    /// Slots freed since the process began.
    freed: u64,
    /// Rows not yet marked, by claim.
    claims: HashMap<ClaimId, usize>,
    /// Rows of earlier terms' claims that are not settled, as the term of that epoch found them.
    unsettled: (Option<Epoch>, HashSet<MessageId>),
    /// Rows that may have killed a process, and wait to be resent one at a time.
    held_back: HashSet<MessageId>,
    /// Whether rows have left these two sets since the last call of [`InFlight::let_go`].
    let_go: bool,
    /// How often these two sets have changed.
    changes: u64,
    /// Whether a schedule is told of rows that leave flight.
    told: bool,
    /// Rows that left flight since the last call of [`InFlight::finished`], each with whether it is to be found again.
    finished: Vec<(MessageId, bool)>,
}

impl State {
    /// Adds a message, unless it is in flight already.
    fn admits(&mut self, message: &Message) -> bool {
        let Entry::Vacant(place) = self.messages.entry(message.id()) else { return false };
        let row = place.insert(Row { bytes: message.weight(), channel: message.channel.clone() });
        self.bytes += row.bytes;
        true
    }
}

/// A row in flight.
#[derive(Debug)]
struct Row {
    bytes: u64,
    channel: String,
}

impl InFlight {
    /// A set of at most `max_messages` rows and `max_bytes` bytes.
    pub fn new(max_messages: usize, max_bytes: u64) -> Self {
        Self { max_messages, max_bytes, state: Mutex::default(), freed: Notify::new(), finishes: Notify::new() }
    }

    /// Waits until enough slots are free to be worth a claim: a quarter of them, or 64 of many, or any after a moment.
    /// (Half the cost of a claim of an eighth does not depend on its rows.) Where a destination is `full`, free slots
    /// may be of no use to it. Then a quarter must have been freed since the last claim. Where little is free beside what is
    /// `kept`, a claim may take of that, `from` then on.
    ///
    /// # Cancel safety
    /// Safe: nothing is reserved.
    pub async fn room(&self, full: bool, kept: Kept, from: KeptFrom) -> Room {
        let quarter = (self.max_messages / 4).max(1);
        let few = quarter.min(ENOUGH);
        let worthwhile = if full { quarter } else { few };
        let mut until = None;
        loop {
            let freed = self.freed.notified();
            let all = self.present_room();
            let room = all.beside(kept);
            let (of_the_kept, from) = all.of(kept, from);
            let fresh = if full { self.state().freed_since_claim } else { room.messages };
            if all.messages == 0 || all.bytes == 0 {
                freed.await;
            } else if kept != Kept::default()
                && (room.messages < few.min(kept.slots.div_ceil(2)) || room.bytes == 0)
                && Instant::now() >= from
            {
                return of_the_kept;
            } else if room.messages == 0 || room.bytes == 0 {
                let _ = timeout_at(from, freed).await;
            } else if fresh >= worthwhile
                || timeout_at(*until.get_or_insert_with(|| Instant::now() + LINGER), freed).await.is_err()
            {
                return self.present_room().beside(kept);
            }
        }
    }

    /// Waits for slots to be freed, where so many bytes are in flight that they may keep the next row waiting.
    /// Otherwise waits for ever.
    pub async fn bytes_freed(&self) {
        let freed = self.freed.notified();
        if self.present_room().bytes < self.max_bytes / 2 {
            freed.await;
        } else {
            std::future::pending::<()>().await;
        }
    }

    /// Adds the rows of a claim. Returns those that may be sent: none that is in flight, and each once, whatever the claim brought.
    #[must_use]
    pub fn admit(&self, claim: ClaimId, messages: Vec<Message>) -> Vec<Message> {
        let mut state = self.state();
        state.freed_since_claim = 0;
        let brought = messages.len();
        let admitted: Vec<Message> = messages.into_iter().filter(|message| state.admits(message)).collect();
        if !admitted.is_empty() {
            state.claims.insert(claim, admitted.len());
        }
        drop(state);
        if admitted.len() < brought {
            let repeated = brought - admitted.len();
            tracing::error!(claim = %claim.0, repeated, "claim.repeated: rows came twice, or are in flight: sent once");
        }
        admitted
    }

    /// The claims whose last rows are among `marks`: they go with this group.
    pub fn finished_by(&self, marks: &[Mark]) -> Vec<ClaimId> {
        let state = self.state();
        let mut counts: HashMap<ClaimId, usize> = HashMap::new();
        for mark in marks {
            *counts.entry(mark.claim).or_default() += 1;
        }
        counts
            .into_iter()
            .filter(|(claim, count)| state.claims.get(claim) == Some(count))
            .map(|(claim, _)| claim)
            .collect()
    }

    /// Frees the slots of marks that have committed or were refused. Only then may a claim see these rows again.
    pub fn release(&self, marks: &[Mark]) {
        let mut state = self.state();
        state.freed_since_claim += marks.len();
        state.freed = state.freed.saturating_add(u64::try_from(marks.len()).unwrap_or(u64::MAX));
        for mark in marks {
            if let Some(row) = state.messages.remove(&mark.id) {
                state.bytes -= row.bytes;
            }
            if let Some(left) = state.claims.get_mut(&mark.claim) {
                *left -= 1;
                if *left == 0 {
                    state.claims.remove(&mark.claim);
                }
            }
        }
        if state.told {
            state.finished.extend(marks.iter().map(|mark| (mark.id, !matches!(mark.verdict, Verdict::Success { .. }))));
        }
        drop(state);
        self.freed.notify_waiters();
        self.finishes.notify_one();
    }

    /// The rows that the next claim must leave out. The set is taken before the claim's statement begins, so that a row
    /// leaves it only for statements that see its mark.
    pub fn excluded(&self) -> Vec<MessageId> {
        let state = self.state();
        let mut excluded: HashSet<MessageId> = state.messages.keys().copied().collect();
        excluded.extend(&state.unsettled.1);
        excluded.extend(&state.held_back);
        excluded.into_iter().collect()
    }

    /// Replaces the rows whose claims are not settled. A set that an earlier term found comes too late, and is dropped.
    pub fn set_unsettled(&self, epoch: Epoch, messages: &[MessageId]) {
        let mut state = self.state();
        if state.unsettled.0 <= Some(epoch) {
            let unsettled = messages.iter().copied().collect();
            state.let_go |= !state.unsettled.1.is_subset(&unsettled);
            state.unsettled = (Some(epoch), unsettled);
            state.changes += 1;
        }
    }

    /// The rows whose claims are not settled.
    pub fn unsettled(&self) -> Vec<MessageId> {
        self.state().unsettled.1.iter().copied().collect()
    }

    /// Replaces the suspects on hold.
    pub fn set_held_back(&self, messages: HashSet<MessageId>) {
        let mut state = self.state();
        state.let_go |= !state.held_back.is_subset(&messages);
        state.held_back = messages;
        state.changes += 1;
    }

    /// Whether rows that claims had to leave out, and that are not in flight here, may have become free since the last
    /// call.
    pub fn let_go(&self) -> bool {
        std::mem::take(&mut self.state().let_go)
    }

    /// The rows that left flight since the last call, each with whether it is to be found again.
    pub fn finished(&self) -> Vec<(MessageId, bool)> {
        let mut state = self.state();
        state.told = true;
        std::mem::take(&mut state.finished)
    }

    /// Waits until rows have left flight.
    ///
    /// # Cancel safety
    /// Safe: nothing is taken.
    pub async fn finishes(&self) {
        self.finishes.notified().await;
    }

    /// The rows that are on hold because of earlier terms, where they are others than at that count of changes.
    pub fn on_hold(&self, since: &mut Option<u64>) -> Option<HashSet<MessageId>> {
        let state = self.state();
        let is_new = since.replace(state.changes) != Some(state.changes);
        is_new.then(|| state.unsettled.1.union(&state.held_back).copied().collect())
    }

    /// Whether this row is in flight here.
    pub fn contains(&self, id: MessageId) -> bool {
        self.state().messages.contains_key(&id)
    }

    /// How many slots are free.
    pub fn free(&self) -> usize {
        self.max_messages.saturating_sub(self.count())
    }

    /// How many slots have become free since the process began.
    pub fn freed(&self) -> u64 {
        self.state().freed
    }

    /// Rows in flight.
    pub fn count(&self) -> usize {
        self.state().messages.len()
    }

    /// Rows in flight of each channel that has any.
    pub fn by_channel(&self) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        for row in self.state().messages.values() {
            *counts.entry(row.channel.clone()).or_default() += 1;
        }
        counts
    }

    /// How many marks are worth a round trip: a quarter of the messages in flight, or of a quarter of the slots where
    /// that is more. With so few in flight, nothing waits for a slot.
    pub fn worth_marking(&self) -> usize {
        self.count().max(self.max_messages / 4) / 4
    }

    /// Whether more than half of the slots are taken.
    pub fn is_busy(&self) -> bool {
        self.count() > self.max_messages / 2
    }

    /// Whether nothing is in flight, and no row is on hold because of an earlier term.
    pub fn is_quiet(&self) -> bool {
        let state = self.state();
        state.messages.is_empty() && state.unsettled.1.is_empty() && state.held_back.is_empty()
    }

    /// Waits until nothing is in flight. Rows of earlier terms do not count, since other replicas sent them.
    pub async fn drained(&self) {
        loop {
            let freed = self.freed.notified();
            if self.count() == 0 {
                return;
            }
            freed.await;
        }
    }

    fn present_room(&self) -> Room {
        let state = self.state();
        Room {
            messages: self.max_messages.saturating_sub(state.messages.len()),
            takers: Takers::All,
            bytes: self.max_bytes.saturating_sub(state.bytes),
            empty: state.messages.is_empty(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
