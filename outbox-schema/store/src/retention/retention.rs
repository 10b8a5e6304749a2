//! How long messages are kept, and the removal of older ones. The removal walks the primary key, a stretch at a time:
//! an index for it would cost each mark more than the walk costs.

use std::time::Duration;

use async_trait::async_trait;
use outbox_schema::MessageId;
use serde::{Deserialize, Serialize};

use crate::{QueryError, Status};

/// Rows of one stretch, which is removed in one transaction.
pub const STRETCH: u32 = 1_000;

/// The place before the first row.
pub const BEGINNING: MessageId = MessageId(i64::MIN);

/// How long finished messages are kept. `PENDING` messages are kept whatever their age.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retention {
    /// How long delivered messages are kept. None: for ever. Their idempotency keys go with them.
    pub success: Option<Duration>,
    /// How long dead letters are kept. None: for ever.
    pub dead: Option<Duration>,
    /// Channels whose ordering keys go on behind a dead letter. On all other channels, known here or not, a dead letter
    /// is kept while a later message of its key is `PENDING`, unless it was cancelled.
    pub continuing: Vec<String>,
}

impl Retention {
    /// The shorter of the two times. None where both are for ever.
    pub fn shortest(&self) -> Option<Duration> {
        self.success.into_iter().chain(self.dead).min()
    }
}

/// A message that is past its retention.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Overdue {
    /// The id of the message.
    pub id: MessageId,
    /// `Success` or `Dead`.
    pub status: Status,
    /// How far the message is past its retention.
    pub by: Duration,
}

/// A stretch of the outbox, in the order of ids.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stretch {
    /// The id behind which the stretch begins.
    pub after: MessageId,
    /// The id with which the stretch ends.
    pub through: MessageId,
    /// Whether nothing behind the stretch can be overdue: a pass ends here.
    pub last: bool,
    /// The overdue messages of the stretch, by id.
    pub overdue: Vec<Overdue>,
}

impl Stretch {
    /// An empty stretch at the beginning of the outbox.
    pub const NONE: Self = Self { after: BEGINNING, through: BEGINNING, last: true, overdue: Vec::new() };
}

/// How many messages were removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Pruned {
    /// Delivered messages that were removed.
    pub success: u64,
    /// Dead letters that were removed.
    pub dead: u64,
}

impl Pruned {
    /// Messages of either kind.
    pub fn total(self) -> u64 {
        self.success + self.dead
    }

    /// Adds removed messages to the count.
    pub fn add(&mut self, removed: &[Overdue]) {
        for one in removed {
            match one.status {
                Status::Success => self.success += 1,
                Status::Dead => self.dead += 1,
                Status::Pending => {}
            }
        }
    }
}

/// Removes old messages. [`Database`](crate::Database) does it for each of the three dialects.
///
/// # Cancel safety
/// Safe: what was committed stays removed, and the call can be repeated.
#[async_trait]
pub trait Pruning: Send + Sync + std::fmt::Debug {
    /// Looks at the next [`STRETCH`] rows behind `after`. Changes nothing.
    async fn overdue(&self, retention: &Retention, after: MessageId) -> Result<Stretch, QueryError>;

    /// Removes what is still overdue in a stretch, in one transaction. Removes the attempts of these messages too, and
    /// those of messages in the stretch that are gone already. Returns what it removed: not messages that another
    /// transaction is about to change, nor those that halt a key.
    async fn remove(&self, retention: &Retention, stretch: &Stretch) -> Result<Vec<Overdue>, QueryError>;

    /// Removes some terms from the log: those that are over 30 days old, except the last 1,000 of each shard. Returns
    /// whether there may be more.
    async fn prune_terms(&self) -> Result<bool, QueryError>;

    /// Looks at the next 1,000 destinations behind `after`, by name. Forgets those that were neither paused nor used within the last
    /// day. Returns the name of the last one, where there may be more.
    async fn prune_destinations(&self, after: &str) -> Result<Option<String>, QueryError>;
}
