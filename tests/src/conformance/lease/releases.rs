//! The news of a release.

use std::sync::Arc;

use outbox_adapters::Lease;
use tokio::time::timeout;

use super::{LONG, Leases, SEAT, SOON, holder};

/// Candidates wait for one release, and each hears of it.
pub async fn a_release_wakes_every_candidate(leases: &Leases) {
    let (lease, leader) = (leases.replica().await, holder());
    assert!(lease.acquire(&SEAT, &leader, LONG).await.unwrap());
    let mut waiting = Vec::new();
    for _ in 0..3 {
        waiting.push(tokio::spawn(freed(leases.replica().await)));
    }
    assert!(lease.release(&SEAT, &leader).await.unwrap());
    for candidate in waiting {
        timeout(SOON, candidate).await.expect("a release wakes the candidates").unwrap();
    }
}

/// A candidate that comes late, between a release and the next term, does not wait for another release.
pub async fn a_release_before_the_wait_is_not_missed(leases: &Leases) {
    let (lease, candidate, leader) = (leases.replica().await, leases.replica().await, holder());
    assert!(lease.acquire(&SEAT, &leader, LONG).await.unwrap());
    assert!(lease.release(&SEAT, &leader).await.unwrap());
    timeout(SOON, freed(candidate)).await.expect("a lease that is free already is heard of");
}

/// Waits as a candidate does, which may be woken for nothing.
async fn freed(lease: Arc<dyn Lease>) {
    loop {
        lease.released(&SEAT).await;
        if lease.current(&SEAT).await.unwrap().is_none() {
            return;
        }
    }
}
