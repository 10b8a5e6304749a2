//! Why a message was sent twice.

use std::collections::BTreeMap;
use std::time::Duration;

use outbox_console::explain::{Again, Explanation, Verdict as Said};
use outbox_desk::{Author, ByHand, Pace, Revised, Selection};
use outbox_schema::MessageId;
use outbox_store::{DeadReason, Mark, Verdict};
use outbox_tests::changes::Unfollowed;
use outbox_tests::conformance::store::{Outbox, mark, on_every_database};

use super::{Leader, explained, insert, names, record};

const AT_ONCE: Verdict = Verdict::Retry { after: Duration::ZERO };

const UNCOUNTED: &str = "A request that counted as no attempt";

fn ada() -> Author {
    Author { who: "ada".to_owned(), why: "it is back".to_owned() }
}

async fn redrive(outbox: &Outbox, id: MessageId) -> i64 {
    let pace = Pace { canary: None, rate: None };
    outbox.database().redrive(&Selection::Ids(vec![id]), pace, &ada()).await.unwrap().audit_id.unwrap()
}

/// The verdict and the causes, by name.
fn said(explanation: &Explanation) -> (Said, Vec<String>) {
    (explanation.sent_twice.verdict, names(&explanation.sent_twice.causes))
}

fn words(explanation: &Explanation) -> Vec<&str> {
    explanation.sent_twice.causes.iter().map(|cause| cause.sentence.as_str()).collect()
}

#[tokio::test]
async fn nothing_says_so_of_a_message_that_was_sent_once_or_not_at_all() {
    on_every_database(async |outbox| {
        let leader = Leader::begin(outbox).await;
        let id = insert(outbox, &[]).await;
        assert_eq!(said(&explained(outbox, id).await), (Said::Once, vec![]));
        // It never reached the other side.
        leader.attempt(AT_ONCE, "retry", None, "connection refused").await;
        leader.deliver().await;
        let explanation = explained(outbox, id).await;
        assert_eq!(said(&explanation), (Said::Once, vec![]));
        assert_eq!(explanation.sent_twice.sentence, "Nothing says that it was sent more than once.");
    })
    .await;
}

#[tokio::test]
async fn a_killed_poller_and_the_one_that_resends_are_named_with_their_epochs() {
    on_every_database(async |outbox| {
        let killed = Leader::begin(outbox).await;
        let id = insert(outbox, &[]).await;
        killed.claim_one().await;
        let next = Leader::begin(outbox).await;
        next.settle().await;
        let explanation = explained(outbox, id).await;
        assert_eq!(said(&explanation), (Said::InDoubt, vec!["killed".to_owned()]));
        assert!(explanation.sent_twice.sentence.ends_with("sent again with the same idempotency key."));

        next.deliver().await;
        Leader::begin(outbox).await;
        let explanation = explained(outbox, id).await;
        assert_eq!(said(&explanation), (Said::PerhapsTwice, vec!["killed".to_owned(), "accepted".to_owned()]));
        let [first, second] = words(&explanation)[..] else { panic!("{explanation:?}") };
        let began = format!("Attempt 1, epoch {} on {}, claimed at 2", killed.term.epoch, killed.term.holder);
        assert!(first.starts_with(&began) && first.contains("before its mark (its term ended: lost)"), "{first}");
        let key = format!("idempotency key {}.", explanation.idempotency_key);
        let then = format!("epoch {} on {} polled then.", next.term.epoch, next.term.holder);
        assert!(second.starts_with("Attempt 2, accepted at 2") && second.contains(&key), "{second}");
        assert!(second.ends_with(&then), "{second}");
    })
    .await;
}

#[tokio::test]
async fn an_answer_that_came_after_a_hand_over_and_settling_is_told_from_a_crash() {
    on_every_database(async |outbox| {
        let slow = Leader::begin(outbox).await;
        let id = insert(outbox, &[]).await;
        slow.claim_one().await;
        slow.hand_over().await;
        let next = Leader::begin(outbox).await;
        next.settle().await;
        let explanation = explained(outbox, id).await;
        assert_eq!(said(&explanation), (Said::InDoubt, vec!["handed_over".to_owned()]));
        assert!(words(&explanation)[0].contains("its poller handed over (its term ended: shutdown)"));
    })
    .await;
}

#[tokio::test]
async fn a_request_without_an_answer_may_have_been_delivered() {
    on_every_database(async |outbox| {
        let leader = Leader::begin(outbox).await;
        let id = insert(outbox, &[]).await;
        leader.attempt(AT_ONCE, "in_doubt", None, "no answer within 15s").await;
        leader.attempt(AT_ONCE, "in_doubt", None, "no answer within 15s").await;
        let explanation = explained(outbox, id).await;
        assert_eq!(said(&explanation), (Said::PerhapsTwice, vec!["no_answer".to_owned(); 2]));
        leader.deliver().await;
        let explanation = explained(outbox, id).await;
        assert_eq!(explanation.sent_twice.verdict, Said::PerhapsTwice);
        let first = words(&explanation)[0];
        assert!(first.ends_with("no answer after 7ms: no answer within 15s. It may have been delivered."), "{first}");
    })
    .await;
}

#[tokio::test]
async fn a_delivery_whose_mark_was_fenced_and_another_one_are_two() {
    on_every_database(async |outbox| {
        let frozen = Leader::begin(outbox).await;
        let id = insert(outbox, &[]).await;
        let (claim, message) = frozen.claim_one().await;
        let next = Leader::begin(outbox).await;
        next.settle().await;
        let late = mark(&frozen.term, claim, &message, Verdict::Success { receipt: None }, "delivered");
        assert_eq!(frozen.write(late).await, [id]);
        // One attempt, of which it is known by now how it ended.
        let explanation = explained(outbox, id).await;
        assert_eq!(said(&explanation).1, ["killed", "delivered_fenced"]);
        assert_eq!(explanation.sent_twice.verdict, Said::DeliveredUnmarked);
        assert!(explanation.sent_twice.sentence.ends_with("to be sent again with the same idempotency key."));

        next.deliver().await;
        let explanation = explained(outbox, id).await;
        assert_eq!(said(&explanation).1, ["killed", "delivered_fenced", "accepted"]);
        assert_eq!(explanation.sent_twice.verdict, Said::Twice);
        assert_eq!(explanation.sent_twice.sentence, "It was delivered more than once.");
        assert!(words(&explanation)[1].contains("its mark came too late and was refused (fenced)"));
    })
    .await;
}

#[tokio::test]
async fn a_request_that_was_refused_and_tried_again_is_several_requests() {
    on_every_database(async |outbox| {
        let leader = Leader::begin(outbox).await;
        let id = insert(outbox, &[]).await;
        leader.attempt(AT_ONCE, "retry", Some(503), "the receiver is busy").await;
        leader.deliver().await;
        let explanation = explained(outbox, id).await;
        assert_eq!(said(&explanation), (Said::SeveralRequests, vec!["refused".to_owned(), "accepted".to_owned()]));
        assert!(
            words(&explanation)[0]
                .ends_with("answered with status 503, which does not accept it: the receiver is busy.")
        );
    })
    .await;
}

#[tokio::test]
async fn a_redrive_after_a_delivery_in_doubt_is_why_and_one_that_was_undone_is_not() {
    on_every_database(async |outbox| {
        let leader = Leader::begin(outbox).await;
        let id = insert(outbox, &[]).await;
        let parked = Verdict::Dead { reason: DeadReason::InDoubt, attempted: true, invalid_target: false };
        leader.attempt(parked, "in_doubt", None, "the connection was lost").await;
        let explanation = explained(outbox, id).await;
        assert_eq!(said(&explanation), (Said::InDoubt, vec!["no_answer".to_owned()]));
        assert!(explanation.sent_twice.sentence.ends_with("not sent again by itself."));

        let undone = redrive(outbox, id).await;
        outbox.database().undo(undone, &ada()).await.unwrap();
        assert_eq!(said(&explained(outbox, id).await).1, ["no_answer"]);
        redrive(outbox, id).await;
        leader.deliver().await;
        let explanation = explained(outbox, id).await;
        assert_eq!(said(&explanation).1, ["no_answer", "redriven", "accepted"]);
        assert_eq!(explanation.sent_twice.verdict, Said::PerhapsTwice);
        let Again::Redriven { after_doubt: true, .. } = &explanation.sent_twice.causes[1].cause else {
            panic!("{explanation:?}")
        };
        let redriven = words(&explanation)[1];
        assert!(redriven.starts_with("ada redrove it at 2"), "{redriven}");
        assert!(redriven.ends_with(" (it is back), after an attempt that delivered it or may have."), "{redriven}");
    })
    .await;
}

#[tokio::test]
async fn a_request_that_counted_as_no_attempt_says_so_and_is_counted_apart_until_a_redrive() {
    on_every_database(async |outbox| {
        let leader = Leader::begin(outbox).await;
        let id = insert(outbox, &[]).await;
        for _ in 0..2 {
            leader.attempt(Verdict::Deferred { after: Duration::ZERO }, "deferred", Some(503), "busy").await;
            outbox.execute("UPDATE outbox SET available_at = created_at").await;
        }
        leader.attempt(AT_ONCE, "retry", Some(503), "busy").await;
        let explanation = explained(outbox, id).await;
        assert_eq!((explanation.attempts, explanation.uncounted), (1, 2));
        let begins = words(&explanation).iter().map(|said| said.split(", ").next().unwrap()).collect::<Vec<_>>();
        assert_eq!(begins, [UNCOUNTED, UNCOUNTED, "Attempt 1"], "{explanation:?}");

        let refused = Verdict::Dead { reason: DeadReason::Permanent, attempted: true, invalid_target: false };
        leader.attempt(refused, "dead", Some(400), "bad request").await;
        redrive(outbox, id).await;
        assert_eq!(explained(outbox, id).await.uncounted, 0);
    })
    .await;
}

#[tokio::test]
async fn an_edit_names_the_old_key_and_the_new_one() {
    on_every_database(async |outbox| {
        let leader = Leader::begin(outbox).await;
        let id = insert(outbox, &[]).await;
        let refused = Verdict::Dead { reason: DeadReason::Permanent, attempted: true, invalid_target: false };
        leader.attempt(refused, "dead", Some(400), "bad request").await;
        assert_eq!(said(&explained(outbox, id).await), (Said::Once, vec![]), "nothing came after it");
        let before = record(outbox, id).await;
        let revised = Revised::new("http", &before.target, "{}", BTreeMap::new()).unwrap();
        outbox.database().edit(id, before.revision, &revised, &ada()).await.unwrap();
        let edited = &explained(outbox, id).await.not_sent[0].sentence;
        let remedy = format!("It was edited since, by ada. To send it again: `outbox dead-letters redrive {id}`.");
        assert!(edited.ends_with(&remedy) && !edited.contains("Mend"), "{edited}");
        redrive(outbox, id).await;
        leader.deliver().await;

        let explanation = explained(outbox, id).await;
        assert_eq!(said(&explanation).1, ["refused", "edited", "redriven", "accepted"]);
        assert_eq!(explanation.sent_twice.verdict, Said::SeveralRequests);
        let keys = format!("key {} instead of {}, ", explanation.idempotency_key, before.idempotency_key);
        assert!(words(&explanation)[1].contains(&keys), "{explanation:?}");
        assert!(words(&explanation)[2].ends_with(" (it is back)."), "{explanation:?}");
    })
    .await;
}

#[tokio::test]
async fn who_delivered_is_not_guessed_where_the_log_of_terms_is_gone() {
    on_every_database(async |outbox| {
        let leader = Leader::begin(outbox).await;
        let id = insert(outbox, &[]).await;
        leader.attempt(AT_ONCE, "in_doubt", None, "no answer").await;
        leader.deliver().await;
        outbox.execute("DELETE FROM outbox_term_log").await;
        let explanation = explained(outbox, id).await;
        let Some(Again::Accepted { epoch_then: None, holder_then: None, .. }) =
            explanation.sent_twice.causes.last().map(|last| &last.cause)
        else {
            panic!("{explanation:?}")
        };
        assert!(words(&explanation)[1].ends_with("A success leaves no word of who sent it."), "{explanation:?}");
    })
    .await;
}

#[tokio::test]
async fn a_neighbour_of_a_duplicate_is_none() {
    on_every_database(async |outbox| {
        let frozen = Leader::begin(outbox).await;
        let (one, other) = (insert(outbox, &[]).await, insert(outbox, &[]).await);
        let (claim, messages) = frozen.claim().await;
        let delivered = |place: usize| -> Mark {
            mark(&frozen.term, claim, &messages[place], Verdict::Success { receipt: None }, "delivered")
        };
        outbox.store.mark(&[delivered(0)], &[]).await.unwrap();
        Leader::begin(outbox).await.settle().await;
        assert_eq!(outbox.store.mark(&[delivered(1)], &[claim]).await.unwrap().fenced, [other]);
        assert_eq!(said(&explained(outbox, one).await), (Said::Once, vec![]));
        assert_eq!(said(&explained(outbox, other).await).1, ["killed", "delivered_fenced"]);
    })
    .await;
}
