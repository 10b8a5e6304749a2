//! A look: a call to the database that goes on beside the loop.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use outbox_schema::MessageId;
use outbox_store::store::due::{ClaimTerms, Header, LaneLook, LookAndClaim, RingPlace, RingStep};
use outbox_store::{ClaimId, Message, OnDeadOrdered, Store, StoreError, WalkStart};
use tokio::time::Instant;

use super::{EACH, KeyStep, PAGE, STEP};
use crate::destinations::Destinations;
use crate::poller::channels::Channels;
use crate::poller::claim::SETTLING_MARGIN;
use crate::poller::claim::given_up::Claiming;
use crate::schedule::Unseen;
use crate::term::Term;

/// How long rows of a channel that is not configured are deferred.
const UNKNOWN_CHANNEL_DELAY: Duration = Duration::from_mins(5);

/// The newest rows that a look brings.
const NEWEST: u32 = 512;

/// A question of the poller to the database.
#[derive(Debug)]
pub(in crate::poller) enum Ask {
    Behind(WalkStart),
    BehindAndClaim { from: WalkStart, unseen: Unseen },
    Newest,
    Lanes(Option<RingPlace>),
    Keys(KeyStep),
    Feed { lanes: Vec<LaneLook>, limit: u32 },
    Defer(Vec<MessageId>),
    Recall(Vec<String>),
}

/// The answer of the database to a look.
#[derive(Debug)]
pub(in crate::poller) enum Seen {
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
pub(in crate::poller) struct Looked {
    pub seen: Result<Seen, StoreError>,
    pub took: Duration,
    /// The channels at its time.
    pub channels: Arc<Channels>,
}

/// A look.
#[derive(Debug)]
pub(in crate::poller) struct LookTask {
    pub store: Arc<dyn Store>,
    pub destinations: Arc<Destinations>,
    pub channels: Arc<Channels>,
    pub term: Arc<Term>,
    pub lease_ttl: Duration,
}

impl LookTask {
    pub(in crate::poller) async fn run(self, ask: Ask) -> Looked {
        let began = Instant::now();
        let seen = self.look(ask).await;
        Looked { seen, took: began.elapsed(), channels: self.channels }
    }

    async fn look(&self, ask: Ask) -> Result<Seen, StoreError> {
        let shard = self.term.id.shard;
        let seen = match ask {
            Ask::Behind(from) => {
                let headers = self.store.look(shard, from, PAGE).await?;
                Seen::Behind { from, headers, claimed: None }
            }
            Ask::BehindAndClaim { from, unseen } => self.look_and_claim(from, unseen).await?,
            Ask::Newest => Seen::Newest(self.store.newest(shard, NEWEST).await?),
            Ask::Lanes(place) => Seen::Lanes(self.store.next_lanes(shard, place.as_ref(), STEP, EACH).await?),
            Ask::Keys(KeyStep { from, keys, each }) => {
                let halting = self.channels.terms().iter().filter(|terms| terms.on_dead_ordered == OnDeadOrdered::Halt);
                let halting: Vec<String> = halting.map(|terms| terms.name.clone()).collect();
                Seen::Keys(self.store.next_keys(shard, from.as_ref(), keys, each, &halting).await?)
            }
            Ask::Feed { lanes, limit } => {
                let headers = self.store.look_at_lanes(shard, &lanes, limit).await?;
                Seen::Fed { lanes, limit, headers }
            }
            Ask::Defer(rows) => Seen::Deferred(
                self.store.defer_unknown(&self.term.id, &rows, self.channels.terms(), UNKNOWN_CHANNEL_DELAY).await?,
            ),
            Ask::Recall(names) => {
                self.recall(names).await?;
                Seen::Recalled
            }
        };
        // What claims at once is never in doubt about a destination, and must not be lost with an answer about one.
        let (Seen::Behind { headers, claimed: None, .. }
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
        let mut claiming = Claiming::new(&self.store, self.term.id.shard);
        let terms = ClaimTerms {
            channels: self.channels.terms(),
            timeout: self.channels.longest_request(),
            lease_ttl: self.lease_ttl,
            margin: SETTLING_MARGIN,
        };
        let request = LookAndClaim {
            claim: claiming.claim,
            behind: from,
            limit: PAGE,
            known: &unseen.known,
            not_of: &unseen.not_of,
            up_to: u32::try_from(unseen.up_to).unwrap_or(u32::MAX),
            terms: &terms,
        };
        claiming.in_doubt = true;
        let answer = self.store.look_and_claim(&self.term.id, &request).await;
        claiming.in_doubt = matches!(answer, Err(StoreError::Unavailable { .. }));
        if claiming.in_doubt {
            // Nothing is claimed beside it: the next claim could take the same rows.
            tokio::select! {
                () = self.term.ended() => {}
                () = claiming.anew() => {}
            }
        }
        let found = answer?;
        let claimed = (!found.messages.is_empty()).then_some((claiming.claim, found.messages));
        Ok(Seen::Behind { from, headers: found.headers, claimed })
    }
}
