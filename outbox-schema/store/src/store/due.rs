//! Due rows: the part of the store port that shows due rows by their headers, and claims rows by their ids. It knows no rule of
//! who goes next: a schedule decides that, from headers.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

pub use super::header::{Header, Lane};
use crate::{
    ChannelTerms, ClaimId, InDoubtPolicy, Message, OnDeadOrdered, Revision, Shard, StoreError, TermId, WalkStart,
};
use outbox_schema::MessageId;

pub(crate) const LOOKING: &str = "looking at due messages";
pub(crate) const CLAIMING: &str = "claiming due messages";
pub(crate) const DEFERRING: &str = "deferring messages of unknown channels";

/// A lane to look at, and behind which place of each priority.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaneLook {
    /// The lane.
    pub lane: Lane,
    /// Behind which row of each priority.
    pub behind: WalkStart,
}

/// A place on the ring of all lanes, or of all ordering keys, where a step ended. Only the store reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RingPlace(pub(crate) String);

/// What a step along a ring brought.
#[derive(Debug, Default)]
pub struct RingStep {
    /// The first due rows of each lane, or key, that the step met.
    pub headers: Vec<Header>,
    /// Where the next step begins. None: the ring is at its end.
    pub next: Option<RingPlace>,
}

/// Rows to claim, as their headers were seen.
#[derive(Debug, Clone)]
pub struct RowsToClaim<'a> {
    /// The id of the claim. A caller without an answer repeats the same id.
    pub claim: ClaimId,
    /// The rows, first to go first.
    pub rows: &'a [(MessageId, Revision)],
    /// What the claim keeps of its channels.
    pub terms: &'a ClaimTerms<'a>,
}

impl RowsToClaim<'_> {
    /// The rows, each once.
    pub(crate) fn each_once(&self) -> Vec<(i64, i32)> {
        let mut met = HashSet::new();
        self.rows.iter().filter(|(id, _)| met.insert(*id)).map(|(id, revision)| (id.0, revision.0)).collect()
    }
}

/// What a claim must know, and keeps, of the channels of its rows.
#[derive(Debug, Clone, Copy)]
pub struct ClaimTerms<'a> {
    /// The configured channels.
    pub channels: &'a [ChannelTerms],
    /// The longest that a request for one of the rows may take.
    pub timeout: Duration,
    /// `lease.ttl`, the part of the settling time that a closed gate saves.
    pub lease_ttl: Duration,
    /// Time for the last mark to be written.
    pub margin: Duration,
}

impl ClaimTerms<'_> {
    /// How long a later term waits before it settles the claim.
    pub(crate) fn settling(&self) -> Duration {
        self.settling_closed().saturating_add(self.lease_ttl)
    }

    /// The same where this term's gate was closed.
    pub(crate) fn settling_closed(&self) -> Duration {
        self.timeout.saturating_add(self.margin)
    }

    /// The channels whose rows in doubt are not sent again. The claim keeps them: the poller that settles it may have
    /// other settings.
    pub(crate) fn at_most_once(&self) -> Vec<String> {
        self.names_of(|channel| channel.in_doubt == InDoubtPolicy::DeadLetter)
    }

    /// The channels in which a dead letter halts its ordering key.
    pub(crate) fn halting(&self) -> Vec<String> {
        self.names_of(|channel| channel.on_dead_ordered == OnDeadOrdered::Halt)
    }

    fn names_of(&self, which: impl Fn(&ChannelTerms) -> bool) -> Vec<String> {
        self.channels.iter().filter(|channel| which(channel)).map(|channel| channel.name.clone()).collect()
    }
}

/// A look that claims at once what it finds, where that is little.
#[derive(Debug, Clone)]
pub struct LookAndClaim<'a> {
    /// The id of the claim, if there is one.
    pub claim: ClaimId,
    /// Behind which row of each priority.
    pub behind: WalkStart,
    /// The most headers.
    pub limit: u32,
    /// Rows that are passed over: they are in flight, or wait for a reason of their own.
    pub known: &'a [MessageId],
    /// Lanes that are passed over: they have a backlog.
    pub not_of: &'a [Lane],
    /// The most rows that are claimed unseen. Where more are due, nothing is claimed.
    pub up_to: u32,
    /// What the claim keeps of its channels: `timeout` is the longest of any.
    pub terms: &'a ClaimTerms<'a>,
}

/// What such a look found, and claimed.
#[derive(Debug, Default)]
pub struct LookedAndClaimed {
    /// The headers, in the order of a look.
    pub headers: Vec<Header>,
    /// The rows of these that were claimed. Empty where nothing was.
    pub messages: Vec<Message>,
}

/// Due rows, shown and claimed.
#[async_trait]
pub trait DueRows: Send + Sync + std::fmt::Debug {
    /// The headers of due rows without an ordering key behind a place of each priority: `limit` of each priority at most, the
    /// highest priority first, then the longest due.
    async fn look(&self, shard: Shard, behind: WalkStart, limit: u32) -> Result<Vec<Header>, StoreError>;

    /// The headers of due rows without an ordering key that were never tried, the newest first: of each priority, those among the
    /// newest 8 times `limit` of its due rows, and `limit` of all priorities at most.
    async fn newest(&self, shard: Shard, limit: u32) -> Result<Vec<Header>, StoreError>;

    /// The headers of due rows of these lanes without an ordering key, `limit` of each priority and lane at most, in the order of
    /// [`DueRows::look`] within each lane.
    async fn look_at_lanes(&self, shard: Shard, lanes: &[LaneLook], limit: u32) -> Result<Vec<Header>, StoreError>;

    /// The next `lanes` of the ring, each with `each` of its first due rows of each priority.
    async fn next_lanes(
        &self,
        shard: Shard,
        from: Option<&RingPlace>,
        lanes: u32,
        each: u32,
    ) -> Result<RingStep, StoreError>;

    /// The next `keys` of the ring of ordering keys, each with the first `each` of its waiting rows, in the order of their ids,
    /// as far as they are due: rows behind one that is not due are left out. Where dead letters of a channel halt its keys
    /// (`halting`), a halted key has no rows.
    async fn next_keys(
        &self,
        shard: Shard,
        from: Option<&RingPlace>,
        keys: u32,
        each: u32,
        halting: &[String],
    ) -> Result<RingStep, StoreError>;

    /// Claims these rows, and commits the claim before it returns. Returns those that still are as their headers were: waiting,
    /// due, at that revision, of a configured channel, first of their ordering key and not halted, and not being cancelled. The
    /// claim holds exactly these; where there are none, it is not made. A repeat under the same id returns the same claim's
    /// rows, as far as they still wait at their revision.
    ///
    /// # Errors
    /// [`StoreError::Fenced`] where the term's epoch or holder is no longer the current one.
    async fn claim_rows(&self, term: &TermId, request: &RowsToClaim<'_>) -> Result<Vec<Message>, StoreError>;

    /// Looks, and claims at once what it finds, where that is no more than `up_to` rows: one round trip for a poller that idles.
    /// Rows that [`DueRows::claim_rows`] would refuse are shown and not claimed. A repeat under the id of a claim that was made
    /// shows and returns the rows of that claim.
    ///
    /// # Errors
    /// As of [`DueRows::claim_rows`].
    async fn look_and_claim(&self, term: &TermId, request: &LookAndClaim<'_>) -> Result<LookedAndClaimed, StoreError>;

    /// Defers these rows for `delay`, since nobody has configured their channel, and with them others of such channels that are
    /// due next. Returns how many of each channel were deferred.
    ///
    /// # Errors
    /// As of [`DueRows::claim_rows`].
    async fn defer_unknown(
        &self,
        term: &TermId,
        rows: &[MessageId],
        channels: &[ChannelTerms],
        delay: Duration,
    ) -> Result<BTreeMap<String, u64>, StoreError>;
}

/// The names in what one look shows: most rows share theirs with others.
#[derive(Debug, Default)]
pub(crate) struct Names(HashSet<Arc<str>>);

impl Names {
    /// The one text of this name.
    pub(crate) fn of(&mut self, name: &str) -> Arc<str> {
        if let Some(known) = self.0.get(name) {
            return known.clone();
        }
        let name: Arc<str> = name.into();
        self.0.insert(name.clone());
        name
    }

    /// The header that a claimed row had.
    pub(crate) fn header(&mut self, message: &Message, priority: i16, at: i64) -> Header {
        Header {
            id: message.id(),
            revision: message.revision(),
            priority: priority.try_into().unwrap_or(0),
            at,
            lane: Lane { channel: self.of(&message.channel), tenant: self.of(message.whose_turn()) },
            destination: self.of(&message.destination),
            key: message.ordering_key.as_deref().map(|key| self.of(key)),
            bytes: message.bytes.unsigned_abs(),
        }
    }
}
