//! The store port: what a poller asks of the outbox database. One conformance suite holds for every
//! implementation; the rule they all follow is *lock first, read in a later statement, READ COMMITTED*.
//! Locks are taken in one order: term row, claim rows by id, message rows by id.

pub(crate) mod fitting;
pub(crate) mod lossy;
pub mod mysql;
pub mod postgres;
pub(crate) mod rows;
pub(crate) mod settle;
pub mod sqlite;
pub(crate) mod steps;
pub(crate) mod term;
pub mod trial;
pub(crate) mod wire;

use std::time::Duration;

use async_trait::async_trait;

use crate::destination::DestinationState;
use crate::mark::MarkReport;
use crate::sql::said;
use crate::{
    ChannelTerms, ClaimId, ClaimRequest, Claimed, Epoch, Holder, Mark, MessageId, OrderingKey, Shard, TermEnd, TermId,
};

/// What a poller asks of the outbox database.
#[async_trait]
pub trait Store: Send + Sync + std::fmt::Debug {
    /// Mints the next epoch of `shard` for `holder` and freezes the claims that earlier terms left.
    /// Repeated for the same holder, it gives the same epoch.
    async fn begin_term(&self, shard: Shard, holder: &Holder) -> Result<OpenedTerm, StoreError>;

    /// Records on the term's claims that its gate is closed, and in the term log how it ended.
    /// Idempotent; works also when later terms have begun.
    async fn end_term(&self, term: &TermId, end: TermEnd, counts: TermCounts) -> Result<(), StoreError>;

    /// Claims due rows for `term`, committed before it returns. With the id of a claim that was made already,
    /// returns the rows of that claim.
    ///
    /// # Errors
    /// [`StoreError::Fenced`] where the term's epoch or holder is no longer the current one.
    async fn claim(&self, term: &TermId, request: &ClaimRequest<'_>) -> Result<Claimed, StoreError>;

    /// Says where the ordering keys with rows waiting can be divided: the key that lies `keys` of them behind `from` (behind
    /// the first, where that is none), or none where there are not so many. Writes nothing.
    async fn key_behind(
        &self,
        shard: Shard,
        from: Option<&OrderingKey>,
        keys: u32,
    ) -> Result<Option<OrderingKey>, StoreError>;

    /// Writes a group of marks, all or none; `finished` are the claims whose last row is marked or refused
    /// with this group. A repeated group is harmless.
    ///
    /// # Errors
    /// [`StoreError::Refused`] where the database does not take some value of the group: split it.
    async fn mark(&self, marks: &[Mark], finished: &[ClaimId]) -> Result<MarkReport, StoreError>;

    /// Decides the rows of superseded claims whose settling time is over, and says what still waits.
    ///
    /// # Errors
    /// [`StoreError::Fenced`] as for [`Store::claim`].
    async fn settle(&self, term: &TermId, channels: &[ChannelTerms]) -> Result<Settlement, StoreError>;

    /// A connection that hears of newly committed rows, where the database can say so.
    async fn wakeups(&self) -> Result<Option<Box<dyn Wakeups>>, StoreError>;
}

/// Hints that there may be something to poll, once they are wanted. Polling alone always suffices. After an error it is of no use
/// any more.
#[async_trait]
pub trait Wakeups: Send {
    /// Says whether commits shall give hints from now on: each costs the application something.
    async fn want(&mut self, wanted: bool) -> Result<(), HintsLost>;

    /// Waits for the next hint.
    ///
    /// # Cancel safety
    /// Safe: a hint that is missed is made good by the next poll.
    async fn wait(&mut self) -> Result<(), HintsLost>;
}

/// Why hints are heard no more: a [`StoreError`], or the error of whoever else gives them. It is only logged.
pub type HintsLost = Box<dyn std::error::Error + Send + Sync>;

/// A term as it begins.
#[derive(Debug)]
pub struct OpenedTerm {
    /// The minted fencing token.
    pub epoch: Epoch,
    /// Rows of claims not yet settled: left out of the polls until [`Store::settle`] says otherwise.
    pub unsettled: Vec<MessageId>,
    /// What earlier terms, and people, left of destinations.
    pub destinations: Vec<DestinationState>,
}

/// What a term did, for the term log.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct TermCounts {
    /// Rows claimed.
    pub claimed: u64,
    /// Rows accepted by the other side by the time the term ended. What was on the wire then is in no term's counts.
    pub delivered: u64,
    /// Rows whose attempt had failed by then, for now or for good.
    pub failed: u64,
}

/// What [`Store::settle`] decided and what it left.
#[derive(Debug, Default)]
pub struct Settlement {
    /// Rows found in doubt and decided by their channel's policy.
    pub decided: Vec<Decided>,
    /// Rows of claims whose settling time is not over.
    pub unsettled: Vec<MessageId>,
    /// When the next claim can be settled.
    pub next: Option<Duration>,
}

/// A row that an earlier term left in doubt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decided {
    /// The row.
    pub id: MessageId,
    /// Its destination, in which suspects are resent singly.
    pub destination: String,
    /// Whether its term ended without closing its gate: the row may be what killed the process.
    pub crashed: bool,
    /// Whether it is due again (else it is `DEAD`).
    pub resend: bool,
}

/// What the caller must do about it.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Step down: a later term exists.
    #[error("epoch {epoch} of shard {shard} is over: the database has a later term")]
    Fenced {
        /// The shard.
        shard: Shard,
        /// The epoch that is over.
        epoch: Epoch,
    },
    /// Try again later: not reachable, too slow, restarted, out of connections, read-only, disk full, or a deadlock.
    #[error("the outbox database {} ({doing}): {source}", said(source.downcast_ref()))]
    Unavailable {
        /// What was attempted.
        doing: &'static str,
        /// The database's or the client's own words.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// Do not repeat it as it is: the database refuses a value or the statement.
    #[error("the outbox database refused ({doing}): {source}")]
    Refused {
        /// What was attempted.
        doing: &'static str,
        /// The database's own words.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl StoreError {
    /// What the database's client reports of a statement. Whether an error of the database speaks of the statement's values, and
    /// so would come again, is for each dialect to say.
    pub(crate) fn of(
        doing: &'static str,
        error: sqlx::Error,
        about_data: impl FnOnce(&dyn sqlx::error::DatabaseError) -> bool,
    ) -> Self {
        let about_data = match &error {
            sqlx::Error::Database(database) => about_data(database.as_ref()),
            sqlx::Error::Encode(_) => true,
            _ => false,
        };
        let source = error.into();
        if about_data { Self::Refused { doing, source } } else { Self::Unavailable { doing, source } }
    }
}
