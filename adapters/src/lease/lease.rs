//! The lease port: the expiring right to poll, or to run a job. The lease is for *efficiency*: nearly always, it keeps two replicas
//! from polling at once. When it fails, the epoch in the outbox database keeps them from doing harm, as the token does of a job.

use std::time::Duration;

use async_trait::async_trait;
use outbox_store::{Holder, Seat};

/// The expiring right to a seat of one outbox.
///
/// The caller bounds every call. A call without an answer may still have taken effect.
#[async_trait]
pub trait Lease: Send + Sync + std::fmt::Debug {
    /// Takes the lease for `ttl` if no replica holds it. True also where `holder` holds it already (a repeated call
    /// after a lost answer); the time to live is then that of the first call.
    async fn acquire(&self, seat: &Seat, holder: &Holder, ttl: Duration) -> Result<bool, LeaseError>;

    /// Sets the time to live anew if `holder` holds the lease. False where it does not.
    async fn renew(&self, seat: &Seat, holder: &Holder, ttl: Duration) -> Result<bool, LeaseError>;

    /// Releases the lease if `holder` holds it, and tells the candidates. False where it did not hold it.
    async fn release(&self, seat: &Seat, holder: &Holder) -> Result<bool, LeaseError>;

    /// Waits until a replica releases the lease. This is a hint: it may wait for ever, and it may wake for nothing.
    ///
    /// # Cancel safety
    /// Safe to drop: a release that is published between two calls is not missed.
    async fn released(&self, seat: &Seat);

    /// Waits until `holder` has lost the lease, as far as the store tells of that by itself. This is a hint: it may wait for ever,
    /// and a renewal says what is true.
    ///
    /// # Cancel safety
    /// Safe to drop.
    async fn lost(&self, _: &Seat, _: &Holder, _: Duration) {
        std::future::pending::<()>().await;
    }

    /// Exchanges with the store what was seen of the outbox database, where the store keeps that for all replicas. Each renewal does
    /// so too.
    async fn witness(&self, _: &Seat) -> Result<(), LeaseError> {
        Ok(())
    }

    /// What gives the user of the store the rights that it lacks, as a command for whoever may. None where it has all. The rights to
    /// the tables of a database are compared with its grants.
    async fn missing_rights(&self) -> Result<Option<String>, LeaseError> {
        Ok(None)
    }

    /// What the operator had better set otherwise, where the calls so far have shown it.
    fn advice(&self) -> Option<String> {
        None
    }

    /// The holder of the lease and its remaining time, for `outbox status` and `outbox check`.
    async fn current(&self, seat: &Seat) -> Result<Option<Held>, LeaseError>;
}

/// A lease that is held.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// The holder of the lease.
    pub holder: String,
    /// The time until the lease expires unless it is renewed.
    pub remaining: Duration,
    /// The command that removes a lease which never expires: no replica sets one. None where it expires.
    pub removed_by: Option<String>,
}

/// The error of a call to the lease store.
#[derive(Debug, thiserror::Error)]
#[error("the lease store at {at} {} ({doing}): {}", super::words::said(source.as_ref()), super::words::words(source.as_ref()))]
pub struct LeaseError {
    /// The address of the store, without credentials.
    pub at: String,
    /// The work of the caller, in words.
    pub doing: &'static str,
    /// The words of the store's client.
    pub source: Box<dyn std::error::Error + Send + Sync>,
}
