//! Terms.

use std::time::Duration;

use outbox_store::store::TermCounts;
use outbox_store::{Epoch, Holder, Shard, StoreError, TermEnd, TermId};

use super::{Ask, Outbox, http};

/// So often claims and the mint of a newer term race; if one side never came first by then, up to [`MOST_ROUNDS`] times.
const ROUNDS: u64 = 20;

/// By then each side has been so late that the other must have come first, on whatever machine.
const MOST_ROUNDS: u64 = 10 * ROUNDS;

/// Also for a shard that no term has led yet.
pub async fn epochs_strictly_increase(outbox: &Outbox) {
    for shard in [Shard(0), Shard(3)] {
        let mut last = 0;
        for nonce in ["a", "b", "c"] {
            let opened = outbox.store.begin_term(shard, &Holder::new("test", nonce), Epoch(0)).await.unwrap();
            assert!(opened.epoch.0 > last);
            last = opened.epoch.0;
        }
    }
}

/// A database that failed over may have forgotten the last epochs; their claims are superseded all the same.
pub async fn an_epoch_is_above_all_that_were_seen(outbox: &Outbox) {
    let channels = [http()];
    let older = outbox.term(&channels).await;
    let row = outbox.insert(&[]).await;
    assert_eq!(outbox.claim(&older, &Ask::of(&channels)).await.len(), 1);
    let holder = Holder::new("test", "seen");
    let opened = outbox.store.begin_term(Shard(0), &holder, Epoch(older.epoch.0 + 40)).await.unwrap();
    assert_eq!(opened.epoch, Epoch(older.epoch.0 + 41));
    assert_eq!(opened.unsettled, [row]);
    let log = outbox.strings(&["epoch", "ended_because"], "outbox_term_log ORDER BY epoch").await;
    assert_eq!(log[0][1].as_deref(), Some("lost"), "{log:?}");
    let again = outbox.store.begin_term(Shard(0), &holder, Epoch(99)).await.unwrap();
    assert_eq!(again.epoch, opened.epoch, "a repeated begin");
    let next = outbox.store.begin_term(Shard(0), &Holder::new("test", "next"), Epoch(3)).await.unwrap();
    assert_eq!(next.epoch, Epoch(opened.epoch.0 + 1));
}

/// Nor does one of them stand in the way of another, also where nobody has led the shard before.
pub async fn terms_begun_at_the_same_time_get_epochs_of_their_own(outbox: &Outbox) {
    let begin = async |nonce: &str| {
        let holder = Holder::new("test", nonce);
        outbox.store.begin_term(Shard(5), &holder, Epoch(0)).await.unwrap().epoch.0
    };
    let (a, b, c, d) = tokio::join!(begin("a"), begin("b"), begin("c"), begin("d"));
    let mut epochs = [a, b, c, d];
    epochs.sort_unstable();
    assert_eq!(epochs, [1, 2, 3, 4]);
}

/// The answer to the first call may be lost.
pub async fn a_repeated_begin_gives_the_same_epoch(outbox: &Outbox) {
    let term = outbox.term(&[]).await;
    let again = outbox.store.begin_term(Shard(0), &term.holder, Epoch(0)).await.unwrap();
    assert_eq!(again.epoch, term.epoch);
    assert_eq!(outbox.count("outbox_term_log").await, 1);
}

/// The epoch alone proves nothing.
pub async fn a_claim_needs_the_epoch_and_the_holder_of_the_present_term(outbox: &Outbox) {
    let channels = [http()];
    let older = outbox.term(&channels).await;
    let term = outbox.term(&channels).await;
    let impostor = TermId { holder: older.holder.clone(), ..term.clone() };
    let stranger = TermId { shard: Shard(7), ..term.clone() };
    outbox.insert(&[]).await;
    for wrong in [&older, &impostor, &stranger] {
        let refused = outbox.try_claim(wrong, &Ask::of(&channels)).await.unwrap_err();
        assert!(matches!(refused, StoreError::Fenced { .. }), "{refused}");
    }
    assert_eq!(outbox.count("outbox_claim").await, 0);
    assert_eq!(outbox.claim_all(&term, &channels).await.1.len(), 1);
}

/// An idle poller learns it as well.
pub async fn a_claim_of_an_older_term_is_fenced_also_when_nothing_is_due(outbox: &Outbox) {
    let older = outbox.term(&[]).await;
    outbox.term(&[]).await;
    let refused = outbox.try_claim(&older, &Ask::of(&[http()])).await.unwrap_err();
    assert!(matches!(refused, StoreError::Fenced { .. }), "{refused}");
}

/// Repeated, and after a later term has begun.
pub async fn the_end_of_a_term_is_logged_and_closes_the_gate_of_its_claims(outbox: &Outbox) {
    let channels = [http()];
    let term = outbox.term(&channels).await;
    outbox.insert(&[]).await;
    outbox.claim_all(&term, &channels).await;
    let counts = TermCounts { claimed: 5, delivered: 3, failed: 2, in_doubt: 1 };
    outbox.store.end_term(&term, TermEnd::Interval, counts).await.unwrap();
    outbox.store.end_term(&term, TermEnd::Interval, counts).await.unwrap();

    let log = ["ended_because", "claimed", "delivered", "failed", "in_doubt", "holder"];
    let row = outbox.strings(&log, "outbox_term_log WHERE ended_at IS NOT NULL").await.remove(0);
    let said: Vec<_> = row.iter().flatten().map(String::as_str).collect();
    assert_eq!(said, ["interval", "5", "3", "2", "1", term.holder.as_str()]);
    assert_eq!(outbox.count("outbox_claim WHERE gate_closed_at IS NOT NULL").await, 1);
}

/// Its own word, when it comes at last, says why.
pub async fn a_term_that_never_ended_is_logged_as_lost_by_the_next(outbox: &Outbox) {
    let lost = outbox.term(&[]).await;
    outbox.term(&[]).await;
    let of_lost = format!("outbox_term_log WHERE epoch = {}", lost.epoch);
    let before = outbox.strings(&["ended_because", "ended_at"], &of_lost).await.remove(0);
    assert_eq!(before[0].as_deref(), Some("lost"));

    outbox.store.end_term(&lost, TermEnd::RenewalFailed, TermCounts::default()).await.unwrap();
    let after = outbox.strings(&["ended_because", "ended_at"], &of_lost).await.remove(0);
    assert_eq!(after[0].as_deref(), Some("renewal_failed"));
    assert_eq!(after[1], before[1]);
}

/// Claimers lock the term row shared: once a mint has returned, what the older term has claimed is settled on.
pub async fn no_claim_of_an_older_term_appears_once_a_newer_one_has_begun(outbox: &Outbox) {
    let channels = [http()];
    for _ in 0..40 {
        outbox.insert(&[]).await;
    }
    let (mut round, mut claims_first, mut mints_first) = (0, 0, 0);
    while round < ROUNDS || ((claims_first == 0 || mints_first == 0) && round < MOST_ROUNDS) {
        let older = outbox.term(&channels).await;
        let late = Duration::from_millis(round);
        let (before_claims, before_mint) =
            if round.is_multiple_of(2) { (Duration::ZERO, late) } else { (late, Duration::ZERO) };
        let claimer = async {
            let mut made = 0;
            tokio::time::sleep(before_claims).await;
            loop {
                let ask = Ask { limit: 1, ..Ask::of(&channels) };
                match outbox.try_claim(&older, &ask).await {
                    Ok(_) => made += 1,
                    Err(StoreError::Fenced { .. }) => return made,
                    Err(error) => panic!("{error}"),
                }
                tokio::time::sleep(Duration::from_micros(100 * round)).await;
            }
        };
        let minter = async {
            tokio::time::sleep(before_mint).await;
            let holder = Holder::new("newer", &round.to_string());
            outbox.store.begin_term(Shard(0), &holder, Epoch(0)).await.unwrap();
            let of_older = format!("outbox_claim WHERE epoch = {}", older.epoch);
            let frozen = format!("{of_older} AND superseded_at IS NOT NULL");
            (outbox.count(&of_older).await, outbox.count(&frozen).await)
        };
        let (made, (seen, frozen)) = tokio::join!(claimer, minter);
        assert_eq!(seen, frozen, "a claim of the older term escaped the freeze");
        assert_eq!(seen, made, "a claim of the older term appeared after the mint");
        if made > 0 {
            claims_first += 1;
        } else {
            mints_first += 1;
        }
        round += 1;
    }
    let came_first = format!("claims came first {claims_first} times, the mint {mints_first} times");
    assert!(claims_first > 0 && mints_first > 0, "no race in {round} rounds: {came_first}");
}

/// So the statements that look for claims read nothing of earlier terms, whatever a snapshot that is held open keeps of those.
pub async fn a_term_that_begins_says_from_which_epoch_on_claims_are_left(outbox: &Outbox) {
    let channels = [http()];
    let unsettled_from = async || outbox.strings(&["unsettled_from"], "outbox_term").await[0][0].clone().unwrap();
    let first = outbox.term(&channels).await;
    assert_eq!(unsettled_from().await, first.epoch.to_string());

    outbox.insert(&[]).await;
    outbox.claim_all(&first, &channels).await;
    outbox.term(&channels).await;
    let last = outbox.term(&channels).await;
    assert_eq!(unsettled_from().await, first.epoch.to_string());

    outbox.age_claims(Duration::from_hours(1)).await;
    let settlement = outbox.store.settle(&last, &channels, &[]).await.unwrap();
    assert_eq!(settlement.decided.len(), 1);
    let now = outbox.term(&channels).await;
    assert_eq!(unsettled_from().await, now.epoch.to_string());

    // No statement looks below: what is there has gone, and only a snapshot keeps it.
    outbox.insert(&[]).await;
    outbox.claim_all(&now, &channels).await;
    outbox.execute(&format!("UPDATE outbox_claim SET epoch = {}, superseded_at = claimed_at", first.epoch)).await;
    let opened = outbox.store.begin_term(Shard(0), &Holder::new("test", "later"), Epoch(0)).await.unwrap();
    assert!(opened.unsettled.is_empty());
}
