//! Keeping a lease and giving it up.

use outbox_store::Shard;

use super::{LONG, Leases, SHARD, holder};

/// Nobody but the holder prolongs a lease or ends it.
pub async fn only_the_holder_renews_and_releases(leases: &Leases) {
    let (lease, candidate) = (leases.replica().await, leases.replica().await);
    let (first, second) = (holder(), holder());
    assert!(lease.acquire(SHARD, &first, LONG).await.unwrap());
    assert!(!candidate.renew(SHARD, &second, 3 * LONG).await.unwrap());
    assert!(!candidate.release(SHARD, &second).await.unwrap());
    assert!(lease.current(SHARD).await.unwrap().unwrap().remaining <= LONG, "a candidate prolonged the lease");

    assert!(lease.renew(SHARD, &first, 3 * LONG).await.unwrap());
    assert!(lease.current(SHARD).await.unwrap().unwrap().remaining > 2 * LONG, "the renewal prolonged nothing");
    assert!(!candidate.acquire(SHARD, &second, LONG).await.unwrap());

    assert!(lease.release(SHARD, &first).await.unwrap());
    assert_eq!(lease.current(SHARD).await.unwrap(), None);
    assert!(!lease.release(SHARD, &first).await.unwrap(), "a lease was released twice");
    assert!(candidate.acquire(SHARD, &second, LONG).await.unwrap());
    assert!(!lease.release(SHARD, &first).await.unwrap(), "somebody else's lease was released");
    assert_eq!(lease.current(SHARD).await.unwrap().unwrap().holder, second.as_str());
}

/// Two holders of one process are two.
pub async fn a_holder_is_told_from_another_of_the_same_process(leases: &Leases) {
    let lease = leases.replica().await;
    let [first, second] = ["1", "2"].map(|nonce| outbox_store::Holder::new("process", nonce));
    assert!(lease.acquire(SHARD, &first, LONG).await.unwrap());
    assert!(!lease.acquire(SHARD, &second, LONG).await.unwrap());
    assert!(!lease.renew(SHARD, &second, LONG).await.unwrap());
    assert!(!lease.release(SHARD, &second).await.unwrap());
    assert!(lease.renew(SHARD, &first, LONG).await.unwrap());
}

/// Renewing does not take a lease.
pub async fn a_free_lease_cannot_be_renewed_or_released(leases: &Leases) {
    let lease = leases.replica().await;
    assert_eq!(lease.current(SHARD).await.unwrap(), None);
    assert!(!lease.renew(SHARD, &holder(), LONG).await.unwrap());
    assert!(!lease.release(SHARD, &holder()).await.unwrap());
    assert_eq!(lease.current(SHARD).await.unwrap(), None);
}

/// The lease of one shard says nothing of another's.
pub async fn shards_are_led_apart(leases: &Leases) {
    let (lease, first, second) = (leases.replica().await, holder(), holder());
    assert!(lease.acquire(Shard(1), &first, LONG).await.unwrap());
    assert!(lease.acquire(Shard(2), &second, LONG).await.unwrap());
    assert!(!lease.renew(Shard(1), &second, LONG).await.unwrap());
    assert!(lease.release(Shard(1), &first).await.unwrap());
    assert_eq!(lease.current(Shard(2)).await.unwrap().unwrap().holder, second.as_str());
}
