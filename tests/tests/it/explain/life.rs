//! The life of a message as a line of time.

use std::time::Duration;

use outbox_console::explain::{Event, life};
use outbox_desk::{Author, ByHand, Pace, Selection};
use outbox_store::{DeadReason, Verdict};
use outbox_tests::changes::Unfollowed;
use outbox_tests::conformance::store::{Outbox, on_every_database};

use super::{Leader, insert, record};

fn told(events: &[Event]) -> Vec<&str> {
    events.iter().map(|event| event.what.as_str()).collect()
}

/// Events begin with these words, one each.
fn is_told(events: &[Event], beginnings: &[&str]) {
    let told = told(events);
    assert_eq!(told.len(), beginnings.len(), "{told:#?}");
    for (event, beginning) in told.iter().zip(beginnings) {
        assert!(event.starts_with(beginning), "{beginning}: {told:#?}");
    }
}

/// So that no two events are of one moment, as coarse as SQLite's clock is.
async fn tick(outbox: &Outbox) {
    outbox.execute("SELECT 1").await;
    tokio::time::sleep(Duration::from_millis(2)).await;
}

#[tokio::test]
async fn a_first_success_is_two_events() {
    on_every_database(async |outbox| {
        let leader = Leader::begin(outbox).await;
        let id = insert(outbox, &[("created_at", &outbox.moment(-1_000))]).await;
        leader.deliver().await;
        let events = life(&record(outbox, id).await);
        is_told(&events, &["enqueued", "delivered: attempt 1 accepted with status 200, receipt r-1"]);
    })
    .await;
}

#[tokio::test]
async fn a_long_life_is_told_from_its_beginning_to_its_end() {
    on_every_database(async |outbox| {
        let killed = Leader::begin(outbox).await;
        let id = insert(outbox, &[("created_at", &outbox.moment(-1_000))]).await;
        killed.claim_one().await;
        tick(outbox).await;
        let next = Leader::begin(outbox).await;
        next.settle().await;
        tick(outbox).await;
        next.attempt(Verdict::Retry { after: Duration::ZERO }, "retry", Some(503), "busy").await;
        tick(outbox).await;
        let dead = Verdict::Dead { reason: DeadReason::Permanent, attempted: true, invalid_target: false };
        next.attempt(dead, "dead", Some(400), "bad request").await;
        tick(outbox).await;
        let pace = Pace { canary: None, rate: None };
        let ada = Author { who: "ada".to_owned(), why: "mended".to_owned() };
        let redriven = outbox.database().redrive(&Selection::Ids(vec![id]), pace, &ada).await.unwrap();
        tick(outbox).await;
        next.claim_one().await;
        let events = life(&record(outbox, id).await);
        let (first, second) = (&killed.term, &next.term);
        let mut expected = vec![
            "enqueued".to_owned(),
            format!("attempt 1 claimed by {}, epoch {}, and in doubt: claimed and", first.holder, first.epoch),
            format!("attempt 2 by {}, epoch {}, took 7ms: retry with", second.holder, second.epoch),
            format!("attempt 3 by {}, epoch {}, took 7ms: dead with", second.holder, second.epoch),
            "dead (permanent)".to_owned(),
            format!("audit {}: redrive by ada: mended", redriven.audit_id.unwrap()),
            format!("in flight: claimed by {}, epoch {}", second.holder, second.epoch),
        ];
        is_told(&events, &expected.iter().map(String::as_str).collect::<Vec<_>>());
        assert!(events[5].more.as_ref().is_some_and(|more| more.starts_with("before: {")), "{events:?}");

        Leader::begin(outbox).await.settle().await;
        tick(outbox).await;
        outbox.database().cancel(id, &ada).await.unwrap();
        let events = life(&record(outbox, id).await);
        expected.pop();
        expected.push(format!("attempt 1 claimed by {}, epoch {}, and in doubt", second.holder, second.epoch));
        expected.push("audit ".to_owned());
        expected.push("dead (cancelled)".to_owned());
        is_told(&events, &expected.iter().map(String::as_str).collect::<Vec<_>>());
    })
    .await;
}

#[tokio::test]
async fn a_deferral_is_told_with_when_the_message_was_due() {
    on_every_database(async |outbox| {
        let leader = Leader::begin(outbox).await;
        let (created, due) = (outbox.moment(-9_000), outbox.moment(-5_000));
        let id = insert(outbox, &[("created_at", &created), ("available_at", &due)]).await;
        let pause = Verdict::Deferred { after: Duration::from_hours(1) };
        leader.attempt(pause, "deferred", Some(429), "too many").await;
        let events = life(&record(outbox, id).await);
        is_told(&events, &["enqueued", "due from here on, and put off until 2", "attempt 1 by "]);
        assert!(events[2].what.ends_with("deferred with status 429: too many"), "{events:?}");
    })
    .await;
}
