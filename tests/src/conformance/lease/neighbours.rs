//! Two outboxes in one place.

use super::{LONG, Leases, SEAT, holder};

/// What one outbox does with its lease is nothing to the other.
pub async fn two_outboxes_leave_each_other_alone(leases: &Leases) {
    let neighbours = leases.neighbour().await;
    let (one, other) = (leases.replica().await, neighbours.replica().await);
    let (of_one, of_other) = (holder(), holder());
    assert!(one.acquire(&SEAT, &of_one, LONG).await.unwrap());
    assert_eq!(other.current(&SEAT).await.unwrap(), None);
    assert!(!other.renew(&SEAT, &of_one, LONG).await.unwrap());
    assert!(!other.release(&SEAT, &of_one).await.unwrap());
    assert!(other.acquire(&SEAT, &of_other, LONG).await.unwrap());
    assert!(one.release(&SEAT, &of_one).await.unwrap());
    assert_eq!(other.current(&SEAT).await.unwrap().unwrap().holder, of_other.as_str());
    assert!(other.renew(&SEAT, &of_other, LONG).await.unwrap());
}
