//! Two outboxes in one place.

use super::{LONG, Leases, SHARD, holder};

/// What one outbox does with its lease is nothing to the other.
pub async fn two_outboxes_leave_each_other_alone(leases: &Leases) {
    let neighbours = leases.neighbour().await;
    let (one, other) = (leases.replica().await, neighbours.replica().await);
    let (of_one, of_other) = (holder(), holder());
    assert!(one.acquire(SHARD, &of_one, LONG).await.unwrap());
    assert_eq!(other.current(SHARD).await.unwrap(), None);
    assert!(!other.renew(SHARD, &of_one, LONG).await.unwrap());
    assert!(!other.release(SHARD, &of_one).await.unwrap());
    assert!(other.acquire(SHARD, &of_other, LONG).await.unwrap());
    assert!(one.release(SHARD, &of_one).await.unwrap());
    assert_eq!(other.current(SHARD).await.unwrap().unwrap().holder, of_other.as_str());
    assert!(other.renew(SHARD, &of_other, LONG).await.unwrap());
}
