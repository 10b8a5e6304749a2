//! Keeping a lease and giving it up.

use outbox_store::{Seat, Shard};

use super::{LONG, Leases, SEAT, holder};

/// Nobody but the holder prolongs a lease or ends it.
pub async fn only_the_holder_renews_and_releases(leases: &Leases) {
    let (lease, candidate) = (leases.replica().await, leases.replica().await);
    let (first, second) = (holder(), holder());
    assert!(lease.acquire(&SEAT, &first, LONG).await.unwrap());
    assert!(!candidate.renew(&SEAT, &second, 3 * LONG).await.unwrap());
    assert!(!candidate.release(&SEAT, &second).await.unwrap());
    assert!(lease.current(&SEAT).await.unwrap().unwrap().remaining <= LONG, "a candidate prolonged the lease");

    assert!(lease.renew(&SEAT, &first, 3 * LONG).await.unwrap());
    assert!(lease.current(&SEAT).await.unwrap().unwrap().remaining > 2 * LONG, "the renewal prolonged nothing");
    assert!(!candidate.acquire(&SEAT, &second, LONG).await.unwrap());

    assert!(lease.release(&SEAT, &first).await.unwrap());
    assert_eq!(lease.current(&SEAT).await.unwrap(), None);
    assert!(!lease.release(&SEAT, &first).await.unwrap(), "a lease was released twice");
    assert!(candidate.acquire(&SEAT, &second, LONG).await.unwrap());
    assert!(!lease.release(&SEAT, &first).await.unwrap(), "somebody else's lease was released");
    assert_eq!(lease.current(&SEAT).await.unwrap().unwrap().holder, second.as_str());
}

/// Two holders of one process are two.
pub async fn a_holder_is_told_from_another_of_the_same_process(leases: &Leases) {
    let lease = leases.replica().await;
    let [first, second] = ["1", "2"].map(|nonce| outbox_store::Holder::new("process", nonce));
    assert!(lease.acquire(&SEAT, &first, LONG).await.unwrap());
    assert!(!lease.acquire(&SEAT, &second, LONG).await.unwrap());
    assert!(!lease.renew(&SEAT, &second, LONG).await.unwrap());
    assert!(!lease.release(&SEAT, &second).await.unwrap());
    assert!(lease.renew(&SEAT, &first, LONG).await.unwrap());
}

/// Renewing does not take a lease.
pub async fn a_free_lease_cannot_be_renewed_or_released(leases: &Leases) {
    let lease = leases.replica().await;
    assert_eq!(lease.current(&SEAT).await.unwrap(), None);
    assert!(!lease.renew(&SEAT, &holder(), LONG).await.unwrap());
    assert!(!lease.release(&SEAT, &holder()).await.unwrap());
    assert_eq!(lease.current(&SEAT).await.unwrap(), None);
}

/// The lease of one shard, or job, says nothing of another's.
pub async fn seats_are_held_apart(leases: &Leases) {
    let (lease, first, second) = (leases.replica().await, holder(), holder());
    let job = |name: &str| Seat::Job(name.into());
    for [one, other] in [[Shard(1).into(), Shard(2).into()], [job("0"), Shard(0).into()], [job("report"), job("todo")]]
    {
        assert!(lease.acquire(&one, &first, LONG).await.unwrap());
        assert!(lease.acquire(&other, &second, LONG).await.unwrap());
        assert!(!lease.acquire(&one, &second, LONG).await.unwrap(), "{one:?} has two holders");
        assert!(!lease.renew(&one, &second, LONG).await.unwrap());
        assert!(lease.renew(&one, &first, LONG).await.unwrap());
        assert!(lease.release(&one, &first).await.unwrap());
        assert_eq!(lease.current(&one).await.unwrap(), None);
        assert_eq!(lease.current(&other).await.unwrap().unwrap().holder, second.as_str());
        assert!(lease.release(&other, &second).await.unwrap());
    }
}
