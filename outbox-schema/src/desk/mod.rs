//! What people, and the tools in their hands, ask of an outbox: how it does, what became of a message, and to cancel,
//! mend and redrive by hand. Nothing here is on the path of a message: what it shares with a poller's own work is in
//! `sql.rs`, `wire.rs`, `destination/` and `retention/`.

mod answers;
mod by_hand;
mod database;
mod dead;
mod destinations;
mod edit;
mod facts;
mod held_back;
mod invalid_targets;
mod messages;
mod operation;
mod prune;
mod redrive;
mod replicas;
mod report;
mod selection;
mod statements;
mod undo;

use std::num::NonZeroU32;
use std::time::Duration;

use async_trait::async_trait;

use crate::MessageId;
use crate::retention::{Pruned, Retention};
use crate::sql::said;

pub use answers::{Cancelled, Edited, Purged, Redriven, Refusal, Skipped, Undone};
pub use dead::GROUPS;
pub use destinations::{DestinationEntry, HeldUp, Paused, Resumed};
pub use edit::Revised;
pub use facts::{Backlog, COUNTED, Earlier, EarlierDead, MessageClock, MessageFacts};
pub use held_back::{HeldBack, Snapshot};
pub use invalid_targets::{Cleared, InvalidTarget, InvalidTargetPage, InvalidTargetSelection};
pub use messages::{MessageFilter, MessagePage, MessageSummary};
pub use replicas::{Replica, ReplicaRow};
pub use report::{
    AttemptEntry, AuditEntry, ChannelVitals, CurrentTerm, DeadGroup, DeadLetter, DeadLetterPage, MessageRecord,
    NamingClaim, PausedDestination, TermEntry, Vitals,
};
pub use selection::{Cursor, DeadLetterFilter, Moment, Selection};

/// What people ask of an outbox. [`Database`](crate::Database) answers for each of the three. Nothing of it writes.
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

    /// Messages without their bodies, the newest first: at most `limit`, of ids below `after`. Looks at 100,000 rows at
    /// most, and says so where more are left ([`MessagePage::next`]).
    async fn messages(
        &self,
        filter: &MessageFilter,
        after: Option<MessageId>,
        limit: u32,
    ) -> Result<MessagePage, DeskError>;

    /// Dead letters, the last that died first: at most `limit`, from where an earlier page ended.
    async fn dead_letters(
        &self,
        filter: &DeadLetterFilter,
        after: Option<Cursor>,
        limit: u32,
    ) -> Result<DeadLetterPage, DeskError>;

    /// The dead letters that are meant, counted by what they have in common, the most first. Of a filter, the [`GROUPS`] that
    /// died last are counted.
    async fn dead_groups(&self, selection: &Selection) -> Result<Vec<DeadGroup>, DeskError>;

    /// How many messages are past their retention: what [`ByHand::prune`] would remove, and those that it would find to
    /// halt their ordering key. Reads all rows that are older than that, in small stretches with pauses between.
    async fn past_retention(&self, retention: &Retention) -> Result<Pruned, DeskError>;

    /// Destinations and channels that hold something up, or `all` of which something is remembered, by name.
    async fn destinations(&self, all: bool) -> Result<Vec<DestinationEntry>, DeskError>;

    /// Targets that are known to be gone, the last recorded first: at most `limit`, of ids below `after`.
    async fn invalid_targets(
        &self,
        selection: &InvalidTargetSelection,
        after: Option<i64>,
        limit: u32,
    ) -> Result<InvalidTargetPage, DeskError>;
}

/// What people do to messages. Each change is written to `outbox_audit`, in its own transaction, and raises the revision
/// of the row, so that no claim or mark of earlier can touch it.
///
/// What concerns many messages goes in small batches with pauses between, so that deliveries go on beside it; a batch is
/// done whole or not at all.
///
/// # Cancel safety
/// Safe: batches that were committed stay so, and the call can be repeated.
#[async_trait]
pub trait ByHand: Send + Sync + std::fmt::Debug {
    /// Makes a message that waits a dead letter, `cancelled`. One that may be in flight is refused.
    async fn cancel(&self, id: MessageId, author: &Author) -> Result<Cancelled, DeskError>;

    /// Gives a dead letter that is still at `revision` another payload, target or headers, and a new idempotency key:
    /// receivers refuse a key with another body. It stays a dead letter.
    async fn edit(&self, id: MessageId, revision: i32, revised: &Revised, author: &Author)
    -> Result<Edited, DeskError>;

    /// Makes dead letters due again, in the order of their ids: their attempts, their age and an expiry that has passed
    /// start anew, under the same idempotency key.
    async fn redrive(&self, selection: &Selection, pace: Pace, author: &Author) -> Result<Redriven, DeskError>;

    /// Takes back what a redrive did to messages that have not been claimed or attempted since: they are dead letters
    /// as before. `operation` is [`Redriven::audit_id`]; none where that is no redrive.
    async fn undo(&self, operation: i64, author: &Author) -> Result<Option<Undone>, DeskError>;

    /// Deletes dead letters and their attempts. Only the audit remembers them.
    async fn purge(&self, selection: &Selection, author: &Author) -> Result<Purged, DeskError>;

    /// Removes what is past its retention, with its attempts, and tells `progress` after each batch how much it has
    /// removed so far. The audit remembers that, not what was removed.
    async fn prune(
        &self,
        retention: &Retention,
        author: &Author,
        progress: &(dyn Fn(Pruned) + Sync),
    ) -> Result<Pruned, DeskError>;

    /// Pauses a destination, or a channel as a whole, for so long, a century at most; none: until somebody resumes it.
    /// What is in flight goes on. The poller hears of it within a second.
    async fn pause(&self, destination: &str, lasting: Option<Duration>, author: &Author) -> Result<Paused, DeskError>;

    /// Ends every pause of a destination, or of a channel, and forgets its failures. Rows that were put aside are due
    /// again when they were.
    async fn resume(&self, destination: &str, author: &Author) -> Result<Resumed, DeskError>;

    /// Forgets targets that are known to be gone. Until then messages to them are dead letters without an attempt;
    /// those stay so until somebody redrives them.
    async fn clear_invalid_targets(
        &self,
        selection: &InvalidTargetSelection,
        author: &Author,
    ) -> Result<Cleared, DeskError>;
}

/// Who asks for a change, and why: for the audit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Author {
    /// A person, or the name of a token.
    pub who: String,
    /// In their words; empty where they said nothing.
    pub why: String,
}

/// How fast, and how much, of a redrive.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pace {
    /// Only so many, those of the lowest ids; none: all.
    pub canary: Option<NonZeroU32>,
    /// They come due so many a second; none: at once.
    pub rate: Option<NonZeroU32>,
}

/// It could not be asked, or done.
#[derive(Debug, thiserror::Error)]
pub enum DeskError {
    /// The database did not answer, or refused.
    #[error("the outbox database {} ({doing}): {source}", said(Some(source)))]
    Database {
        /// What was asked of it.
        doing: &'static str,
        /// The database's or the client's own words.
        source: sqlx::Error,
    },
    /// Nor did whoever answers for the database.
    #[error(transparent)]
    Elsewhere(Box<dyn std::error::Error + Send + Sync>),
}

impl DeskError {
    /// Whether the database answered that it cannot take a value of what was asked, as a text with NUL on PostgreSQL.
    pub fn is_about_a_value(&self) -> bool {
        let Self::Database { source: sqlx::Error::Database(error), .. } = self else { return false };
        // https://www.postgresql.org/docs/current/errcodes-appendix.html (Class 22, Data Exception); so on MySQL.
        error.code().is_some_and(|code| code.starts_with("22"))
    }

    /// Whether the database refused because its role lacks a right.
    pub fn lacks_rights(&self) -> bool {
        let Self::Database { source: sqlx::Error::Database(error), .. } = self else { return false };
        // https://www.postgresql.org/docs/current/errcodes-appendix.html (insufficient_privilege) and
        // https://dev.mysql.com/doc/mysql-errors/8.0/en/server-error-reference.html (ER_TABLEACCESS_DENIED_ERROR and its
        // like have the SQLSTATE of a syntax error, so their numbers are told apart).
        match error.try_downcast_ref::<sqlx::mysql::MySqlDatabaseError>() {
            Some(error) => [1044, 1142, 1143, 1227, 1370].contains(&error.number()),
            None => error.code().as_deref() == Some("42501"),
        }
    }
}
