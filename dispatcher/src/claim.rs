//! Intake: claims what is due, as soon as there is room for it.
//!
//! Everything is claimed in the database, and the claim committed, before it is sent. One claim is made at a
//! time; the rows to leave out are collected before it begins.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use outbox_schema::database::STATEMENT_LIMIT;
use outbox_schema::{ChannelTerms, ClaimId, ClaimRequest, Claimed, Message, Store, StoreError, TermEnd, WalkStart};
use tokio::sync::Notify;

use crate::attention::Attention;
use crate::destinations::{Admission, Destinations};
use crate::in_flight::{InFlight, Room};
use crate::leadership::patience;
use crate::metrics::Metrics;
use crate::start::Start;
use crate::suspects::Suspects;
use crate::term::Term;

/// How long rows of a channel that nobody has configured stand aside before they are met again.
const UNKNOWN_CHANNEL_DELAY: Duration = Duration::from_mins(5);

/// Added to the settling time: for the last mark to land.
pub const SETTLING_MARGIN: Duration = Duration::from_secs(1);

/// Shortest wait for a destination that takes messages again.
const SHORTEST_WAIT: Duration = Duration::from_millis(10);

/// How often the loop shows that it is alive while it waits.
const SIGN_OF_LIFE: Duration = Duration::from_secs(1);

/// Claims due messages for the poller.
#[derive(Debug)]
pub struct Intake {
    /// The outbox database.
    pub store: Arc<dyn Store>,
    /// What is in flight, and the room beside it.
    pub in_flight: Arc<InFlight>,
    /// Rows that are resent singly.
    pub suspects: Arc<Suspects>,
    /// The configured channels, as the store must know them.
    pub channels: Arc<[ChannelTerms]>,
    /// What each destination may be sent.
    pub destinations: Arc<Destinations>,
    /// Where walks begin.
    pub start: Start,
    /// Given when there may be something to poll.
    pub wakeup: Arc<Notify>,
    /// How soon to look again without one.
    pub attention: Arc<Attention>,
    /// Whether the last claim took all that was due.
    pub took_all: AtomicBool,
    /// Longest wait between two polls.
    pub poll_interval: Duration,
    /// Time to live of the lease: part of the settling time.
    pub lease_ttl: Duration,
    /// Where polls are timed.
    pub metrics: Arc<Metrics>,
}

/// Claimed rows, under one claim.
#[derive(Debug)]
pub struct Batch {
    /// The claim that was committed.
    pub claim: ClaimId,
    /// Its rows.
    pub messages: Vec<Message>,
}

/// What one poll brought.
#[derive(Debug)]
pub enum Polled {
    /// Claimed rows, to be sent.
    Batch(Batch),
    /// Nothing is due that there is room for beside what is in flight.
    Nothing {
        /// When to look from the beginning, where only that would prove it.
        look_again: Option<Duration>,
    },
    /// Nothing is due, and nothing was in flight or in doubt that could become due again.
    Empty,
    /// The term is over.
    TermOver,
}

impl Intake {
    /// Claims the next batch: waits for room, then polls once. Rows that are merely in the way are moved
    /// aside on the way.
    pub async fn poll(&self, term: &Term) -> Polled {
        // What is committed in a moment goes with one claim, not with one each.
        if self.took_all.swap(false, Ordering::Relaxed) {
            self.wait(term, None).await;
        }
        loop {
            let full = self.destinations.is_full();
            let Some(room) = self.room(term, full).await else { return Polled::TermOver };
            // Asked before the claim: what is marked while it runs may be due again, or make room for a larger row,
            // and the claim did not see it.
            let quiet = room.empty && self.in_flight.is_quiet() && !self.destinations.holds_back();
            if self.in_flight.let_go() {
                self.start.forget();
            }
            let from = self.start.next(term.id.epoch);
            let claim = ClaimId::mint();
            let began = Instant::now();
            let Some(claimed) = self.claim(term, claim, room, from).await else { return Polled::TermOver };
            self.metrics.polled(began.elapsed());
            self.start.learn(term.id.epoch, from, &claimed, room.messages, began.elapsed());
            report_deferred(&claimed.deferred);
            if !claimed.messages.is_empty() {
                self.attention.rouse();
                self.took_all.store(claimed.messages.len() < room.messages, Ordering::Relaxed);
                term.count_claimed(&claimed.messages);
                self.destinations.admitted(&claimed.messages);
                self.in_flight.admit(claim, &claimed.messages);
                self.metrics.in_flight(self.in_flight.count());
                return Polled::Batch(Batch { claim, messages: claimed.messages });
            }
            if claimed.deferred.is_empty() {
                match self.start.unproven(from) {
                    None if quiet => return Polled::Empty,
                    None => return Polled::Nothing { look_again: None },
                    Some(Duration::ZERO) => {}
                    Some(later) => return Polled::Nothing { look_again: Some(later) },
                }
            }
        }
    }

    /// After a poll that left nothing, waits for a hint or for the next tick, `at_most` so long. A hint given since that poll
    /// began counts.
    pub async fn wait(&self, term: &Term, at_most: Option<Duration>) {
        let limits = [
            Some(self.attention.found_nothing()),
            at_most,
            self.destinations.opens_in().map(|opens| opens.max(SHORTEST_WAIT)),
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

    async fn room(&self, term: &Term, full: bool) -> Option<Room> {
        loop {
            term.progress();
            tokio::select! {
                biased;
                () = term.ended() => return None,
                room = self.in_flight.room(full) => return Some(room),
                () = tokio::time::sleep(SIGN_OF_LIFE) => {}
            }
        }
    }

    /// Makes one claim, repeating it under the same id until its fate is known. None ends the term.
    async fn claim(&self, term: &Term, claim: ClaimId, room: Room, from: WalkStart) -> Option<Claimed> {
        self.suspects.give_up_overdue();
        let excluded = self.in_flight.excluded();
        let Admission { closed, rooms } = self.destinations.admission();
        let request = ClaimRequest {
            claim,
            limit: u32::try_from(room.messages).unwrap_or(u32::MAX),
            max_bytes: room.bytes,
            oversize: room.empty,
            excluded: &excluded,
            from,
            channels: &self.channels,
            closed: &closed,
            rooms: &rooms,
            unknown_channel_delay: UNKNOWN_CHANNEL_DELAY,
            lease_ttl: self.lease_ttl,
            margin: SETTLING_MARGIN,
        };
        let mut troubles = patience();
        loop {
            term.progress();
            let error = match tokio::time::timeout(STATEMENT_LIMIT, self.store.claim(&term.id, &request)).await {
                Ok(Ok(claimed)) => return Some(claimed),
                Ok(Err(StoreError::Fenced { .. })) => {
                    term.end(TermEnd::Fenced);
                    return None;
                }
                Ok(Err(error)) => error.to_string(),
                Err(_) => format!("no answer within {STATEMENT_LIMIT:?}"),
            };
            tracing::error!(epoch = %term.id.epoch, %error, "claim.failed");
            let pause = troubles.next().unwrap_or(SIGN_OF_LIFE);
            tokio::select! {
                () = term.ended() => return None,
                () = tokio::time::sleep(pause) => {}
            }
        }
    }
}

fn report_deferred(deferred: &BTreeMap<String, u64>) {
    for (channel, messages) in deferred {
        tracing::warn!(channel, messages, "poll.deferred: nobody has configured this channel; they wait for it");
    }
}
