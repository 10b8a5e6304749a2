//! What is kept for how long, and removing what is older. It walks the primary key, a stretch at a time: an index for it
//! would cost each mark more than the walk costs.

mod database;
mod statements;

use std::time::Duration;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::{DeskError, MessageId, Status};

// A purge by hand deletes in the same way.
pub(crate) use statements::{PRUNE_LOCK, PURGE, PURGE_ATTEMPTS};

/// Rows of one stretch, and so of one transaction.
pub const STRETCH: u32 = 1_000;

/// Before the first row.
pub const BEGINNING: MessageId = MessageId(i64::MIN);

/// For how long messages are kept once they are finished. What is `PENDING` is kept whatever its age.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Retention {
    /// Those that were delivered; none: for ever. Their idempotency keys go with them.
    pub success: Option<Duration>,
    /// Dead letters; none: for ever.
    pub dead: Option<Duration>,
    /// Channels whose ordering keys go on where a message of them is dead. On all others, also on those that nobody has
    /// configured here, a dead letter is kept, unless it was cancelled, for as long as a later message of its key is
    /// `PENDING`.
    pub continuing: Vec<String>,
}

impl Retention {
    /// The shorter of the two times; none where all is kept for ever.
    pub fn shortest(&self) -> Option<Duration> {
        self.success.into_iter().chain(self.dead).min()
    }
}

/// A message that has been kept for longer than it should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Overdue {
    /// Which.
    pub id: MessageId,
    /// `Success` or `Dead`.
    pub status: Status,
    /// For how much longer.
    pub by: Duration,
}

/// A stretch of the outbox, in the order of ids.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stretch {
    /// Behind which id it begins.
    pub after: MessageId,
    /// With which id it ends.
    pub through: MessageId,
    /// Whether nothing behind it can be overdue: a pass ends here.
    pub last: bool,
    /// What is overdue in it, by id.
    pub overdue: Vec<Overdue>,
}

impl Stretch {
    /// Nothing, at the beginning of the outbox.
    pub const NONE: Self = Self { after: BEGINNING, through: BEGINNING, last: true, overdue: Vec::new() };
}

/// How many messages were removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Pruned {
    /// That had been delivered.
    pub success: u64,
    /// Dead letters.
    pub dead: u64,
}

impl Pruned {
    /// Of either kind.
    pub fn total(self) -> u64 {
        self.success + self.dead
    }

    /// Counts some more.
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

/// Removes what is old. [`Database`](crate::Database) does it for each of the three.
///
/// # Cancel safety
/// Safe: what was committed stays removed, and the call can be repeated.
#[async_trait]
pub trait Pruning: Send + Sync + std::fmt::Debug {
    /// Looks at the next [`STRETCH`] rows behind `after`. Changes nothing.
    async fn overdue(&self, retention: &Retention, after: MessageId) -> Result<Stretch, DeskError>;

    /// Removes what is still overdue in a stretch, in one transaction, and its attempts with it, those of messages that
    /// are gone already too. Gives what it removed: not what somebody else is about to change, nor what halts a key.
    async fn remove(&self, retention: &Retention, stretch: &Stretch) -> Result<Vec<Overdue>, DeskError>;

    /// Removes some terms from the log: those of over 30 days ago, but for the last 1,000 of each shard. Gives whether
    /// there may be more.
    async fn prune_terms(&self) -> Result<bool, DeskError>;
}
