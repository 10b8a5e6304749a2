//! Intake: claims due rows as soon as there is room for them.
//!
//! Every row is claimed in the database, and the claim is committed, before it is sent. One claim is made at a time.
//! The rows to leave out are collected before it begins.

pub(super) mod given_up;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use outbox_schema::{
    ClaimId, ClaimRequest, Claimed, Found, KeyStretch, Message, Store, StoreError, TermEnd, Turns, WalkStart,
};
use tokio::sync::Notify;

use self::given_up::Claiming;
use crate::backoff::Backoff;
use crate::destinations::{Admission, Destinations};
use crate::in_flight::{InFlight, Room, Takers};
use crate::in_force::InForce;
use crate::metrics::Metrics;
use crate::poller::attention::Attention;
use crate::poller::channels::Channels;
use crate::poller::kept::KeptClaims;
use crate::poller::marking::Marking;
use crate::poller::measure::Measure;
use crate::poller::ordering_keys::OrderingKeys;
use crate::poller::suspects::Suspects;
use crate::poller::turns::{Left, TurnTaking};
use crate::poller::walk::{Proof, Start};
use crate::term::Term;

/// How long rows of a channel that is not configured are deferred.
pub(super) const UNKNOWN_CHANNEL_DELAY: Duration = Duration::from_mins(5);

/// Added to the settling time, so that the last mark can be written.
pub const SETTLING_MARGIN: Duration = Duration::from_secs(1);

/// The shortest wait for a destination that takes messages again.
const SHORTEST_WAIT: Duration = Duration::from_millis(10);

/// How long a poller waits that found nothing for which there is room, where tenants take turns: others may have room.
const TURNS_AGAIN: Duration = Duration::from_millis(100);

/// How often the loop shows that it is alive while it waits.
const SIGN_OF_LIFE: Duration = Duration::from_secs(1);

/// Claims due messages for the poller. It belongs to the loop; what is in an [`Arc`] or [`InForce`] others use too.
#[derive(Debug)]
pub struct Intake {
    /// The outbox database.
    pub store: Arc<dyn Store>,
    /// What is in flight, and the room beside it.
    pub in_flight: Arc<InFlight>,
    /// Rows that are resent one at a time.
    pub suspects: Arc<Suspects>,
    /// The configured channels.
    pub channels: InForce<Channels>,
    /// The state of each destination.
    pub destinations: Arc<Destinations>,
    /// Where walks begin.
    pub start: Start,
    /// Of which ordering keys they look at the heads.
    pub keys: OrderingKeys,
    /// Given when there may be something to poll.
    pub wakeup: Arc<Notify>,
    /// How soon to look again without one.
    pub attention: Attention,
    /// Whose turn it is where more is due than a claim takes.
    pub turns: TurnTaking,
    /// What the next claim must know of the last ones.
    pub last: LastClaims,
    /// How much a claim may ask for.
    pub size: ClaimSize,
    /// Whether marks can be written. Nothing is claimed while they cannot.
    pub marking: Arc<Marking>,
    /// Longest wait between two polls.
    pub poll_interval: Duration,
    /// Time to live of the lease: part of the settling time.
    pub lease_ttl: Duration,
    /// Where polls are timed.
    pub metrics: Arc<Metrics>,
}

/// What the last claims left to know.
#[derive(Debug, Default)]
pub struct LastClaims {
    /// Whether the last claim found less than there was room for: perhaps because destinations have what they may get.
    had_room_left: bool,
    /// The destinations that took nothing: walks passed over their rows.
    closed: HashSet<String>,
    /// When one may take of what is kept, and whether destinations are kept to their shares.
    kept: KeptClaims,
}

/// How many rows and bytes one claim may ask for, as the link to the database bears.
#[derive(Debug)]
pub struct ClaimSize {
    messages: Measure,
    bytes: Measure,
}

/// The rows of one claim.
#[derive(Debug)]
pub struct Batch {
    /// The claim that was committed.
    pub claim: ClaimId,
    /// The channels at the time of the claim. Their longest timeout is in the claim's settling time.
    pub channels: Arc<Channels>,
    /// The claimed rows.
    pub messages: Vec<Message>,
}

/// Where a claim looks for due rows.
#[derive(Debug)]
struct Look<'a> {
    /// Where its walk begins.
    pub from: WalkStart,
    /// The ordering keys that it looks at.
    pub keys: KeyStretch<'a>,
    /// What was found before: it then looks for nothing else.
    pub found: Option<Found>,
}

/// A claim that was made.
#[derive(Debug)]
struct Made {
    pub claim: ClaimId,
    /// For how much it was made at last.
    pub room: Room,
    pub claimed: Claimed,
    /// Whether it met rows of destinations that take nothing, of which it had not been told.
    pub met_closed: bool,
}

/// The result of one poll.
#[derive(Debug)]
pub enum Polled {
    /// Claimed rows, to be sent.
    Batch(Batch),
    /// No row is due that there is room for beside the rows in flight.
    Nothing {
        /// How long until a walk from the beginning, where only that would prove that no row is due.
        look_again: Option<Duration>,
    },
    /// No row is due, and no row in flight or in doubt could become due again.
    Empty,
    /// The term is over.
    TermOver,
}

/// The result of one claim.
enum ClaimResult {
    /// Rows to be sent.
    Due(Batch),
    /// The claim met rows that stood before others, and deferred them.
    InTheWay,
    /// The claim found no row.
    Nothing {
        /// Of the rows without an ordering key, those that the claim looked at.
        looked_at: LookedAt,
        /// Whether all ordering keys have had their turn since the poll began.
        all_keys: bool,
    },
}

/// The rows without an ordering key that a claim looked at which found nothing: what proves the least comes first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
enum LookedAt {
    /// Those behind the start of a walk.
    #[default]
    Behind,
    /// A part of those that are due: in turns no claim passes over all rows of destinations that take nothing.
    InTurns,
    /// Those that are due, from the beginning to the end.
    All,
}

/// Where one poll has found nothing due so far.
#[derive(Default)]
struct PollSoFar {
    /// Whether all ordering keys were looked at.
    all_keys: bool,
    /// Of the rows without an ordering key, those that were looked at.
    looked_at: LookedAt,
    /// Something was in flight meanwhile, or held up.
    busy: bool,
}

impl Intake {
    /// The polls of a term begin.
    pub fn begin(&mut self) {
        self.turns.leftover.forget();
        self.turns.hidden.forget();
        self.attention.begin();
    }

    /// The polls of a term are over.
    pub fn leave(&mut self) {
        self.attention.leave();
    }

    /// Claims the next batch: waits for room, then polls once: by one claim, unless that finds nothing and looked at a part of
    /// the ordering keys only. Rows that are merely in the way are moved aside on the way.
    pub async fn poll(&mut self, term: &Term) -> Polled {
        // What is committed in a moment goes with one claim, not with one each.
        if std::mem::take(&mut self.last.had_room_left) && !self.attention.is_undivided() {
            self.wait(term, None).await;
        }
        self.keys.begin_round();
        let mut seen = PollSoFar::default();
        loop {
            let Some(room) = self.room(term).await else { return Polled::TermOver };
            match self.find_left(term, room).await {
                None => return Polled::TermOver,
                Some(Some(batch)) => return Polled::Batch(batch),
                Some(None) => {}
            }
            match self.find_hidden(term, room).await {
                None => return Polled::TermOver,
                Some(Some(batch)) => return Polled::Batch(batch),
                Some(None) => {}
            }
            // Asked before the claim: what is marked while it runs may be due again, or make room for a larger row,
            // and the claim did not see it.
            seen.busy |= !room.empty || !self.in_flight.is_quiet() || self.destinations.holds_back();
            match self.find(term, room).await {
                None => return Polled::TermOver,
                Some(ClaimResult::Due(batch)) => return Polled::Batch(batch),
                Some(ClaimResult::InTheWay) => {
                    self.keys.begin_round();
                    seen = PollSoFar { busy: seen.busy, ..PollSoFar::default() };
                }
                Some(ClaimResult::Nothing { looked_at, all_keys }) => {
                    seen.all_keys |= all_keys;
                    seen.looked_at = seen.looked_at.max(looked_at);
                }
            }
            if seen.all_keys
                && let Some(polled) = self.conclude(&seen)
            {
                return polled;
            }
        }
    }

    /// What a poll brought that has looked at all ordering keys and found nothing. None where its next claim proves it.
    fn conclude(&self, seen: &PollSoFar) -> Option<Polled> {
        match self.start.proof(seen.looked_at == LookedAt::All) {
            // Asked again: rows may have been put off while a claim ran that did not see them.
            Proof::Given if seen.busy || self.destinations.holds_back() => Some(Polled::Nothing { look_again: None }),
            Proof::Given => Some(Polled::Empty),
            // Some destination has what it may have in flight, so turns go on: only a claim without them proves it.
            Proof::ByNextWalk | Proof::After(_)
                if seen.looked_at == LookedAt::InTurns && self.turns.next().is_some() =>
            {
                Some(Polled::Nothing { look_again: None })
            }
            Proof::ByNextWalk => None,
            Proof::After(rest) => Some(Polled::Nothing { look_again: Some(rest) }),
        }
    }

    /// Makes one claim, and takes note of what it shows. None once the term is over.
    async fn find(&mut self, term: &Term, room: Room) -> Option<ClaimResult> {
        if let Err(error) = self.recall(&self.destinations.unsure()).await {
            tracing::warn!(%error, "destinations.failed");
        }
        let (channels, began) = (self.channels.current(), Instant::now());
        let admission = self.admission(&channels, room);
        let from = self.start.next(term.id.epoch);
        let looked_at = match (from.is_beginning(), self.turns.next()) {
            (false, _) => LookedAt::Behind,
            (true, Some(_)) if !self.last.closed.is_empty() => LookedAt::InTurns,
            (true, Some(_) | None) => LookedAt::All,
        };
        let looked = tokio::time::Instant::now();
        let look = Look { from, keys: self.keys.stretch(), found: None };
        let Made { claim, room, mut claimed, met_closed } = self.claim(term, &channels, room, look, admission).await?;
        let all_keys = self.keys.looked(claimed.keys_left.take());
        self.metrics.polled(began.elapsed());
        if self.turns.next().is_some() && !room.takers.are_kept_for() {
            self.turns.leftover.keep_of(&claimed.messages, room, std::mem::take(&mut claimed.found), looked);
        }
        let limited = room.takers != Takers::All || self.destinations.limits_claims();
        let left = match (met_closed, limited) {
            (true, _) => Left::BehindClosed,
            (false, true) => Left::NoRoom,
            (false, false) => Left::Nothing,
        };
        let answering = self.destinations.answering(&claimed.messages);
        self.turns.learn(&claimed, left, answering.as_deref(), began.elapsed());
        self.start.learn(term.id.epoch, from, &claimed, room.messages, began.elapsed());
        let (took, brought) = (began.elapsed(), claimed.messages.len());
        let in_the_way = !claimed.deferred.is_empty();
        if in_the_way {
            report_deferred(&claimed.deferred);
            self.destinations.configured_meanwhile(claimed.deferred.keys());
        }
        if claimed.messages.is_empty() {
            self.last.kept.learn(room.takers, took, 0, false);
            let nothing = ClaimResult::Nothing { looked_at, all_keys };
            return Some(if in_the_way { ClaimResult::InTheWay } else { nothing });
        }
        self.last.had_room_left = brought < room.messages && !room.takers.are_kept_for();
        let batch = self.batch(term, claim, channels, claimed.messages);
        let wants_more = brought >= room.messages
            || (room.takers == Takers::BelowShares && self.destinations.fills_a_share(&batch.messages));
        self.last.kept.learn(room.takers, took, brought, wants_more);
        Some(ClaimResult::Due(batch))
    }

    /// Claims of what was found, without a look. Returns the batch, and what is left. None once the term is over, and within it where
    /// nothing of that can be claimed.
    pub(super) async fn claim_found(
        &mut self,
        term: &Term,
        channels: Arc<Channels>,
        room: Room,
        found: Found,
        admission: Admission,
    ) -> Option<Option<(Batch, Found)>> {
        let look = Look { from: self.start.behind(), keys: KeyStretch::default(), found: Some(found) };
        let Made { claim, claimed, .. } = self.claim(term, &channels, room, look, admission).await?;
        if claimed.messages.is_empty() {
            return Some(None);
        }
        self.start.went_on(claimed.reached);
        self.turns.served(&self.destinations.answering(&claimed.messages).unwrap_or_default());
        Some(Some((self.batch(term, claim, channels, claimed.messages), claimed.found)))
    }

    /// Notes that these messages were claimed. The batch is a set: each is sent once.
    fn batch(&mut self, term: &Term, claim: ClaimId, channels: Arc<Channels>, messages: Vec<Message>) -> Batch {
        self.attention.rouse();
        let messages = self.in_flight.admit(claim, messages);
        term.count_claimed(&messages);
        self.destinations.admitted(&messages);
        self.metrics.in_flight(self.in_flight.count());
        Batch { claim, channels, messages }
    }

    /// What the next claim may take. Where a destination takes messages again, its rows may lie before the start of walks.
    pub(super) fn admission(&mut self, channels: &Channels, room: Room) -> Admission {
        let largest = channels.terms().iter().map(|terms| terms.max_message_bytes).max();
        let admission = self.destinations.admission(largest.unwrap_or_default(), room.takers);
        let closed: HashSet<String> = admission.closed.iter().cloned().collect();
        if !self.last.closed.is_subset(&closed) {
            self.start.opened();
        }
        self.last.closed = closed;
        admission
    }

    /// Asks the database about those of these destinations of which only it may know that they take nothing.
    pub(super) async fn recall(&self, met: &[String]) -> Result<(), StoreError> {
        let in_doubt = self.destinations.in_doubt(met);
        if !in_doubt.is_empty() {
            self.destinations.recall(&in_doubt, &self.store.destinations(&in_doubt).await?);
        }
        Ok(())
    }

    /// After a poll that left nothing, waits for a hint or for the next tick, `at_most` so long. A hint given since that poll
    /// began counts.
    pub async fn wait(&mut self, term: &Term, at_most: Option<Duration>) {
        let limits = [
            Some(self.attention.found_nothing()),
            at_most,
            self.destinations.opens_in().map(|opens| opens.max(SHORTEST_WAIT)),
            self.turns.next().map(|_| TURNS_AGAIN),
        ];
        let tick = limits.into_iter().flatten().fold(self.poll_interval, Duration::min);
        let tick = tokio::time::sleep(tick);
        tokio::pin!(tick);
        loop {
            term.progress();
            tokio::select! {
                () = self.wakeup.notified() => return,
                () = self.in_flight.bytes_freed() => return,
                () = self.destinations.room_made() => return,
                () = &mut tick => return,
                () = term.ended() => return,
                () = tokio::time::sleep(SIGN_OF_LIFE) => {}
            }
        }
    }

    /// Waits until there is room, and what comes of messages can be recorded. None once the term is over, which it is where nothing
    /// will be recorded any more.
    async fn room(&mut self, term: &Term) -> Option<Room> {
        let full = self.destinations.is_full();
        loop {
            let (kept, from) = (self.destinations.kept(), self.last.kept.from(self.in_flight.freed()));
            if self.marking.death().is_some() {
                term.end(TermEnd::Wedged);
            }
            term.progress();
            tokio::select! {
                biased;
                () = term.ended() => return None,
                room = self.in_flight.room(full, kept, from), if self.marking.stuck().is_none() => {
                    let room = Room { takers: self.last.kept.takers(room.takers), ..room };
                    return Some(self.size.of(room));
                }
                () = tokio::time::sleep(SIGN_OF_LIFE) => {}
            }
        }
    }

    /// Makes one claim, repeating it under the same id until its fate is known. One that took too long is given up, and a smaller one
    /// is made. None ends the term.
    async fn claim(
        &self,
        term: &Term,
        channels: &Channels,
        mut room: Room,
        mut look: Look<'_>,
        mut admission: Admission,
    ) -> Option<Made> {
        let mut claiming = Claiming::new(&self.store, term.id.shard);
        self.suspects.give_up_overdue(channels.longest_request() + SETTLING_MARGIN + self.poll_interval);
        let mut excluded = self.in_flight.excluded();
        // A look back is a walk.
        let glances = !look.from.is_beginning();
        let mut turns = self.turns.next().map(|turns| Turns { glance: turns.glance && glances, ..turns });
        let mut backoff = Backoff::new();
        // Of the look that asked: the claim that is made with what it found looks at no key.
        let mut keys_left = None;
        let mut met_closed = false;
        loop {
            term.progress();
            let began = tokio::time::Instant::now();
            let request = ClaimRequest {
                claim: claiming.claim,
                limit: u32::try_from(room.messages).unwrap_or(u32::MAX),
                max_bytes: room.bytes,
                excluded: &excluded,
                from: look.from,
                keys: look.keys,
                channels: channels.terms(),
                closed: &admission.closed,
                closed_channels: &admission.closed_channels,
                rooms: &admission.rooms,
                strangers: admission.of_strangers(),
                found: look.found.as_ref(),
                turns,
                unknown_channel_delay: UNKNOWN_CHANNEL_DELAY,
                lease_ttl: self.lease_ttl,
                margin: SETTLING_MARGIN,
            };
            let was_in_doubt = std::mem::replace(&mut claiming.in_doubt, true);
            let answer = self.store.claim(&term.id, &request).await;
            claiming.in_doubt =
                was_in_doubt && answer.is_err() || matches!(answer, Err(StoreError::Unavailable { .. }));
            let error = match answer {
                Ok(claimed) if !claimed.asked.is_empty() => match self.recall(&claimed.asked).await {
                    Ok(()) => {
                        met_closed |= self.destinations.introduce(&mut admission, claimed.asked);
                        look.found = Some(claimed.found);
                        keys_left = claimed.keys_left;
                        continue;
                    }
                    Err(error) => error,
                },
                Ok(claimed) if !claimed.held.is_empty() && claimed.deferred.is_empty() => {
                    // What waits behind them is not to wait for the transaction that holds them.
                    excluded.extend(claimed.held);
                    (look.found, admission.strangers.ask, keys_left) = (None, true, None);
                    continue;
                }
                Ok(claimed) => {
                    term.claim_answered();
                    self.size.worked(&claimed.messages, began.elapsed());
                    let claim = claiming.claim;
                    let claimed = Claimed { keys_left: keys_left.or(claimed.keys_left), ..claimed };
                    return Some(Made { claim, room, claimed, met_closed });
                }
                Err(StoreError::Fenced { .. }) => {
                    term.end(TermEnd::Fenced);
                    return None;
                }
                Err(error @ (StoreError::Unavailable { .. } | StoreError::Refused { .. })) => error,
            };
            term.claim_answered();
            tracing::error!(epoch = %term.id.epoch, messages = room.messages, bytes = room.bytes, %error, "claim.failed");
            // Without turns a claim is simpler, and takes less time.
            turns = None;
            let too_large = claiming.in_doubt && self.size.failed(room, began.elapsed());
            let again = async {
                tokio::time::sleep(backoff.next()).await;
                if too_large {
                    claiming.anew().await;
                }
            };
            tokio::select! {
                () = term.ended() => return None,
                () = again => room = self.size.of(room),
            }
        }
    }
}

impl ClaimSize {
    /// No bound yet. What takes `lease_ttl` is too much.
    pub(super) fn new(lease_ttl: Duration) -> Self {
        Self { messages: Measure::new(lease_ttl), bytes: Measure::new(lease_ttl) }
    }

    /// What a claim asks for where there is so much room.
    fn of(&self, room: Room) -> Room {
        let messages = self.messages.of(room.messages as u64).try_into().unwrap_or(usize::MAX);
        Room { messages, bytes: self.bytes.of(room.bytes), ..room }
    }

    /// A claim that asked for so much has failed after this time. Says whether it took too long.
    fn failed(&self, asked: Room, took: Duration) -> bool {
        self.asked_too_much(asked.messages, asked.bytes, took)
    }

    /// How many messages a claim asks for where there are so many slots.
    pub(super) fn messages(&self, slots: usize) -> usize {
        self.messages.of(slots as u64).try_into().unwrap_or(usize::MAX)
    }

    /// A claim of so much has failed after this time. Says whether it took too long.
    pub(super) fn asked_too_much(&self, messages: usize, bytes: u64, took: Duration) -> bool {
        self.messages.failed(messages as u64, took) | self.bytes.failed(bytes, took)
    }

    pub(super) fn worked(&self, messages: &[Message], took: Duration) {
        self.messages.worked(messages.len() as u64, took);
        self.bytes.worked(messages.iter().map(Message::weight).sum(), took);
    }
}

pub(super) fn report_deferred(deferred: &BTreeMap<String, u64>) {
    for (channel, messages) in deferred {
        tracing::warn!(channel, messages, "poll.deferred: nobody has configured this channel; they wait for it");
    }
}
