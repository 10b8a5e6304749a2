//! The lease port: the expiring right to poll. An *efficiency* device: it keeps two replicas from polling at
//! once, nearly always. What keeps them from doing harm when it fails is the epoch in the outbox database.

mod redis;
mod table;

use std::time::Duration;

use async_trait::async_trait;
use outbox_schema::{Holder, Shard};

pub use self::redis::{REDIS_RIGHTS, REDIS_URL, RedisHints, RedisLease, RedisSetupError, check_redis_url};
pub use self::table::TableLease;

/// The expiring right to poll a shard of one outbox.
///
/// Every call is bounded by the caller; an answer that does not come may still have taken effect.
#[async_trait]
pub trait Lease: Send + Sync + std::fmt::Debug {
    /// Takes the lease for `ttl` if nobody holds it. True also where `holder` holds it already (a repeated
    /// call after a lost answer); the time to live then is the one of the first call.
    async fn acquire(&self, shard: Shard, holder: &Holder, ttl: Duration) -> Result<bool, LeaseError>;

    /// Sets the time to live anew if `holder` holds the lease; false where it does not.
    async fn renew(&self, shard: Shard, holder: &Holder, ttl: Duration) -> Result<bool, LeaseError>;

    /// Gives the lease up if `holder` holds it, and tells the candidates. False where it did not hold it.
    async fn release(&self, shard: Shard, holder: &Holder) -> Result<bool, LeaseError>;

    /// Waits until somebody gives the lease up. A hint: it may wait for ever, and it may wake for nothing.
    ///
    /// # Cancel safety
    /// Safe to drop; a release published between two calls is not missed.
    async fn released(&self, shard: Shard);

    /// Who holds the lease and for how much longer, for `outbox status` and `outbox check`.
    async fn current(&self, shard: Shard) -> Result<Option<Held>, LeaseError>;
}

/// A lease that is held.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// By whom.
    pub holder: String,
    /// Until it expires unless it is renewed.
    pub remaining: Duration,
}

/// The lease store could not be asked.
#[derive(Debug, thiserror::Error)]
#[error("the lease store at {at} did not answer ({doing}): {source}")]
pub struct LeaseError {
    /// Where, without credentials.
    pub at: String,
    /// What was attempted.
    pub doing: &'static str,
    /// The client's own words.
    pub source: Box<dyn std::error::Error + Send + Sync>,
}
