//! What next: the poller looks at due rows by their headers, lets the schedule choose from them, and claims what it chose by ids.
//! A look and a claim go on beside each other, one of each.
//!
//! No row is in two claims at one revision. A row that the schedule chose is in flight there from before its claim is sent until
//! its mark is answered. A look that claims at once is told of those rows, and goes beside no claim.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use outbox_schema::MessageId;
use outbox_store::{ClaimId, LaneLook, Message, RingStep, Store, StoreError, TermEnd, WalkStart};
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::backoff::Backoff;
use crate::destinations::Destinations;
use crate::in_flight::InFlight;
use crate::metrics::Metrics;
use crate::poller::channels::Channels;
use crate::poller::claim::{Batch, ClaimTask, Claimed, SETTLING_MARGIN};
use crate::poller::journal::Journal;
use crate::poller::looks::task::{Ask, LookTask, Looked, Seen};
use crate::poller::looks::{EACH, Look, Looks, Page, STEP};
use crate::poller::marker_health::MarkerHealth;
use crate::poller::measure::Measure;
use crate::poller::poll_backoff::PollBackoff;
use crate::poller::quarantine::Quarantine;
use crate::poller::schedule_now::Question;
use crate::reloadable::Reloadable;
use crate::schedule::{Added, Schedule, Shows};
use crate::term::Term;

/// How often the loop shows that it is alive while it waits, and what waits.
const SIGN_OF_LIFE: Duration = Duration::from_secs(1);

/// How soon the poller looks again that has found something, and has more than a half of its slots taken.
const BUSY_AGAIN: Duration = Duration::from_millis(3);

/// How soon the poller looks again at the latest that is to stop once nothing is due.
const UNTIL_EMPTY_AGAIN: Duration = Duration::from_millis(50);

/// What looks at due rows and claims some. It belongs to the loop; what is in an [`Arc`] or [`Reloadable`] others use too.
#[derive(Debug)]
pub(crate) struct Intake {
    /// The outbox database.
    pub store: Arc<dyn Store>,
    /// Who goes next.
    pub schedule: Schedule,
    /// What is in flight, and the room beside it.
    pub in_flight: Arc<InFlight>,
    pub journal: Arc<Journal>,
    /// Rows that are resent one at a time.
    pub quarantine: Arc<Quarantine>,
    /// The configured channels.
    pub channels: Reloadable<Channels>,
    /// The state of each destination.
    pub destinations: Arc<Destinations>,
    /// Given when there may be something to poll.
    pub wakeup: Arc<Notify>,
    /// How soon to look again without one.
    pub poll_backoff: PollBackoff,
    /// How many messages a claim may ask for, as the link to the database bears.
    pub size: Arc<Measure>,
    /// Whether marks can be written. Nothing is claimed while they cannot.
    pub marker_health: Arc<MarkerHealth>,
    /// Longest wait between two looks.
    pub poll_interval: Duration,
    /// Time to live of the lease: part of the settling time.
    pub lease_ttl: Duration,
    /// Whether to say so once no row is due.
    pub until_empty: bool,
    /// Where polls are timed.
    pub metrics: Arc<Metrics>,
    /// What others ask the schedule.
    pub questions: mpsc::Receiver<Question>,
    /// What goes on in this term.
    pub now: UnderWay,
}

/// The result of a poll.
#[derive(Debug)]
pub(crate) enum Polled {
    /// Claimed rows, to be sent.
    Batch(Batch),
    /// No row is due, and no row in flight or in doubt could become due again.
    Empty,
    /// The term is over.
    TermOver,
}

/// What goes on in a term.
#[derive(Debug, Default)]
pub(crate) struct UnderWay {
    looks: Looks,
    look: Option<Task<Looked>>,
    claim: Option<Task<Claimed>>,
    /// Whether the look that is under way claims at once.
    claims_unseen: bool,
    /// Whether the last look was one that the schedule had asked for.
    fed: bool,
    /// The lanes that the last such look was to bring.
    feeding: Vec<LaneLook>,
    backoff: Backoff,
    /// A look has failed: none begins before that.
    rests_until: Option<Instant>,
    /// Rows of channels that are not configured: they are to be deferred.
    unknown: Vec<MessageId>,
    /// Destinations of which only the database may know that they take nothing.
    unsure: HashSet<String>,
    /// Looks that are due, the next first.
    due: VecDeque<Look>,
    /// The count of changes of what is on hold, when it was last taken over.
    on_hold: Option<u64>,
    /// The rows that the schedule was told to hold.
    held: HashSet<MessageId>,
    /// When what waits is shown again.
    shown_until: Option<Instant>,
    proof: Proof,
}

/// What the looks of a term prove about an empty outbox.
#[derive(Debug, Default)]
struct Proof {
    /// The last look from the beginning found nothing that was not known.
    nothing_due: bool,
    /// Something was in flight or held back since the look under way began: it proves nothing, since that may be due by now.
    void: bool,
}

/// A call to the database that is under way. It ends with its term.
#[derive(Debug)]
struct Task<T>(JoinHandle<T>);

impl<T> Drop for Task<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Waits for what is under way. Waits for ever where nothing is.
async fn ended<T>(task: &mut Option<Task<T>>) -> T {
    let Some(under_way) = task else { return std::future::pending().await };
    match (&mut under_way.0).await {
        Ok(ended) => {
            *task = None;
            ended
        }
        // Nobody knows what it did: the loop ends as it did.
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        Err(_) => std::future::pending().await,
    }
}

impl Intake {
    /// The polls of a term begin. What an earlier one has seen is forgotten.
    pub(crate) fn begin(&mut self) {
        self.schedule.clear();
        self.forget();
        self.poll_backoff.begin();
    }

    /// The polls of a term are over.
    pub(crate) fn leave(&mut self) {
        self.forget();
        self.metrics.waiting(&BTreeMap::new());
        self.poll_backoff.leave();
    }

    /// Forgets all but which rows the schedule holds.
    fn forget(&mut self) {
        let held = std::mem::take(&mut self.now.held);
        self.now = UnderWay { held, ..UnderWay::default() };
    }

    /// Returns the next batch that was claimed. Once the term is over, what it still claims is returned first: nothing of it is
    /// sent, and the poller marks it so.
    pub(crate) async fn poll(&mut self, term: &Arc<Term>) -> Polled {
        loop {
            if self.marker_health.death().is_some() {
                term.end(TermEnd::Wedged);
            }
            let is_on = term.is_on();
            if is_on {
                term.progress();
                self.show();
                self.take_in();
                self.begin_claim(term);
                self.begin_look(term);
                self.disprove();
            } else if !self.now.claims() {
                return Polled::TermOver;
            }
            if self.proves_empty() {
                self.until_empty = false;
                return Polled::Empty;
            }
            let soon = self.next_at();
            let waits = is_on && !self.now.claims();
            tokio::select! {
                biased;
                () = term.ended(), if is_on => {}
                claimed = ended(&mut self.now.claim) => {
                    if let Some(batch) = self.claimed(term, claimed) {
                        return Polled::Batch(batch);
                    }
                }
                looked = ended(&mut self.now.look) => {
                    if let Some(batch) = self.looked(term, looked) {
                        return Polled::Batch(batch);
                    }
                }
                Some(question) = self.questions.recv() => question(&self.schedule),
                () = self.wakeup.notified(), if is_on => self.now.looks.woken(),
                () = self.in_flight.finishes(), if waits => {}
                () = self.destinations.stirs(), if waits => {}
                () = tokio::time::sleep_until(soon), if is_on => {}
            }
        }
    }

    /// Shows what waits, once in a while.
    fn show(&mut self) {
        let now = Instant::now();
        if self.now.shown_until.is_none_or(|until| until <= now) {
            self.now.shown_until = Some(now + SIGN_OF_LIFE);
            self.metrics.waiting(&self.schedule.waiting().why);
        }
    }

    /// When something is to be done that nothing tells of.
    fn next_at(&self) -> Instant {
        let latest = Instant::now() + SIGN_OF_LIFE.min(self.poll_interval);
        let may_claim = !self.now.claims() && self.marker_health.stuck().is_none();
        let opening = self.schedule.next_opening().filter(|_| may_claim);
        let look = self.now.rests_until.unwrap_or_else(|| self.now.looks.next_at(self.has_room()));
        let look = Some(look).filter(|_| self.now.look.is_none());
        [opening, look].into_iter().flatten().fold(latest, Instant::min)
    }
}

/// Claims.
impl Intake {
    /// Takes in what has happened since: rows that left flight, destinations that answered, rows that are on hold or free again.
    fn take_in(&mut self) {
        for (id, again) in self.in_flight.finished() {
            self.schedule.finished(id, again);
        }
        let stirred = self.destinations.stirred();
        if stirred.all {
            self.schedule.destinations_changed();
        } else {
            stirred.names.iter().for_each(|name| self.schedule.destination_changed(name));
        }
        if let Some(held) = self.in_flight.on_hold(&mut self.now.on_hold) {
            self.schedule.free(self.now.held.difference(&held).copied());
            self.schedule.hold(held.difference(&self.now.held).copied());
            self.now.held = held;
            self.now.looks.woken();
        }
    }

    /// Lets the schedule choose, and claims what it chose, unless a claim is under way.
    fn begin_claim(&mut self, term: &Arc<Term>) {
        if self.now.claims() || self.marker_health.stuck().is_some() {
            return;
        }
        let channels = self.channels.current();
        self.quarantine.give_up_overdue(channels.longest_request() + SETTLING_MARGIN + self.poll_interval);
        let mut rooms = self.destinations.rooms(&channels);
        let most = self.may_ask_for(self.in_flight.free());
        let chosen = self.schedule.take(most, &mut rooms, Instant::now());
        self.now.unsure.extend(rooms.unsure());
        self.destinations.more_slow_start_wait(self.schedule.slow_start_wait());
        if chosen.is_empty() {
            return;
        }
        let task = ClaimTask {
            store: self.store.clone(),
            term: term.clone(),
            size: self.size.clone(),
            lease_ttl: self.lease_ttl,
            channels,
            chosen,
        };
        self.now.claim = Some(Task(tokio::spawn(task.run())));
    }

    /// How many messages a claim asks for where there are so many slots.
    fn may_ask_for(&self, slots: usize) -> usize {
        self.size.of(slots as u64).try_into().unwrap_or(usize::MAX)
    }

    /// Takes note of a claim that has ended. Returns its messages, to be sent.
    fn claimed(&mut self, term: &Term, claimed: Claimed) -> Option<Batch> {
        term.claim_answered();
        let Claimed { chosen, made, channels } = claimed;
        let got: HashSet<MessageId> = made.iter().flat_map(|(_, messages)| messages).map(Message::id).collect();
        for header in chosen.iter().filter(|header| !got.contains(&header.id)) {
            self.schedule.refused(header.id);
        }
        let (claim, messages) = made?;
        self.batch(term, claim, channels, messages)
    }

    /// Notes that these messages were claimed. The batch is a set: each is sent once.
    fn batch(&mut self, term: &Term, claim: ClaimId, channels: Arc<Channels>, messages: Vec<Message>) -> Option<Batch> {
        if messages.is_empty() {
            return None;
        }
        let messages = self.in_flight.admit(claim, messages);
        self.journal.claimed(&term.id, claim, &channels, &messages);
        term.count_claimed(&messages);
        self.destinations.admitted(&messages);
        let of = messages.iter().map(|message| message.destination.as_str());
        self.destinations.more_wait_for(of.filter(|destination| self.schedule.has_some_for(destination)));
        self.metrics.in_flight(self.in_flight.count());
        Some(Batch { claim, channels, messages })
    }
}

/// Looks.
impl Intake {
    /// Begins the next look that is due, unless one is under way.
    fn begin_look(&mut self, term: &Arc<Term>) {
        if self.now.look.is_some() || self.now.rests_until.is_some_and(|until| Instant::now() < until) {
            return;
        }
        self.now.rests_until = None;
        let Some(seen) = self.next_look() else { return };
        let task = LookTask {
            store: self.store.clone(),
            destinations: self.destinations.clone(),
            channels: self.channels.current(),
            term: term.clone(),
            lease_ttl: self.lease_ttl,
        };
        self.now.proof.void = false;
        self.now.look = Some(Task(tokio::spawn(task.run(seen))));
    }

    /// The next look. What the schedule asks for takes turns with the others.
    fn next_look(&mut self) -> Option<Ask> {
        let feeds = !std::mem::take(&mut self.now.fed);
        if feeds && let Some(feed) = self.feed() {
            return Some(feed);
        }
        if !self.now.unknown.is_empty() {
            return Some(Ask::Defer(std::mem::take(&mut self.now.unknown)));
        }
        if !self.now.unsure.is_empty() {
            return Some(Ask::Recall(self.now.unsure.drain().collect()));
        }
        if self.now.due.is_empty() {
            self.now.due = self.now.looks.due(Instant::now(), self.has_room()).into();
        }
        match self.now.due.pop_front() {
            Some(Look::Behind(from)) => Some(self.behind(from)),
            Some(Look::Newest) => Some(Ask::Newest),
            Some(Look::Lanes(place)) => Some(Ask::Lanes(place)),
            Some(Look::Keys(step)) => Some(Ask::Keys(step)),
            None => self.feed(),
        }
    }

    /// Whether the schedule takes in what a step along a ring brings.
    fn has_room(&self) -> bool {
        self.schedule.has_place_for((STEP * EACH) as usize)
    }

    fn feed(&mut self) -> Option<Ask> {
        let (lanes, limit) = self.schedule.hungry(Instant::now())?;
        self.now.fed = true;
        self.now.feeding.clone_from(&lanes);
        Some(Ask::Feed { lanes, limit })
    }

    /// A look behind a place. It claims at once what it finds, where no rule can be broken by that and no claim is under way.
    fn behind(&mut self, from: WalkStart) -> Ask {
        if self.now.claim.is_none() && self.marker_health.stuck().is_none() {
            let channels = self.channels.current();
            let mut unseen = self.schedule.unseen(&mut self.destinations.rooms(&channels), Instant::now());
            unseen.up_to = unseen.up_to.min(self.may_ask_for(usize::MAX));
            if unseen.up_to > 0 {
                self.now.claims_unseen = true;
                return Ask::BehindAndClaim { from, unseen };
            }
        }
        Ask::Behind(from)
    }

    /// The longest wait between two looks. Whoever waits for the end of the work does not wait for long.
    fn longest_wait(&self) -> Duration {
        if self.until_empty { self.poll_interval.min(UNTIL_EMPTY_AGAIN) } else { self.poll_interval }
    }

    /// Takes note of a look that has ended. Returns what it claimed, to be sent.
    fn looked(&mut self, term: &Term, looked: Looked) -> Option<Batch> {
        term.claim_answered();
        self.now.claims_unseen = false;
        let Looked { seen, took, channels } = looked;
        let seen = match seen {
            Ok(seen) => seen,
            Err(StoreError::Fenced { .. }) => {
                term.end(TermEnd::Fenced);
                return None;
            }
            Err(error @ (StoreError::Unavailable { .. } | StoreError::Refused { .. })) => {
                tracing::error!(epoch = %term.id.epoch, %error, "look.failed");
                self.schedule.not_fed(&std::mem::take(&mut self.now.feeding));
                self.now.due.clear();
                self.now.rests_until = Some(Instant::now() + self.now.backoff.next());
                return None;
            }
        };
        self.now.backoff = Backoff::new();
        let now = Instant::now();
        let mut rooms = self.destinations.rooms(&channels);
        let mut added = match seen {
            Seen::Behind { from, headers, claimed } => {
                self.metrics.polled(took);
                let page = Page::of(from, &headers);
                if let Some((claim, messages)) = claimed {
                    let got: HashSet<MessageId> = messages.iter().map(Message::id).collect();
                    let claimed = headers.into_iter().filter(|header| got.contains(&header.id)).collect();
                    self.schedule.add_claimed(claimed, &mut rooms, now);
                    drop(rooms);
                    self.poll_backoff.reset();
                    self.now.proof.nothing_due = false;
                    self.now.looks.looked(page, 0, took, Duration::ZERO);
                    return self.batch(term, claim, channels, messages);
                }
                let shows = if self.now.looks.is_backlog() { Shows::Newest } else { Shows::AllUpTo(from) };
                let added = self.schedule.add(headers, shows, &mut rooms, now);
                let wait = match added.new {
                    0 => self.poll_backoff.found_nothing().min(self.longest_wait()),
                    _ if self.in_flight.is_busy() => BUSY_AGAIN,
                    _ => Duration::ZERO,
                };
                self.now.proof.nothing_due = from.is_beginning() && added == Added::default() && !self.now.proof.void;
                self.now.looks.looked(page, added.passed_over, took, wait);
                added
            }
            Seen::Newest(headers) => {
                self.now.looks.newest(&headers, took);
                self.schedule.add(headers, Shows::Newest, &mut rooms, now)
            }
            Seen::Lanes(RingStep { headers, next }) => {
                let added = self.schedule.add_lanes(&headers, EACH, &mut rooms, now);
                let schedule = &mut self.schedule;
                self.now.looks.stepped(next, || schedule.take_skipped());
                added
            }
            Seen::Keys(RingStep { headers, next }) => {
                let added = self.schedule.add_keys(headers, &mut rooms, now);
                self.now.looks.stepped_along_keys(next, added.new > 0 || self.now.proof.void);
                added
            }
            Seen::Fed { lanes, limit, headers } => self.schedule.add_fed(&lanes, limit, headers, &mut rooms, now),
            Seen::Deferred(deferred) => {
                drop(rooms);
                report_deferred(&deferred);
                self.destinations.configured_meanwhile(deferred.keys());
                return None;
            }
            Seen::Recalled => return None,
        };
        self.now.unsure.extend(rooms.unsure());
        if added.new > 0 {
            self.poll_backoff.reset();
            self.now.proof.nothing_due = false;
        }
        self.now.unknown.append(&mut added.unknown_channel);
        if !self.now.looks.is_backlog() && self.schedule.take_skipped() {
            self.now.looks.begin_backlog();
        }
        self.now.looks.conclude(self.schedule.has_more());
        None
    }

    /// Notes that nothing is proven while something is in flight or held back.
    fn disprove(&mut self) {
        if self.until_empty && (!self.in_flight.is_quiet() || self.destinations.holds_back()) {
            self.now.proof = Proof { nothing_due: false, void: true };
            self.now.looks.disprove();
        }
    }

    /// Whether nothing is due, and no row in flight or in doubt could become due again.
    fn proves_empty(&self) -> bool {
        self.until_empty
            && self.now.proof.nothing_due
            && self.now.looks.prove_nothing()
            && !self.now.claims()
            && self.schedule.is_empty()
            && self.in_flight.is_quiet()
            && !self.destinations.holds_back()
    }
}

impl UnderWay {
    /// Whether a claim is under way.
    fn claims(&self) -> bool {
        self.claim.is_some() || self.claims_unseen
    }
}

fn report_deferred(deferred: &BTreeMap<String, u64>) {
    for (channel, messages) in deferred {
        tracing::warn!(channel, messages, "poll.deferred: nobody has configured this channel; they wait for it");
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
