//! A lease that remembers since when its store has not answered, for `/readyz`.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use outbox_adapters::{Held, Lease, LeaseError};
use outbox_store::{Holder, Seat};
use tokio::runtime::Handle;

use crate::health::answering::{Answering, Silence};

/// Wraps a lease, and watches the answers to campaigns and renewals.
#[derive(Debug)]
pub struct LeaseHealth {
    lease: Arc<dyn Lease>,
    /// The threads of the loop. The connections of the lease are made there and nowhere else, so that no renewal depends on
    /// other threads.
    home: Handle,
    answering: Answering,
}

impl LeaseHealth {
    /// Watches `lease`, which is asked on the runtime of the caller.
    ///
    /// # Panics
    /// Outside of a Tokio runtime.
    pub fn new(lease: Arc<dyn Lease>) -> Self {
        Self { lease, home: Handle::current(), answering: Answering::new("the lease store did not answer in time") }
    }

    /// Since when the store has not answered, and what the settings had better say. None where it answered the last call.
    pub fn trouble(&self) -> Option<Silence> {
        let mut silence = self.answering.trouble()?;
        if let Some(advice) = self.lease.advice() {
            silence.why = format!("{}; {advice}", silence.why);
        }
        Some(silence)
    }
}

#[async_trait]
impl Lease for LeaseHealth {
    async fn acquire(&self, seat: &Seat, holder: &Holder, ttl: Duration) -> Result<bool, LeaseError> {
        self.answering.watch(self.lease.acquire(seat, holder, ttl), |_| true).await
    }

    async fn renew(&self, seat: &Seat, holder: &Holder, ttl: Duration) -> Result<bool, LeaseError> {
        self.answering.watch(self.lease.renew(seat, holder, ttl), |_| true).await
    }

    async fn release(&self, seat: &Seat, holder: &Holder) -> Result<bool, LeaseError> {
        self.lease.release(seat, holder).await
    }

    async fn released(&self, seat: &Seat) {
        self.lease.released(seat).await;
    }

    async fn lost(&self, seat: &Seat, holder: &Holder, ttl: Duration) {
        self.lease.lost(seat, holder, ttl).await;
    }

    async fn witness(&self, seat: &Seat) -> Result<(), LeaseError> {
        self.answering.watch(self.lease.witness(seat), |_| true).await
    }

    async fn missing_rights(&self) -> Result<Option<String>, LeaseError> {
        self.lease.missing_rights().await
    }

    fn advice(&self) -> Option<String> {
        self.lease.advice()
    }

    async fn current(&self, seat: &Seat) -> Result<Option<Held>, LeaseError> {
        let (lease, seat) = (self.lease.clone(), seat.clone());
        match self.home.spawn(async move { lease.current(&seat).await }).await {
            Ok(current) => current,
            Err(error) => Err(LeaseError {
                at: "this replica".to_owned(),
                doing: "asking who holds the lease",
                source: error.into(),
            }),
        }
    }
}
