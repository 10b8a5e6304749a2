//! A lease that remembers since when its store has not answered, for `/readyz`.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use outbox_adapters::{Held, Lease, LeaseError};
use outbox_schema::{Holder, Shard};

use crate::health::answering::{Answering, Silence};

/// Wraps a lease, and watches the answers to campaigns and renewals.
#[derive(Debug)]
pub struct LeaseHealth {
    lease: Arc<dyn Lease>,
    answering: Answering,
}

impl LeaseHealth {
    /// Watches `lease`.
    pub fn new(lease: Arc<dyn Lease>) -> Self {
        Self { lease, answering: Answering::new("the lease store did not answer in time") }
    }

    /// Since when the store has not answered. None where it answered the last call.
    pub fn trouble(&self) -> Option<Silence> {
        self.answering.trouble()
    }
}

#[async_trait]
impl Lease for LeaseHealth {
    async fn acquire(&self, shard: Shard, holder: &Holder, ttl: Duration) -> Result<bool, LeaseError> {
        self.answering.watch(self.lease.acquire(shard, holder, ttl), |_| true).await
    }

    async fn renew(&self, shard: Shard, holder: &Holder, ttl: Duration) -> Result<bool, LeaseError> {
        self.answering.watch(self.lease.renew(shard, holder, ttl), |_| true).await
    }

    async fn release(&self, shard: Shard, holder: &Holder) -> Result<bool, LeaseError> {
        self.lease.release(shard, holder).await
    }

    async fn released(&self, shard: Shard) {
        self.lease.released(shard).await;
    }

    async fn missing_rights(&self) -> Result<Option<String>, LeaseError> {
        self.lease.missing_rights().await
    }

    async fn current(&self, shard: Shard) -> Result<Option<Held>, LeaseError> {
        self.lease.current(shard).await
    }
}
