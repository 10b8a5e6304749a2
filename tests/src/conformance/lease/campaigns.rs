//! Taking a lease.

use std::time::Duration;

use tokio::time::timeout;

use super::{LONG, Leases, SEAT, SOON, holder};
use crate::eventually;

/// Of many candidates that ask at once, from many replicas, one wins.
pub async fn one_of_many_candidates_wins(leases: &Leases) {
    let mut replicas = Vec::new();
    for _ in 0..8 {
        replicas.push(leases.replica().await);
    }
    for _ in 0..5 {
        let campaigns = replicas.iter().map(|lease| {
            let (lease, holder) = (lease.clone(), holder());
            tokio::spawn(async move { lease.acquire(&SEAT, &holder, LONG).await.unwrap().then_some((lease, holder)) })
        });
        let mut winners = Vec::new();
        for campaign in campaigns.collect::<Vec<_>>() {
            winners.extend(campaign.await.unwrap());
        }
        let [(lease, holder)] = &winners[..] else { panic!("the lease was won by {winners:?}") };
        let held = replicas[0].current(&SEAT).await.unwrap().unwrap();
        assert_eq!(held.holder, holder.as_str());
        assert!(held.remaining <= LONG && held.remaining > LONG / 2, "{held:?}");
        assert!(lease.release(&SEAT, holder).await.unwrap());
    }
}

/// A lease that nobody renews is free after its time to live, and not before.
pub async fn an_expired_lease_is_anybodys(leases: &Leases) {
    let (lease, candidate) = (leases.replica().await, leases.replica().await);
    let (first, second, ttl) = (holder(), holder(), Duration::from_secs(1));
    // Before the lease is taken: it lasts at least as long from here on, however late the answer comes.
    let asked = std::time::Instant::now();
    assert!(lease.acquire(&SEAT, &first, ttl).await.unwrap());
    assert!(!candidate.acquire(&SEAT, &second, LONG).await.unwrap());
    let free = async || lease.current(&SEAT).await.unwrap().is_none().then_some(());
    eventually("an expired lease is held by nobody", SOON, free).await;
    assert!(asked.elapsed() > ttl.mul_f64(0.95), "a lease of {ttl:?} was gone after {:?}", asked.elapsed());
    assert!(!lease.renew(&SEAT, &first, LONG).await.unwrap(), "an expired lease was regained");
    assert!(candidate.acquire(&SEAT, &second, LONG).await.unwrap());
    assert!(!lease.renew(&SEAT, &first, LONG).await.unwrap(), "somebody else's lease was renewed");
    assert_eq!(lease.current(&SEAT).await.unwrap().unwrap().holder, second.as_str());
}

/// Asking again, as after an answer that was lost, is answered "yes" and prolongs nothing.
pub async fn the_holder_may_ask_again(leases: &Leases) {
    let (lease, holder) = (leases.replica().await, holder());
    assert!(lease.acquire(&SEAT, &holder, LONG).await.unwrap());
    assert!(lease.acquire(&SEAT, &holder, 3 * LONG).await.unwrap());
    let remaining = lease.current(&SEAT).await.unwrap().unwrap().remaining;
    assert!(remaining <= LONG, "asking again prolonged the lease to {remaining:?}");
}

/// A call that had effect and whose answer was lost is recognised by the next. `freeze` stops the server, and `thaw`
/// lets it go on: what was sent meanwhile it then does, for whoever has gone away.
pub async fn a_lost_answer_is_made_good(leases: &Leases, freeze: impl Fn(), thaw: impl Fn()) {
    let (lease, other, candidate) = (leases.replica().await, leases.replica().await, holder());
    // Connects both.
    assert_eq!(lease.current(&SEAT).await.unwrap(), None);
    assert_eq!(other.current(&SEAT).await.unwrap(), None);
    freeze();
    let unanswered = timeout(Duration::from_millis(200), lease.acquire(&SEAT, &candidate, LONG)).await;
    assert!(unanswered.is_err(), "a frozen server answered {unanswered:?}");
    thaw();
    let held = async || other.current(&SEAT).await.ok()?;
    let held = eventually("the call has taken effect", SOON, held).await;
    assert_eq!(held.holder, candidate.as_str());
    assert!(!other.acquire(&SEAT, &holder(), LONG).await.unwrap());
    assert!(lease.acquire(&SEAT, &candidate, 3 * LONG).await.unwrap(), "its own lease was not recognised");
    let remaining = lease.current(&SEAT).await.unwrap().unwrap().remaining;
    assert!(remaining <= LONG, "asking again prolonged the lease to {remaining:?}");
}
