//! The messages that this process has claimed and not yet marked: the slots that bound them, and the rows that a claim
//! must leave out.
//!
//! There is one set for the whole process, over all its terms. So a hand-over neither frees the slots of messages still
//! on the wire, nor forgets their rows.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap, HashSet};

use outbox_schema::MessageId;
use outbox_store::{ClaimId, Epoch, Mark, Message, Verdict};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;

/// The rows in flight and the limits on them.
#[derive(Debug)]
pub struct InFlight {
    max_messages: usize,
    state: Mutex<State>,
    freed: Notify,
    /// Given when rows have left flight.
    finishes: Notify,
}

#[derive(Debug, Default)]
struct State {
    /// The channel of each row in flight.
    messages: HashMap<MessageId, String>,
    /// Rows not yet marked, by claim.
    claims: HashMap<ClaimId, usize>,
    /// Rows of earlier terms' claims that are not settled, as the term of that epoch found them.
    unsettled: (Option<Epoch>, HashSet<MessageId>),
    /// Rows that may have killed a process, and wait to be resent one at a time.
    held_back: HashSet<MessageId>,
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
        place.insert(message.channel.clone());
        true
    }
}

impl InFlight {
    /// A set of at most `max_messages` rows.
    pub fn new(max_messages: usize) -> Self {
        Self { max_messages, state: Mutex::default(), freed: Notify::new(), finishes: Notify::new() }
    }

    /// Adds the rows of a claim. Returns those that may be sent: none that is in flight, and each once, whatever the claim brought.
    #[must_use]
    pub fn admit(&self, claim: ClaimId, messages: Vec<Message>) -> Vec<Message> {
        let mut state = self.state();
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
        for mark in marks {
            state.messages.remove(&mark.id);
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
            state.unsettled = (Some(epoch), messages.iter().copied().collect());
            state.changes += 1;
        }
    }

    /// The rows whose claims are not settled.
    pub fn unsettled(&self) -> Vec<MessageId> {
        self.state().unsettled.1.iter().copied().collect()
    }

    /// Replaces the rows in quarantine.
    pub fn set_held_back(&self, messages: HashSet<MessageId>) {
        let mut state = self.state();
        state.held_back = messages;
        state.changes += 1;
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

    /// Rows in flight.
    pub fn count(&self) -> usize {
        self.state().messages.len()
    }

    /// Rows in flight of each channel that has any.
    pub fn by_channel(&self) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        for channel in self.state().messages.values() {
            *counts.entry(channel.clone()).or_default() += 1;
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

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
