//! What a poller asks of the outbox database.

use std::time::Duration;

use async_trait::async_trait;
use outbox_schema::MessageId;

use super::due::DueRows;
use super::error::StoreError;
use crate::destination::DestinationState;
use crate::mark::MarkReport;
use crate::{ChannelTerms, ClaimId, Epoch, Holder, Lineage, Mark, Shard, TermEnd, TermId};

#[cfg(doc)]
use crate::destination::MOST_TOLD;

/// What a poller asks of the outbox database: due rows, and what is to be kept of them.
#[async_trait]
pub trait Store: DueRows {
    /// Mints the next epoch of `shard` for `holder`, above `above`, and freezes the claims that earlier terms left. A database that
    /// failed over may have forgotten the last epochs: `above` is the highest that was seen.
    /// Repeated for the same holder, it gives the same epoch.
    async fn begin_term(&self, shard: Shard, holder: &Holder, above: Epoch) -> Result<OpenedTerm, StoreError>;

    /// Records on the term's claims that its gate is closed, and in the term log how it ended. Idempotent. Works even
    /// when later terms have begun.
    async fn end_term(&self, term: &TermId, end: TermEnd, counts: TermCounts) -> Result<(), StoreError>;

    /// Releases a claim that was given up, made or not: its rows can be claimed again, and no attempt is counted. Nothing is claimed
    /// under its id any more. Repeated, it does nothing more.
    async fn release(&self, shard: Shard, claim: ClaimId) -> Result<(), StoreError>;

    /// What the database keeps of those of these destinations that are paused, that fail, or that have deferred rows.
    async fn destinations(&self, names: &[String]) -> Result<Vec<DestinationState>, StoreError>;

    /// Writes a group of marks. `finished` are the claims whose last row is marked or refused with this group. A group that fails
    /// may be written in part: repeat it as a whole, which is harmless.
    ///
    /// # Errors
    /// [`StoreError::Refused`] where the database does not take some value of the group: split it.
    async fn mark(&self, marks: &[Mark], finished: &[ClaimId]) -> Result<MarkReport, StoreError>;

    /// Records the deliveries among `marks`, which could not be written for `why`, beside the messages: with the rights that are
    /// left. Repeated, it records each once.
    async fn record_unmarked(&self, marks: &[Mark], why: &str) -> Result<(), StoreError>;

    /// Decides the rows of superseded claims whose settling time is over. Returns what it decided, and what still waits. Of the
    /// `unanswered` rows, which an earlier call may have decided whose answer was lost, it returns those that were decided too.
    ///
    /// # Errors
    /// [`StoreError::Fenced`] as for [`DueRows::claim_rows`].
    async fn settle(
        &self,
        term: &TermId,
        channels: &[ChannelTerms],
        unanswered: &[MessageId],
    ) -> Result<Settlement, StoreError>;

    /// A connection that hears of newly committed rows. None where the database has no such thing.
    async fn wakeups(&self) -> Result<Option<Box<dyn Wakeups>>, StoreError>;

    /// Says that a call got no answer. Connections that were idle meanwhile may be dead too: they are closed, and so are
    /// those that are kept, and what hears of new rows.
    fn distrust(&self) {}
}

/// Hints that there may be rows to poll, once they are wanted. Polling alone always suffices. After an error the
/// connection is of no more use.
#[async_trait]
pub trait Wakeups: Send {
    /// Says whether commits give hints from now on. Each hint costs the application something.
    async fn want(&mut self, wanted: bool) -> Result<(), HintsLost>;

    /// Waits for the next hint.
    ///
    /// # Cancel safety
    /// Safe: the next poll makes up for a missed hint.
    async fn wait(&mut self) -> Result<(), HintsLost>;
}

/// Why no more hints are heard: a [`StoreError`], or the error of another source of hints. It is only logged.
pub type HintsLost = Box<dyn std::error::Error + Send + Sync>;

/// A term as it begins.
#[derive(Debug)]
pub struct OpenedTerm {
    /// The minted fencing token.
    pub epoch: Epoch,
    /// The lineage of the database that minted it. None where it has none.
    pub lineage: Option<Lineage>,
    /// Rows of claims that are not settled yet. Nobody claims them until [`Store::settle`] says otherwise.
    pub unsettled: Vec<MessageId>,
    /// The state in which earlier terms, and operators, left the destinations: of [`MOST_TOLD`] at most.
    pub destinations: Vec<DestinationState>,
}

/// What a term did, for the term log.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct TermCounts {
    /// Rows that the term claimed.
    pub claimed: u64,
    /// Rows that receivers accepted before the term ended. Rows on the wire at its end are counted in no term.
    pub delivered: u64,
    /// Rows whose attempt failed before the term ended, for now or for good.
    pub failed: u64,
    /// Rows among these that the term's own sends left in doubt. [`Store::settle`] adds those that a later term finds so.
    pub in_doubt: u64,
}

/// What [`Store::settle`] decided and what it left.
#[derive(Debug, Default)]
pub struct Settlement {
    /// Rows found in doubt and decided by their channel's policy.
    pub decided: Vec<Decided>,
    /// Rows of claims whose settling time is not over.
    pub unsettled: Vec<MessageId>,
    /// The time until the next claim can be settled.
    pub next: Option<Duration>,
}

/// A row that an earlier term left in doubt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decided {
    /// The row.
    pub id: MessageId,
    /// The destination of the row. Quarantined rows of one are resent one at a time.
    pub destination: String,
    /// Whether the row's term ended without closing its gate. Then the row may have killed the process.
    pub crashed: bool,
    /// Whether the row is due again. Otherwise it is `DEAD`.
    pub resend: bool,
}

/// The rows that are dead by what was decided.
pub(crate) fn dead(decided: &[Decided]) -> Vec<MessageId> {
    decided.iter().filter(|row| !row.resend).map(|row| row.id).collect()
}
