//! What `outbox_attempt` keeps, for each way an attempt can end: all that was not a plain success.

use std::time::Duration;

use outbox_desk::AttemptEntry;
use outbox_schema::MessageId;
use outbox_store::{DeadReason, Mark, Verdict};
use outbox_tests::conformance::store::{Outbox, mark, on_every_database};

use super::{Leader, insert, record};

async fn recorded(outbox: &Outbox, id: MessageId) -> Vec<AttemptEntry> {
    record(outbox, id).await.attempt_log
}

/// Everything that can be known of an attempt that was marked.
fn complete(attempt: &AttemptEntry, leader: &Leader<'_>) -> bool {
    attempt.epoch == leader.term.epoch.0
        && attempt.holder == leader.term.holder.as_str()
        && attempt.claimed_at.is_some()
        && attempt.started_at.is_some()
        && attempt.duration_ms == Some(7)
}

#[tokio::test]
async fn every_outcome_but_a_plain_success_and_an_unsent_row_is_on_record() {
    on_every_database(async |outbox| {
        let leader = Leader::begin(outbox).await;
        let later = Duration::from_hours(1);
        let dead = |reason| Verdict::Dead { reason, attempted: true, invalid_target: false };
        let gone = Verdict::Dead { reason: DeadReason::Permanent, attempted: true, invalid_target: true };
        let deferred = Verdict::Deferred { after: later };
        for (verdict, outcome, code, counted) in [
            (Verdict::Retry { after: later }, "retry", Some(503), 1),
            (dead(DeadReason::Permanent), "dead", Some(400), 1),
            (dead(DeadReason::Exhausted), "retry", Some(503), 1),
            (gone, "dead_target", Some(410), 1),
            (Verdict::Retry { after: later }, "in_doubt", None, 1),
            (dead(DeadReason::InDoubt), "in_doubt", None, 1),
            // Counts no attempt, and is on record all the same: it explains why the message waits.
            (deferred, "deferred", Some(429), 0),
        ] {
            let id = insert(outbox, &[]).await;
            leader.attempt(verdict, outcome, code, "what the other side said").await;
            let found = record(outbox, id).await;
            let [attempt] = &found.attempt_log[..] else { panic!("{outcome}: {found:?}") };
            assert_eq!((attempt.number, attempt.outcome.as_str()), (1, outcome));
            assert!(complete(attempt, &leader), "{attempt:?}");
            assert_eq!((attempt.status_code, found.attempts), (code.map(i32::from), counted), "{outcome}");
            assert_eq!(attempt.error.as_deref(), Some("what the other side said"));
            assert!(!attempt.was_settled() && !attempt.was_left_by_a_crash(), "{outcome}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_plain_success_leaves_its_receipt_and_no_attempt() {
    on_every_database(async |outbox| {
        let leader = Leader::begin(outbox).await;
        for receipt in [Some("projects/shop/messages/0:1500415314455276%31bd1c9631bd1c96"), None] {
            let id = insert(outbox, &[]).await;
            let verdict = Verdict::Success { receipt: receipt.map(str::to_owned) };
            leader.attempt(verdict, "delivered", Some(200), "").await;
            let found = record(outbox, id).await;
            assert_eq!((found.receipt.as_deref(), found.attempts), (receipt, 1));
            assert_eq!((found.attempt_log, found.last_status_code), (vec![], Some(200)));
        }
    })
    .await;
}

#[tokio::test]
async fn an_unsent_row_leaves_no_attempt_and_counts_none() {
    on_every_database(async |outbox| {
        let leader = Leader::begin(outbox).await;
        let id = insert(outbox, &[]).await;
        leader.attempt(Verdict::Unsent, "unsent", None, "the term ended before its turn came").await;
        let found = record(outbox, id).await;
        assert_eq!((found.attempts, found.attempt_log, found.revision), (0, vec![], 1));
    })
    .await;
}

#[tokio::test]
async fn what_was_never_marked_is_on_record_with_its_claim_and_how_its_poller_ended() {
    on_every_database(async |outbox| {
        for crashed in [true, false] {
            let leader = Leader::begin(outbox).await;
            let id = insert(outbox, &[]).await;
            leader.claim_one().await;
            if !crashed {
                leader.hand_over().await;
            }
            Leader::begin(outbox).await.settle().await;
            let [attempt] = &recorded(outbox, id).await[..] else { panic!("one attempt") };
            assert_eq!((attempt.number, attempt.outcome.as_str()), (1, "in_doubt"));
            assert_eq!((attempt.epoch, attempt.holder.as_str()), (leader.term.epoch.0, leader.term.holder.as_str()));
            assert!(attempt.claimed_at.is_some() && attempt.started_at.is_none() && attempt.duration_ms.is_none());
            assert_eq!((attempt.was_settled(), attempt.was_left_by_a_crash()), (true, crashed));
            outbox.execute("DELETE FROM outbox").await;
        }
    })
    .await;
}

#[tokio::test]
async fn a_fenced_delivery_is_on_record_with_the_epoch_that_sent_it() {
    on_every_database(async |outbox| {
        let frozen = Leader::begin(outbox).await;
        let id = insert(outbox, &[]).await;
        let (claim, message) = frozen.claim_one().await;
        let success = Verdict::Success { receipt: Some("r-1".to_owned()) };
        let late = Mark { status_code: Some(200), ..mark(&frozen.term, claim, &message, success, "delivered") };
        // Its claim stands, and somebody has decided by hand: the only case in which the time of the claim is known yet.
        outbox.execute("UPDATE outbox SET revision = revision + 1").await;
        assert_eq!(frozen.write(late).await, [id]);
        let [fenced] = &recorded(outbox, id).await[..] else { panic!("one attempt") };
        assert_eq!((fenced.outcome.as_str(), fenced.status_code), ("delivered_fenced", Some(200)));
        assert!(complete(fenced, &frozen), "{fenced:?}");
    })
    .await;
}

#[tokio::test]
async fn after_failures_a_success_adds_nothing_so_only_theirs_are_the_epochs_on_record() {
    on_every_database(async |outbox| {
        let first = Leader::begin(outbox).await;
        let id = insert(outbox, &[]).await;
        first.attempt(Verdict::Retry { after: Duration::ZERO }, "retry", Some(503), "busy").await;
        let second = Leader::begin(outbox).await;
        second.deliver().await;
        let found = record(outbox, id).await;
        assert_eq!((found.attempts, found.status.as_str(), found.last_error), (2, "SUCCESS", None));
        let epochs: Vec<_> = found.attempt_log.iter().map(|attempt| attempt.epoch).collect();
        assert_eq!(epochs, [first.term.epoch.0]);
    })
    .await;
}
