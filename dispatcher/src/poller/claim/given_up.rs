//! Claims that are given up: nobody knows whether they were made, and nothing of them was sent.

use std::sync::Arc;

use outbox_store::{ClaimId, Shard, Store};
use tokio::runtime::Handle;

use crate::backoff::Backoff;

/// A claim that is being made. Where its maker gives it up after a call without an answer, its rows are released, so that no attempt
/// is counted for them.
#[derive(Debug)]
pub(in crate::poller) struct Claiming {
    store: Arc<dyn Store>,
    shard: Shard,
    /// The id under which it is made.
    pub claim: ClaimId,
    /// Whether it may have been made.
    pub in_doubt: bool,
}

impl Claiming {
    pub(in crate::poller) fn new(store: &Arc<dyn Store>, shard: Shard) -> Self {
        Self { store: store.clone(), shard, claim: ClaimId::mint(), in_doubt: false }
    }

    /// Gives this claim up, and makes another one.
    pub(in crate::poller) async fn anew(&mut self) {
        release(&self.store, self.shard, self.claim).await;
        (self.claim, self.in_doubt) = (ClaimId::mint(), false);
    }
}

impl Drop for Claiming {
    fn drop(&mut self) {
        let (store, shard, claim) = (self.store.clone(), self.shard, self.claim);
        if let (true, Ok(runtime)) = (self.in_doubt, Handle::try_current()) {
            runtime.spawn(async move { release(&store, shard, claim).await });
        }
    }
}

/// Releases the rows of a claim, however long it takes.
async fn release(store: &Arc<dyn Store>, shard: Shard, claim: ClaimId) {
    let mut backoff = Backoff::new();
    while let Err(error) = store.release(shard, claim).await {
        tracing::warn!(%error, "claim.unreleased: its messages wait until it is released or settled");
        tokio::time::sleep(backoff.next()).await;
    }
}
