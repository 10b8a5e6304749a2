//! Messages that wait for another attempt are made due by hand: by name, or all that a filter means.

use std::time::Duration;

use outbox_desk::{
    Action, Author, Change, Desk, MessageFilter, MessageRecord, MessageSelection, OperationStatus, Operations, Ordered,
    Refusal, Skipped,
};
use outbox_schema::{MessageId, NewMessage};
use outbox_store::{Dialect, Message, Verdict};
use outbox_tests::changes::{self, Unfollowed};
use outbox_tests::eventually;

use crate::commands::command_line::enqueue;
use crate::outboxes::{self, Outbox};
use crate::poller::Poller;
use crate::program::{HTTP, PATIENCE, Program};
use crate::sink::Sink;

const AGAIN: Verdict = Verdict::Retry { after: Duration::from_hours(1) };

fn ada() -> Author {
    Author { who: "ada".to_owned(), why: "the shop is back".to_owned() }
}

fn message(key: &str) -> NewMessage {
    NewMessage::http("https://shop.example/hook").idempotency_key(key).json(key)
}

/// A selection of all messages of the channel `http`.
fn all() -> MessageSelection {
    MessageSelection::Filter(MessageFilter { channel: Some("http".to_owned()), ..MessageFilter::default() })
}

async fn record(outbox: &Outbox, key: &str) -> MessageRecord {
    outbox.database.message_by_key(key).await.unwrap().unwrap()
}

async fn id(outbox: &Outbox, key: &str) -> MessageId {
    MessageId(record(outbox, key).await.id)
}

/// Enqueues a message, and has a poller come to this verdict on its first attempt.
async fn tried(outbox: &Outbox, poller: &Poller, key: &str, verdict: &Verdict) -> MessageId {
    outbox.enqueue(&[message(key)]).await;
    let (claim, messages) = poller.claim().await;
    assert_eq!(messages.iter().map(|one| one.idempotency_key.as_str()).collect::<Vec<_>>(), [key]);
    poller.mark(claim, &messages, verdict).await;
    id(outbox, key).await
}

/// How many messages a retry would make due, by a dry run.
async fn would(outbox: &Outbox, selection: &MessageSelection) -> (u64, u64) {
    let groups = outbox.database.message_groups(Action::Retry, selection, None).await.unwrap();
    groups.iter().fold((0, 0), |(count, deferred), group| (count + group.count, deferred + group.deferred))
}

#[tokio::test]
async fn what_waits_for_another_attempt_is_due_at_once_and_goes_on_from_its_attempts() {
    for outbox in outboxes::each().await {
        let poller = Poller::begin(&outbox.database, "one").await;
        for key in ["a", "b"] {
            tried(&outbox, &poller, key, &AGAIN).await;
        }
        outbox.enqueue(&[message("scheduled").delay(Duration::from_hours(1))]).await;
        assert!(poller.claim().await.1.is_empty());
        let before = record(&outbox, "a").await;
        assert_eq!(would(&outbox, &all()).await, (2, 0));

        let done = outbox.database.retry(&all(), &ada()).await.unwrap();
        assert_eq!((done.meant, done.changed, done.count("untried"), done.left_count), (2, 2, 0, 0), "{done:?}");
        let after = record(&outbox, "a").await;
        assert_eq!((after.status.as_str(), after.attempts, after.revision), ("PENDING", 1, before.revision + 1));
        assert_eq!((&after.first_attempt_at, &after.last_error), (&before.first_attempt_at, &before.last_error));
        let entry = &after.audit[0];
        assert_eq!((entry.action.as_str(), entry.who.as_str()), ("retry", "ada"));
        assert_eq!((entry.why.as_deref(), entry.part_of), (Some("the shop is back"), done.audit_id));
        let overwritten: serde_json::Value = serde_json::from_str(entry.details.as_deref().unwrap()).unwrap();
        let (was, is) = (overwritten["available_at"].as_str().unwrap(), before.available_at.as_str());
        assert_eq!(was.get(..19), is.get(..19), "{overwritten}");

        let (claim, claimed) = poller.claim().await;
        assert_eq!(claimed.iter().map(|one| one.idempotency_key.as_str()).collect::<Vec<_>>(), ["a", "b"]);
        poller.mark(claim, &claimed, &Verdict::Success { receipt: None }).await;
        assert_eq!(record(&outbox, "a").await.attempts, 2);
        let nothing = outbox.database.retry(&all(), &ada()).await.unwrap();
        assert_eq!((nothing.audit_id, nothing.meant, nothing.changed), (None, 0, 0), "nothing is meant");
        assert_eq!(record(&outbox, "scheduled").await.revision, 0);
    }
}

#[tokio::test]
async fn a_message_that_is_scheduled_for_later_is_sent_now_where_it_is_named() {
    for outbox in outboxes::each().await {
        outbox.enqueue(&[message("scheduled").delay(Duration::from_hours(1))]).await;
        let named = MessageSelection::Ids(vec![id(&outbox, "scheduled").await]);
        assert_eq!((would(&outbox, &named).await, would(&outbox, &all()).await), ((1, 0), (0, 0)));
        let done = outbox.database.retry(&named, &ada()).await.unwrap();
        assert_eq!((done.meant, done.changed, done.count("untried")), (1, 1, 1), "{done:?}");
        assert_eq!(Poller::begin(&outbox.database, "one").await.claim().await.1.len(), 1);
    }
}

#[tokio::test]
async fn what_is_due_deferred_in_flight_delivered_or_not_there_is_left_as_it_is_and_named() {
    for outbox in outboxes::each().await {
        let poller = Poller::begin(&outbox.database, "one").await;
        let delivered = tried(&outbox, &poller, "delivered", &Verdict::Success { receipt: None }).await;
        let waits = tried(&outbox, &poller, "waits", &AGAIN).await;
        // An attempt that its destination is to blame for, after one that counted.
        let deferred = tried(&outbox, &poller, "deferred", &Verdict::Retry { after: Duration::ZERO }).await;
        let (claim, messages) = poller.claim().await;
        poller.mark(claim, &messages, &Verdict::Deferred { after: Duration::from_hours(1) }).await;
        outbox.enqueue(&[message("in flight")]).await;
        poller.claim().await;
        outbox.enqueue(&[message("due")]).await;
        let (in_flight, due) = (id(&outbox, "in flight").await, id(&outbox, "due").await);

        assert_eq!(would(&outbox, &all()).await, (2, 1));
        let by_filter = outbox.database.retry(&all(), &ada()).await.unwrap();
        let is_deferred = Skipped { id: deferred, because: Refusal::Deferred };
        assert_eq!((by_filter.meant, by_filter.changed, changes::skipped(&by_filter)), (2, 1, vec![is_deferred]));
        let ids = vec![due, MessageId(4_711), in_flight, deferred, waits, delivered];
        let named = outbox.database.retry(&MessageSelection::Ids(ids), &ada()).await.unwrap();
        let mut skipped = changes::skipped(&named);
        skipped.sort_by_key(|skipped| skipped.id);
        let because = |id, because| Skipped { id, because };
        let expected = [
            because(delivered, Refusal::NotPending),
            because(waits, Refusal::Due),
            is_deferred,
            because(in_flight, Refusal::InFlight),
            because(due, Refusal::Due),
            because(MessageId(4_711), Refusal::NotThere),
        ];
        assert_eq!((named.meant, named.changed, &skipped[..]), (6, 0, &expected[..]));
        let of_deferred = record(&outbox, "deferred").await;
        assert!(of_deferred.deferred_from.is_some() && of_deferred.audit.is_empty(), "{of_deferred:?}");
    }
}

#[tokio::test]
async fn a_row_that_an_application_holds_is_not_made_due() {
    for outbox in outboxes::each().await.filter(|outbox| outbox.dialect() != Dialect::Sqlite) {
        let poller = Poller::begin(&outbox.database, "one").await;
        let held = tried(&outbox, &poller, "held", &AGAIN).await;
        tried(&outbox, &poller, "free", &AGAIN).await;
        let lock = outbox.hold("idempotency_key = 'held'").await;
        let done = outbox.database.retry(&all(), &ada()).await.unwrap();
        let skipped = Skipped { id: held, because: Refusal::Held };
        assert_eq!((done.meant, done.changed, changes::skipped(&done)), (2, 1, vec![skipped]), "{done:?}");
        lock.release().await;
    }
}

#[tokio::test]
async fn the_poller_goes_on_with_a_retry_that_nobody_carries_out() {
    for outbox in outboxes::each().await {
        let poller = Poller::begin(&outbox.database, "one").await;
        let waits = tried(&outbox, &poller, "waits", &AGAIN).await;
        outbox.enqueue(&[message("scheduled").delay(Duration::from_hours(1))]).await;
        let scheduled = id(&outbox, "scheduled").await;
        for (selection, untried) in [(MessageSelection::Ids(vec![scheduled]), 1), (all(), 0)] {
            let ordered = outbox_desk::begin(&outbox.database, &Change::Retry { selection }, &ada(), Duration::ZERO)
                .await
                .unwrap();
            let Ordered::Begun(id) = ordered else { panic!("{ordered:?}") };
            assert_eq!(outbox.database.waiting(9).await.unwrap(), [id]);
            outbox.database.go_on(id, &|| true).await.unwrap();
            let ended = outbox_desk::operation(&outbox.database, id).await.unwrap().unwrap();
            assert_eq!((ended.action.as_str(), ended.status), ("retry", OperationStatus::Done));
            let done = ended.result.unwrap();
            assert_eq!(
                (done.audit_id, done.meant, done.changed, done.count("untried")),
                (Some(id), 1, 1, untried),
                "{done:?}"
            );
        }
        let claimed: Vec<_> = poller.claim().await.1.iter().map(Message::id).collect();
        assert!(claimed.len() == 2 && claimed.contains(&waits), "{claimed:?}");
    }
}

#[tokio::test]
async fn an_operator_has_a_failed_message_tried_at_once_from_the_command_line_and_by_a_replica() {
    for outbox in outboxes::each().await {
        let sink = Sink::start().await;
        let patient = format!("{HTTP}base = \"1d\"\nmax = \"30d\"\nmax_age = \"365d\"\n");
        let program = Program::new(&outbox.test.url, &patient);
        let mut replica = program.start();
        let url = replica.listener().await;
        enqueue(&program, "a", &sink.url("/busy"), &["--tag", "order=1"]).await.done();
        let attempts = async |number| {
            let waits = async || (record(&outbox, "a").await.attempts == number).then_some(());
            eventually("it waits for another attempt", PATIENCE, waits).await;
        };
        attempts(1).await;
        let would = program.run(&["messages", "retry", "--tag", "order=1", "--dry-run"]).await.done();
        assert!(would.contains("1 would be retried; nothing was changed"), "{would}");
        let done = program.run(&["messages", "retry", "a", "--by", "ada", "--why", "they are back"]).await.done();
        assert_eq!(done, "1 retried\n");
        attempts(2).await;
        let by_replica = ["--url", &url, "messages", "retry"];
        let would = [&by_replica[..], &["--tag", "order=1", "--dry-run", "--json"]].concat();
        assert_eq!(program.run(&would).await.json()[0]["count"], 1);
        let done = program.run(&[&by_replica[..], &["--tag", "order=1", "--json"]].concat()).await.json();
        assert_eq!((&done["meant"], &done["retried"]), (&1.into(), &1.into()), "{done}");
        attempts(3).await;
        assert_eq!(sink.keys()["a"], 3);
        let life = program.run(&["messages", "show", "a"]).await.done();
        assert!(life.contains("retry by ada: they are back") && life.contains("available_at"), "{life}");

        enqueue(&program, "late", &sink.url("/"), &["--delay", "1h"]).await.done();
        let none = program.run(&["messages", "retry", "--key-prefix", "la"]).await;
        assert_eq!(none.code, Some(3), "a filter does not mean what was never tried: {none:?}");
        let named = program.run(&[&by_replica[..], &["late"]].concat()).await.done();
        assert!(named.contains("1 of them, scheduled for later and due now"), "{named}");
        eventually("it is sent", PATIENCE, async || sink.keys().contains_key("late").then_some(())).await;
        let unknown = program.run(&[&by_replica[..], &["4711"]].concat()).await;
        assert!(unknown.code == Some(1) && unknown.stdout.contains("4711: there is no such message"), "{unknown:?}");
        let vague = program.run(&["messages", "retry"]).await.misused();
        assert!(vague.contains("--channel"), "{vague}");
    }
}
