//! What people, and the tools in their hands, ask of an outbox: how it does, what became of a message, and to send
//! dead letters again. Nothing here is on the path of a message.

mod database;
mod redrive;
mod report;
mod statements;

use async_trait::async_trait;

use crate::{DeadReason, MessageId};

pub use report::{
    AttemptEntry, ChannelVitals, CurrentTerm, DeadLetter, MessageRecord, NamingClaim, PausedDestination, Redriven,
    TermEntry, Vitals,
};

/// What people ask of an outbox. [`Database`](crate::Database) answers for each of the three.
#[async_trait]
pub trait Desk: Send + Sync + std::fmt::Debug {
    /// How the outbox does. Reads what is pending or dead, never the history.
    async fn vitals(&self) -> Result<Vitals, DeskError>;

    /// The last terms of all shards, the newest first.
    async fn terms(&self, limit: u32) -> Result<Vec<TermEntry>, DeskError>;

    /// All there is to know of a message.
    async fn message(&self, id: MessageId) -> Result<Option<MessageRecord>, DeskError>;

    /// The same, by idempotency key.
    async fn message_by_key(&self, key: &str) -> Result<Option<MessageRecord>, DeskError>;

    /// Dead letters, the newest message first.
    async fn dead_letters(&self, filter: &DeadLetterFilter) -> Result<Vec<DeadLetter>, DeskError>;

    /// Makes dead letters due again: their attempts, their age and an expiry that has passed start anew, under the same
    /// idempotency key. Each is written to `outbox_audit` with `by` and `why`. Goes in batches, so that polling goes on
    /// between them; a batch is redriven whole or not at all.
    ///
    /// # Cancel safety
    /// Safe: batches that were committed stay so, and the call can be repeated.
    async fn redrive(&self, selection: &Selection, by: &str, why: &str) -> Result<Redriven, DeskError>;

    /// Settings of the database under which a committed message can be lost, each with what to do about it.
    async fn durability(&self) -> Result<Vec<String>, DeskError>;
}

/// Which dead letters: those to which all that is said applies.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeadLetterFilter {
    /// Of this channel.
    pub channel: Option<String>,
    /// Dead for this reason.
    pub reason: Option<DeadReason>,
    /// Of this destination: `https://shop.example:443`, or the name of an FCM channel.
    pub destination: Option<String>,
    /// Dead for no longer than this.
    pub since: Option<std::time::Duration>,
    /// With an id below this one: the id of the last that an earlier call gave.
    pub before: Option<MessageId>,
    /// This many at most; none: all that there are (for [`Desk::dead_letters`], 100).
    pub limit: Option<u32>,
}

/// Which dead letters to redrive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selection {
    /// These. Those that are not there, not dead, or in flight are skipped.
    Ids(Vec<MessageId>),
    /// Those that a filter finds.
    Filter(DeadLetterFilter),
}

/// The database did not answer, or refused.
#[derive(Debug, thiserror::Error)]
#[error("the outbox database did not answer ({doing}): {source}")]
pub struct DeskError {
    /// What was asked of it.
    pub doing: &'static str,
    /// The database's or the client's own words.
    pub source: sqlx::Error,
}
