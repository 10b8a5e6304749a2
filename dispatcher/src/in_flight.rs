//! The messages that this process has claimed and not yet marked: the slots that bound them, and the rows that a claim
//! must leave out.
//!
//! There is one set for the whole process, over all its terms. So a hand-over neither frees the slots of messages still
//! on the wire, nor forgets their rows.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use outbox_schema::{ClaimId, Epoch, Mark, Message, MessageId};
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

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
}

#[derive(Debug, Default)]
struct State {
    /// The bytes of each row.
    messages: HashMap<MessageId, u64>,
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
}

/// What is kept for destinations that have less in flight than others.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Kept {
    /// The number of slots.
    pub slots: usize,
    /// The bytes of payload, target and headers.
    pub bytes: u64,
    /// Whether a half of it is for those with less than their share. The other half is for those with nothing in flight.
    pub shared: bool,
}

/// When claims may take of what is kept.
#[derive(Debug, Clone, Copy)]
pub struct KeptFrom {
    /// For destinations with less than their share.
    pub below_shares: Instant,
    /// For destinations with nothing in flight.
    pub idle: Instant,
}

impl KeptFrom {
    /// The same time for both.
    pub fn both(from: Instant) -> Self {
        Self { below_shares: from, idle: from }
    }
}

/// The destinations for which a claim takes messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takers {
    /// All of them.
    All,
    /// All of them, none more than its share.
    WithinShares,
    /// Those with less than their share, of what is kept.
    BelowShares,
    /// Those with nothing in flight, one message each, of what is kept.
    Idle,
}

impl Takers {
    /// Whether the claim takes of what is kept.
    pub fn are_kept_for(self) -> bool {
        matches!(self, Self::BelowShares | Self::Idle)
    }
}

/// How much more a claim may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// The number of rows.
    pub messages: usize,
    /// For whom it is.
    pub takers: Takers,
    /// The bytes of payload, target and headers.
    pub bytes: u64,
    /// Whether no message of this process is in flight.
    pub empty: bool,
}

impl Room {
    fn beside(self, kept: Kept) -> Self {
        // A message that is as large as all that may be in flight goes where nothing else does.
        let bytes = if self.empty { self.bytes } else { self.bytes.saturating_sub(kept.bytes) };
        Self { messages: self.messages.saturating_sub(kept.slots), bytes, ..self }
    }

    /// What a claim may take that takes of what is kept, and from when on.
    fn of(self, kept: Kept, from: KeptFrom) -> (Self, Instant) {
        let half = self.beside(Kept { slots: kept.slots / 2, bytes: kept.bytes / 2, ..kept });
        if kept.shared && half.messages > 0 && half.bytes > 0 {
            (Self { takers: Takers::BelowShares, ..half }, from.below_shares)
        } else {
            (Self { takers: Takers::Idle, ..self }, from.idle)
        }
    }
}

impl InFlight {
    /// A set of at most `max_messages` rows and `max_bytes` bytes.
    pub fn new(max_messages: usize, max_bytes: u64) -> Self {
        Self { max_messages, max_bytes, state: Mutex::default(), freed: Notify::new() }
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

    /// Adds the rows of a claim.
    pub fn admit(&self, claim: ClaimId, messages: &[Message]) {
        let mut state = self.state();
        state.freed_since_claim = 0;
        for message in messages {
            let bytes = message.weight();
            state.bytes += bytes;
            state.messages.insert(message.id(), bytes);
        }
        if !messages.is_empty() {
            state.claims.insert(claim, messages.len());
        }
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
            if let Some(bytes) = state.messages.remove(&mark.id) {
                state.bytes -= bytes;
            }
            if let Some(left) = state.claims.get_mut(&mark.claim) {
                *left -= 1;
                if *left == 0 {
                    state.claims.remove(&mark.claim);
                }
            }
        }
        drop(state);
        self.freed.notify_waiters();
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
    }

    /// Whether rows that claims had to leave out, and that are not in flight here, may have become free since the last
    /// call.
    pub fn let_go(&self) -> bool {
        std::mem::take(&mut self.state().let_go)
    }

    /// Whether this row is in flight here.
    pub fn contains(&self, id: MessageId) -> bool {
        self.state().messages.contains_key(&id)
    }

    /// How many slots have become free since the process began.
    pub fn freed(&self) -> u64 {
        self.state().freed
    }

    /// Rows in flight.
    pub fn count(&self) -> usize {
        self.state().messages.len()
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::mark;

    fn message(id: i64, bytes: usize) -> Message {
        Message { payload: "x".repeat(bytes), target: String::new(), ..crate::fixtures::message(id) }
    }

    fn now() -> KeptFrom {
        KeptFrom::both(Instant::now())
    }

    #[test]
    fn a_claim_is_finished_by_the_group_that_has_its_last_row() {
        let in_flight = InFlight::new(8, 1000);
        let claim = ClaimId::mint();
        in_flight.admit(claim, &[message(1, 10), message(2, 10), message(3, 10)]);
        let first = [mark(claim, 1), mark(claim, 2)];
        assert_eq!(in_flight.finished_by(&first), []);
        in_flight.release(&first);
        assert_eq!(in_flight.finished_by(&[mark(claim, 3)]), [claim]);
    }

    #[tokio::test]
    async fn slots_and_bytes_are_taken_by_a_claim_and_freed_by_a_mark() {
        let in_flight = InFlight::new(8, 1000);
        let claim = ClaimId::mint();
        in_flight.admit(claim, &[message(1, 300), message(2, 200)]);
        assert_eq!(
            in_flight.room(false, Kept::default(), now()).await,
            Room { messages: 6, takers: Takers::All, bytes: 500, empty: false }
        );
        in_flight.release(&[mark(claim, 1), mark(claim, 2)]);
        assert_eq!(
            in_flight.room(false, Kept::default(), now()).await,
            Room { messages: 8, takers: Takers::All, bytes: 1000, empty: true }
        );
    }

    #[test]
    fn what_is_in_flight_unsettled_or_held_back_is_left_out_of_the_next_claim() {
        let in_flight = InFlight::new(8, 1000);
        in_flight.admit(ClaimId::mint(), &[message(1, 10)]);
        in_flight.set_unsettled(Epoch(7), &[MessageId(2)]);
        in_flight.set_held_back([MessageId(3)].into());
        let mut excluded = in_flight.excluded();
        excluded.sort();
        assert_eq!(excluded, [1, 2, 3].map(MessageId));
        assert!(!in_flight.is_quiet());
    }

    #[test]
    fn what_an_earlier_term_found_unsettled_does_not_replace_what_a_later_one_did() {
        let in_flight = InFlight::new(8, 1000);
        in_flight.set_unsettled(Epoch(8), &[MessageId(2)]);
        in_flight.set_unsettled(Epoch(7), &[]);
        assert_eq!(in_flight.excluded(), [MessageId(2)]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_full_house_waits_for_a_mark() {
        let in_flight = std::sync::Arc::new(InFlight::new(1, 1000));
        let claim = ClaimId::mint();
        in_flight.admit(claim, &[message(1, 10)]);
        let waiting = tokio::spawn({
            let in_flight = in_flight.clone();
            async move { in_flight.room(false, Kept::default(), now()).await }
        });
        tokio::time::sleep(Duration::from_mins(1)).await;
        assert!(!waiting.is_finished());
        in_flight.release(&[mark(claim, 1)]);
        assert!(waiting.await.is_ok_and(|room| room.messages == 1));
    }

    #[tokio::test(start_paused = true)]
    async fn of_many_slots_a_claim_does_not_wait_for_a_quarter_unless_a_destination_is_full() {
        let in_flight = InFlight::new(1_500, 10_000);
        let claim = ClaimId::mint();
        let messages: Vec<Message> = (0..1_500).map(|id| message(id, 1)).collect();
        in_flight.admit(claim, &messages);
        let marks: Vec<Mark> = (0..64).map(|id| mark(claim, id)).collect();
        in_flight.release(&marks);
        let began = Instant::now();
        assert_eq!(in_flight.room(false, Kept::default(), now()).await.messages, marks.len());
        assert_eq!(began.elapsed(), Duration::ZERO);
        assert_eq!(in_flight.room(true, Kept::default(), now()).await.messages, marks.len());
        assert_eq!(began.elapsed(), LINGER);
    }

    #[tokio::test(start_paused = true)]
    async fn slots_that_are_kept_are_for_claims_of_their_own_while_few_others_are_free() {
        const AGAIN: Duration = Duration::from_millis(50);
        let in_flight = InFlight::new(64, 1000);
        let (claim, began) = (ClaimId::mint(), Instant::now());
        let kept = Kept { slots: 8, bytes: 125, shared: false };
        let room = async || {
            let Room { messages, takers, .. } = in_flight.room(false, kept, KeptFrom::both(began + AGAIN)).await;
            (messages, takers.are_kept_for())
        };
        in_flight.admit(claim, &(0..40).map(|id| message(id, 1)).collect::<Vec<_>>());
        assert_eq!(room().await, (16, false));
        in_flight.admit(claim, &(40..54).map(|id| message(id, 1)).collect::<Vec<_>>());
        assert_eq!(room().await, (2, false), "it is not yet time for one");
        in_flight.admit(claim, &[message(54, 1), message(55, 1)]);
        assert_eq!(room().await, (8, true));
        assert_eq!(began.elapsed(), AGAIN);
        in_flight.release(&[mark(claim, 55)]);
        assert_eq!(room().await, (9, true), "few others are free");
        in_flight.release(&(0..15).map(|id| mark(claim, id)).collect::<Vec<_>>());
        assert_eq!(room().await, (16, false));
        in_flight.admit(ClaimId::mint(), &[message(60, 900)]);
        assert_eq!(room().await, (23, true), "few bytes are free");
    }

    #[tokio::test(start_paused = true)]
    async fn a_half_of_what_is_kept_is_for_those_with_less_than_their_share() {
        let in_flight = InFlight::new(64, 1000);
        let claim = ClaimId::mint();
        let kept = Kept { slots: 8, bytes: 125, shared: true };
        let room = async || {
            let room = in_flight.room(false, kept, now()).await;
            (room.messages, room.bytes, room.takers)
        };
        in_flight.admit(claim, &(0..56).map(|id| message(id, 1)).collect::<Vec<_>>());
        let left = 1000 - 56;
        assert_eq!(room().await, (4, left - 62, Takers::BelowShares));
        in_flight.admit(claim, &(56..60).map(|id| message(id, 1)).collect::<Vec<_>>());
        assert_eq!(room().await, (4, left - 4, Takers::Idle), "the other half");
    }

    #[tokio::test(start_paused = true)]
    async fn bytes_are_kept_also_where_no_slot_is() {
        let in_flight = InFlight::new(4, 1000);
        in_flight.admit(ClaimId::mint(), &[message(1, 900)]);
        let kept = Kept { slots: 0, bytes: 125, shared: false };
        let room = in_flight.room(false, kept, now()).await;
        assert_eq!((room.messages, room.bytes, room.takers), (3, 100, Takers::Idle));
    }

    #[tokio::test]
    async fn a_message_as_large_as_all_that_may_be_in_flight_has_room_where_nothing_is() {
        let kept = Kept { slots: 8, bytes: 125, shared: false };
        let room = InFlight::new(64, 1000).room(false, kept, now()).await;
        assert_eq!((room.messages, room.bytes), (56, 1000));
    }

    #[tokio::test(start_paused = true)]
    async fn a_trickle_of_free_slots_puts_a_claim_off_once() {
        const SLOTS: i64 = 64;
        let in_flight = InFlight::new(64, 1000);
        let claim = ClaimId::mint();
        let messages: Vec<Message> = (0..SLOTS).map(|id| message(id, 1)).collect();
        in_flight.admit(claim, &messages);
        let trickle = async {
            for id in 0..SLOTS {
                in_flight.release(&[mark(claim, id)]);
                tokio::time::sleep(LINGER / 2).await;
            }
        };
        let began = Instant::now();
        let room = tokio::select! {
            biased;
            room = in_flight.room(false, Kept::default(), now()) => room,
            () = trickle => panic!("it waited for all"),
        };
        assert_eq!(began.elapsed(), LINGER);
        assert!(room.messages <= 3, "{room:?}");
    }
}
