//! The calls to the database that go on beside the loop: one look, and one claim.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use outbox_schema::store::due::{
    ClaimTerms, DueRows, Header, LaneLook, LookAndClaim, RingPlace, RingStep, RowsToClaim,
};
use outbox_schema::{ClaimId, Message, MessageId, OnDeadOrdered, Store, StoreError, TermId, WalkStart};
use tokio::time::Instant;

use crate::backoff::Backoff;
use crate::destinations::Destinations;
use crate::poller::channels::Channels;
use crate::poller::claim::given_up::Claiming;
use crate::poller::claim::{ClaimSize, SETTLING_MARGIN, UNKNOWN_CHANNEL_DELAY};
use crate::poller::looks::{EACH, PAGE, STEP};
use crate::schedule::Unseen;
use crate::term::Term;

/// The newest rows that a look brings.
const NEWEST: u32 = 512;

/// What is asked of the database.
#[derive(Debug)]
pub(super) enum Ask {
    Behind(WalkStart),
    BehindAndClaim { from: WalkStart, unseen: Unseen },
    Newest,
    Lanes(Option<RingPlace>),
    Keys(Option<RingPlace>),
    Feed { lanes: Vec<LaneLook>, limit: u32 },
    Defer(Vec<MessageId>),
    Recall(Vec<String>),
}

/// What a look has shown.
#[derive(Debug)]
pub(super) enum Seen {
    Behind { from: WalkStart, headers: Vec<Header>, claimed: Option<(ClaimId, Vec<Message>)> },
    Newest(Vec<Header>),
    Lanes(RingStep),
    Keys(RingStep),
    Fed { lanes: Vec<LaneLook>, limit: u32, headers: Vec<Header> },
    Deferred(BTreeMap<String, u64>),
    Recalled,
}

/// A look that has ended.
#[derive(Debug)]
pub(super) struct Looked {
    pub seen: Result<Seen, StoreError>,
    pub took: Duration,
    /// The channels at its time.
    pub channels: Arc<Channels>,
}

/// A look.
#[derive(Debug)]
pub(super) struct LookTask {
    pub store: Arc<dyn Store>,
    pub due: Arc<dyn DueRows>,
    pub destinations: Arc<Destinations>,
    pub channels: Arc<Channels>,
    pub term: TermId,
    pub lease_ttl: Duration,
}

impl LookTask {
    pub(super) async fn run(self, ask: Ask) -> Looked {
        let began = Instant::now();
        let seen = self.look(ask).await;
        Looked { seen, took: began.elapsed(), channels: self.channels }
    }

    async fn look(&self, ask: Ask) -> Result<Seen, StoreError> {
        let shard = self.term.shard;
        let seen = match ask {
            Ask::Behind(from) => {
                let headers = self.due.look(shard, from, PAGE).await?;
                Seen::Behind { from, headers, claimed: None }
            }
            Ask::BehindAndClaim { from, unseen } => self.look_and_claim(from, unseen).await?,
            Ask::Newest => Seen::Newest(self.due.newest(shard, NEWEST).await?),
            Ask::Lanes(place) => Seen::Lanes(self.due.next_lanes(shard, place.as_ref(), STEP, EACH).await?),
            Ask::Keys(place) => {
                let halting = self.channels.terms().iter().filter(|terms| terms.on_dead_ordered == OnDeadOrdered::Halt);
                let halting: Vec<String> = halting.map(|terms| terms.name.clone()).collect();
                Seen::Keys(self.due.next_keys(shard, place.as_ref(), STEP, EACH, &halting).await?)
            }
            Ask::Feed { lanes, limit } => {
                let headers = self.due.look_at_lanes(shard, &lanes, limit).await?;
                Seen::Fed { lanes, limit, headers }
            }
            Ask::Defer(rows) => Seen::Deferred(
                self.due.defer_unknown(&self.term, &rows, self.channels.terms(), UNKNOWN_CHANNEL_DELAY).await?,
            ),
            Ask::Recall(names) => {
                self.recall(names).await?;
                Seen::Recalled
            }
        };
        let (Seen::Behind { headers, .. }
        | Seen::Newest(headers)
        | Seen::Fed { headers, .. }
        | Seen::Lanes(RingStep { headers, .. })
        | Seen::Keys(RingStep { headers, .. })) = &seen
        else {
            return Ok(seen);
        };
        let met: HashSet<&str> = headers.iter().map(|header| &*header.destination).collect();
        self.recall(met.into_iter().map(str::to_owned).collect()).await?;
        Ok(seen)
    }

    /// Asks the database about those of these destinations of which only it may know that they take nothing.
    async fn recall(&self, met: Vec<String>) -> Result<(), StoreError> {
        let in_doubt = self.destinations.in_doubt(&met);
        if !in_doubt.is_empty() {
            self.destinations.recall(&in_doubt, &self.store.destinations(&in_doubt).await?);
        }
        Ok(())
    }

    /// A claim whose answer is lost is released, and what it took is found again.
    async fn look_and_claim(&self, from: WalkStart, unseen: Unseen) -> Result<Seen, StoreError> {
        let mut claiming = Claiming::new(&self.store, self.term.shard);
        let request = LookAndClaim {
            claim: claiming.claim,
            behind: from,
            limit: PAGE,
            known: &unseen.known,
            not_of: &unseen.not_of,
            up_to: u32::try_from(unseen.up_to).unwrap_or(u32::MAX),
            terms: &self.terms(self.channels.longest_request()),
        };
        claiming.in_doubt = true;
        let answer = self.due.look_and_claim(&self.term, &request).await;
        claiming.in_doubt = matches!(answer, Err(StoreError::Unavailable { .. }));
        let found = answer?;
        let claimed = (!found.messages.is_empty()).then_some((claiming.claim, found.messages));
        Ok(Seen::Behind { from, headers: found.headers, claimed })
    }

    fn terms(&self, timeout: Duration) -> ClaimTerms<'_> {
        ClaimTerms { channels: self.channels.terms(), timeout, lease_ttl: self.lease_ttl, margin: SETTLING_MARGIN }
    }
}

/// The database has a later term.
#[derive(Debug)]
pub(super) struct Fenced;

/// A claim that has ended.
#[derive(Debug)]
pub(super) struct Claimed {
    /// The rows that it was made for.
    pub chosen: Vec<Header>,
    /// The rows that it took. None where it was given up: it took too long, or its term is over.
    pub made: Option<Result<(ClaimId, Vec<Message>), Fenced>>,
    /// The channels at its time.
    pub channels: Arc<Channels>,
}

/// A claim.
#[derive(Debug)]
pub(super) struct ClaimTask {
    pub store: Arc<dyn Store>,
    pub due: Arc<dyn DueRows>,
    pub term: Arc<Term>,
    pub size: Arc<ClaimSize>,
    pub lease_ttl: Duration,
    pub channels: Arc<Channels>,
    pub chosen: Vec<Header>,
}

impl ClaimTask {
    /// Makes the claim, repeating it under the same id until its fate is known. One that took too long is given up: the next one asks
    /// for less.
    pub(super) async fn run(self) -> Claimed {
        let made = self.claim().await;
        Claimed { chosen: self.chosen, made, channels: self.channels }
    }

    async fn claim(&self) -> Option<Result<(ClaimId, Vec<Message>), Fenced>> {
        let mut claiming = Claiming::new(&self.store, self.term.id.shard);
        let rows: Vec<_> = self.chosen.iter().map(|header| (header.id, header.revision)).collect();
        let bytes = self.chosen.iter().map(|header| header.bytes).sum();
        let used: HashSet<&str> = self.chosen.iter().map(|header| &*header.lane.channel).collect();
        let used = self.channels.terms().iter().filter(|terms| used.contains(terms.name.as_str()));
        let terms = ClaimTerms {
            channels: self.channels.terms(),
            timeout: used.map(|terms| terms.timeout).max().unwrap_or_default(),
            lease_ttl: self.lease_ttl,
            margin: SETTLING_MARGIN,
        };
        let request = RowsToClaim { claim: claiming.claim, rows: &rows, terms: &terms };
        let mut backoff = Backoff::new();
        loop {
            let began = Instant::now();
            let was_in_doubt = std::mem::replace(&mut claiming.in_doubt, true);
            let answer = self.due.claim_rows(&self.term.id, &request).await;
            claiming.in_doubt =
                was_in_doubt && answer.is_err() || matches!(answer, Err(StoreError::Unavailable { .. }));
            let error = match answer {
                Ok(messages) => {
                    self.size.worked(&messages, began.elapsed());
                    return Some(Ok((claiming.claim, messages)));
                }
                Err(StoreError::Fenced { .. }) => return Some(Err(Fenced)),
                Err(error @ (StoreError::Unavailable { .. } | StoreError::Refused { .. })) => error,
            };
            tracing::error!(epoch = %self.term.id.epoch, messages = rows.len(), bytes, %error, "claim.failed");
            let too_large = claiming.in_doubt && self.size.asked_too_much(rows.len(), bytes, began.elapsed());
            tokio::select! {
                () = self.term.ended() => return None,
                () = tokio::time::sleep(backoff.next()) => {}
            }
            if too_large {
                claiming.anew().await;
                return None;
            }
        }
    }
}
