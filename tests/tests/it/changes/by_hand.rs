//! What people do to messages by hand, on each database.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::time::Duration;

use outbox_desk::{
    Author, ByHand, Cancelled, DeadLetterFilter, Desk, DeskError, Edited, MessageRecord, Pace, Refusal, Revised,
    Selection, Skipped,
};
use outbox_schema::{MessageId, NewMessage, Tags};
use outbox_store::{DeadReason, Dialect, Verdict};
use outbox_tests::changes::{self, Unfollowed, sent};
use sqlx::Connection;

use crate::outboxes::{self, Outbox};
use crate::poller::Poller;

const EVERYTHING: Selection = Selection::Filter(DeadLetterFilter {
    channel: None,
    reason: None,
    status_code: None,
    fingerprint: None,
    destination: None,
    target: None,
    key_prefix: None,
    tags: Tags::none(),
    tenant: None,
    since: None,
    until: None,
    error_contains: None,
});

const AT_ONCE: Pace = Pace { canary: None, rate: None };

fn ada(why: &str) -> Author {
    Author { who: "ada".to_owned(), why: why.to_owned() }
}

fn message(key: &str) -> NewMessage {
    NewMessage::http("https://shop.example/hook").idempotency_key(key)
}

/// Their ids.
async fn enqueue(outbox: &Outbox, messages: &[NewMessage]) -> Vec<MessageId> {
    outbox.enqueue(messages).await;
    let mut ids = Vec::new();
    for enqueued in 0..messages.len() {
        let place = messages.len() - enqueued - 1;
        let id = format!("SELECT id FROM outbox ORDER BY id DESC LIMIT 1 OFFSET {place}");
        ids.push(MessageId(outbox.number(&id).await));
    }
    ids
}

/// Dead letters of a poller's making.
async fn dead(outbox: &Outbox, messages: &[NewMessage]) -> Vec<MessageId> {
    let ids = enqueue(outbox, messages).await;
    Poller::begin(&outbox.database, "killer").await.kill_all().await;
    ids
}

async fn record(outbox: &Outbox, id: MessageId) -> MessageRecord {
    outbox.database.message(id).await.unwrap().unwrap()
}

fn skipped(id: MessageId, because: Refusal) -> Skipped {
    Skipped { id, because }
}

#[tokio::test]
async fn a_redriven_message_begins_a_new_life_and_the_audit_says_who_and_why() {
    for outbox in outboxes::each().await {
        let expiring = message("b").expires_in(Duration::from_hours(1));
        let ids = dead(&outbox, &[message("a"), expiring, message("c")]).await;
        // Long ago on each database.
        outbox.sql("UPDATE outbox SET expires_at = first_attempt_at WHERE idempotency_key = 'b'").await;

        let asked = Selection::Ids(vec![ids[1], ids[0], MessageId(4_711), ids[1]]);
        let done = outbox.database.redrive(&asked, AT_ONCE, &ada("the hook is back")).await.unwrap();
        assert_eq!((done.meant, done.changed, sent(&done)), (3, 2, ids[..2].to_vec()));
        assert_eq!(changes::skipped(&done), [skipped(MessageId(4_711), Refusal::NotThere)]);

        let redriven = record(&outbox, ids[1]).await;
        assert_eq!((redriven.status.as_str(), redriven.revision, redriven.attempts), ("PENDING", 2, 0));
        assert_eq!((redriven.dead_reason, redriven.finished_at, redriven.first_attempt_at), (None, None, None));
        assert_eq!((redriven.expires_at, redriven.idempotency_key.as_str()), (None, "b"));
        assert_eq!(redriven.attempt_log.len(), 1, "what happened stays on record");
        let [entry] = &redriven.audit[..] else { panic!("{:?}", redriven.audit) };
        assert_eq!((entry.who.as_str(), entry.action.as_str()), ("ada", "redrive"));
        assert_eq!((entry.why.as_deref(), entry.part_of), (Some("the hook is back"), done.audit_id));
        let details: serde_json::Value = serde_json::from_str(entry.details.as_ref().unwrap()).unwrap();
        assert_eq!((&details["dead_reason"], &details["attempts"]), (&"permanent".into(), &1.into()));
        assert_eq!((&details["revision"], &details["idempotency_key"]), (&1.into(), &"b".into()));
        assert!(details["expires_at"].as_str().is_some_and(|time| time.contains('T')), "{details}");

        let (_, claimed) = Poller::begin(&outbox.database, "next").await.claim().await;
        assert_eq!(claimed.len(), 2, "they are due");
        let again = outbox.database.redrive(&asked, AT_ONCE, &ada("")).await.unwrap();
        assert_eq!((again.changed, changes::skipped(&again)[0]), (0, skipped(ids[0], Refusal::NotDead)));
    }
}

#[tokio::test]
async fn an_expiry_that_is_yet_to_come_survives_a_redrive() {
    for outbox in outboxes::each().await {
        let ids = dead(&outbox, &[message("a").expires_in(Duration::from_hours(1))]).await;
        outbox.database.redrive(&EVERYTHING, AT_ONCE, &ada("")).await.unwrap();
        assert!(record(&outbox, ids[0]).await.expires_at.is_some());
    }
}

#[tokio::test]
async fn a_filter_redrives_all_that_it_finds_in_batches_and_nothing_else() {
    for outbox in outboxes::each().await {
        let many: Vec<_> = (0..1_200).map(|number| message(&format!("{number}"))).collect();
        outbox.enqueue(&many).await;
        outbox.sql("UPDATE outbox SET status = 'DEAD', dead_reason = 'exhausted', revision = revision + 1").await;
        outbox.sql("UPDATE outbox SET dead_reason = 'permanent' WHERE idempotency_key = '1000'").await;
        let exhausted = DeadLetterFilter { reason: Some(DeadReason::Exhausted), ..DeadLetterFilter::default() };
        let exhausted = Selection::Filter(exhausted);
        let groups = outbox.database.dead_groups(&exhausted).await.unwrap();
        assert_eq!((groups.len(), groups[0].count), (1, 1_199));

        let canary = Pace { canary: NonZeroU32::new(3), rate: None };
        let few = outbox.database.redrive(&exhausted, canary, &ada("try")).await.unwrap();
        assert_eq!((few.meant, few.changed, few.first.len()), (1_199, 3, 3));
        let first = "SELECT count(*) FROM outbox WHERE status = 'PENDING' AND idempotency_key IN ('0', '1', '2')";
        assert_eq!(outbox.number(first).await, 3, "those of the lowest ids");
        let all = outbox.database.redrive(&exhausted, AT_ONCE, &ada("all")).await.unwrap();
        assert_eq!((all.meant, all.changed, all.first.len(), all.left.len()), (1_196, 1_196, 100, 0));
        assert_eq!(outbox.number("SELECT count(*) FROM outbox WHERE status = 'PENDING'").await, 1_199);
        assert_eq!(outbox.number("SELECT count(*) FROM outbox_audit WHERE message_id IS NULL").await, 2);
        assert_eq!(outbox.number("SELECT count(*) FROM outbox_audit WHERE message_id IS NOT NULL").await, 1_199);
        let left = outbox.database.dead_letters(&DeadLetterFilter::default(), &[], None, 9).await.unwrap().letters;
        assert_eq!((left.len(), left[0].idempotency_key.as_str()), (1, "1000"));
    }
}

#[tokio::test]
async fn what_is_redriven_at_a_rate_comes_due_at_that_rate_in_the_order_of_ids() {
    for outbox in outboxes::each().await {
        let messages: Vec<_> = (0..5).map(|number| message(&format!("{number}"))).collect();
        let ids = dead(&outbox, &messages).await;
        let pace = Pace { canary: None, rate: NonZeroU32::new(2) };
        outbox.database.redrive(&EVERYTHING, pace, &ada("")).await.unwrap();
        let mut due = Vec::new();
        for id in ids {
            let at = record(&outbox, id).await.available_at;
            due.push(humantime_us(&at));
        }
        let steps: Vec<_> = due[1..].windows(2).map(|pair| pair[1] - pair[0]).collect();
        // The first may have come due in the time that the redrive itself took.
        assert!(steps.iter().all(|step| *step == 500_000), "{steps:?}");
        assert!((0..=500_000).contains(&(due[1] - due[0])), "{due:?}");
    }
}

/// Microseconds of the minute and hour of an RFC 3339 text; the tests do not run for a day.
fn humantime_us(text: &str) -> i64 {
    let time = text.split(['T', 'Z', '+']).nth(1).unwrap();
    let seconds: f64 = time.split(':').fold(0.0, |sum, part| sum * 60.0 + part.parse::<f64>().unwrap());
    #[allow(clippy::cast_possible_truncation, reason = "a day has 86,400,000,000 of them")]
    let us = (seconds * 1_000_000.0).round() as i64;
    us
}

#[tokio::test]
async fn a_redriven_message_goes_before_the_later_ones_of_its_ordering_key() {
    for outbox in outboxes::each().await {
        let ordered = |key: &str| message(key).ordering_key("order-1");
        let ids = dead(&outbox, &[ordered("1")]).await;
        let poller = Poller::begin(&outbox.database, "killer").await;
        outbox.enqueue(&[ordered("2")]).await;
        poller.kill_all().await;
        outbox.enqueue(&[ordered("3")]).await;
        // Though they come due one after the other, and the third is due already.
        let pace = Pace { canary: None, rate: NonZeroU32::new(1) };
        outbox.database.redrive(&EVERYTHING, pace, &ada("")).await.unwrap();
        let past = match outbox.dialect() {
            Dialect::Postgres | Dialect::MySql => "'2000-01-01'",
            Dialect::Sqlite => "0",
        };
        let mut sent = Vec::new();
        while sent.len() < 3 {
            let (claim, claimed) = poller.claim().await;
            assert!(claimed.len() <= 1, "{claimed:?}");
            sent.extend(claimed.iter().map(|message| message.idempotency_key.clone()));
            poller.mark(claim, &claimed, &Verdict::Success { receipt: None }).await;
            // The second waits for its time, and the third for the second.
            outbox.sql(&format!("UPDATE outbox SET available_at = {past} WHERE idempotency_key = '2'")).await;
        }
        assert_eq!(sent, ["1", "2", "3"]);
        assert_eq!(record(&outbox, ids[0]).await.status, "SUCCESS");
    }
}

#[tokio::test]
async fn a_redrive_waits_for_the_claim_that_is_being_made() {
    let [outbox, _, _] = outboxes::migrated().await;
    let id = enqueue(&outbox, &[message("a")]).await[0];
    outbox.sql("UPDATE outbox SET status = 'DEAD', dead_reason = 'exhausted', revision = revision + 1").await;
    let mut claimer = sqlx::PgConnection::connect(&outbox.test.url).await.unwrap();
    let mut claiming = claimer.begin().await.unwrap();
    sqlx::raw_sql("SELECT FROM outbox_term FOR SHARE").execute(&mut *claiming).await.unwrap();

    let desk = outbox.database.clone();
    let redriving = tokio::spawn(async move { desk.redrive(&EVERYTHING, AT_ONCE, &ada("")).await });
    // The shared server has other tests' locks too: theirs are of other databases.
    let waits = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
    while outbox.number(waits).await == 0 {
        tokio::task::yield_now().await;
    }
    assert_eq!(outbox.number("SELECT count(*) FROM outbox WHERE status = 'DEAD'").await, 1);
    claiming.commit().await.unwrap();
    assert_eq!(sent(&redriving.await.unwrap().unwrap()), [id]);
}

#[tokio::test]
async fn a_redriven_message_survives_the_settling_of_an_older_claim() {
    for outbox in outboxes::each().await {
        let first = Poller::begin(&outbox.database, "one").await;
        let id = enqueue(&outbox, &[message("a")]).await[0];
        let (claim, messages) = first.claim().await;
        let second = Poller::begin(&outbox.database, "two").await;
        let dead = Verdict::Dead { reason: DeadReason::Permanent, attempted: true, invalid_target: false };
        first.mark_some(claim, &messages, &dead, &[]).await;
        outbox.database.redrive(&EVERYTHING, AT_ONCE, &ada("")).await.unwrap();
        outbox.sql("UPDATE outbox_claim SET settling_ms = 0, settling_closed_ms = 0").await;
        second.settle().await;
        let redriven = record(&outbox, id).await;
        assert_eq!((redriven.status.as_str(), redriven.revision, redriven.attempts), ("PENDING", 2, 0));
    }
}

#[tokio::test]
async fn what_a_claim_names_as_it_is_is_left_alone_by_every_hand() {
    for outbox in outboxes::each().await {
        let poller = Poller::begin(&outbox.database, "one").await;
        let id = enqueue(&outbox, &[message("a")]).await[0];
        outbox.sql("UPDATE outbox SET revision = 1").await;
        poller.claim().await;
        let in_flight = skipped(id, Refusal::InFlight);
        assert_eq!(outbox.database.cancel(id, &ada("")).await.unwrap(), Cancelled::Refused(in_flight));

        // By a hand that raised no revision.
        outbox.sql("UPDATE outbox SET status = 'DEAD', dead_reason = 'cancelled'").await;
        let redriven = outbox.database.redrive(&EVERYTHING, AT_ONCE, &ada("")).await.unwrap();
        assert_eq!(changes::skipped(&redriven), [in_flight]);
        let purged = outbox.database.purge(&EVERYTHING, &ada("")).await.unwrap();
        assert_eq!(changes::skipped(&purged), [in_flight]);
        let revised = Revised::new("http", "/other", "1", BTreeMap::new()).unwrap();
        let edited = outbox.database.edit(id, 1, &revised, &ada("")).await.unwrap();
        assert_eq!(edited, Edited::Refused(in_flight));
        assert_eq!(record(&outbox, id).await.revision, 1);
    }
}

#[tokio::test]
async fn a_message_that_waits_is_cancelled_and_never_sent() {
    for outbox in outboxes::each().await {
        let ids = enqueue(&outbox, &[message("a"), message("b")]).await;
        let cancelled = outbox.database.cancel(ids[0], &ada("a mistake")).await.unwrap();
        assert_eq!(cancelled, Cancelled::Done { id: ids[0] });
        let found = record(&outbox, ids[0]).await;
        assert_eq!((found.status.as_str(), found.dead_reason.as_deref()), ("DEAD", Some("cancelled")));
        assert_eq!((found.revision, found.finished_at.is_some()), (1, true));
        assert_eq!((found.audit[0].action.as_str(), found.audit[0].why.as_deref()), ("cancel", Some("a mistake")));

        let poller = Poller::begin(&outbox.database, "one").await;
        let (claim, claimed) = poller.claim().await;
        assert_eq!(claimed.iter().map(outbox_store::Message::id).collect::<Vec<_>>(), ids[1..]);
        poller.mark(claim, &claimed, &Verdict::Success { receipt: None }).await;
        for (id, because) in
            [(ids[0], Refusal::NotPending), (ids[1], Refusal::NotPending), (MessageId(4_711), Refusal::NotThere)]
        {
            let refused = Cancelled::Refused(skipped(id, because));
            assert_eq!(outbox.database.cancel(id, &ada("")).await.unwrap(), refused);
        }
        assert_eq!(outbox.number("SELECT count(*) FROM outbox_audit").await, 1);
    }
}

#[tokio::test]
async fn an_edit_of_target_or_headers_keeps_the_key_where_it_is_asked_to_and_one_of_the_payload_cannot() {
    for outbox in outboxes::each().await {
        let id = dead(&outbox, &[message("a").header("X-Tenant", "7").json(&serde_json::json!({ "b": 2, "a": 1 }))])
            .await[0];
        let before = record(&outbox, id).await;
        let keeping = |payload: &str| {
            Revised::new("http", "https://new.example/hook", payload, BTreeMap::new()).unwrap().keeping_key(true)
        };
        let refused = outbox.database.edit(id, 1, &keeping("2"), &ada("")).await.unwrap();
        assert_eq!(refused, Edited::Refused(skipped(id, Refusal::PayloadUnderOldKey)));
        assert_eq!(record(&outbox, id).await.audit.len(), before.audit.len());

        let spaced = format!(" {}\n", before.payload.unwrap());
        let edited = outbox.database.edit(id, 1, &keeping(&spaced), &ada("it has moved")).await.unwrap();
        assert_eq!(edited, Edited::Done { id, old_key: "a".to_owned(), new_key: "a".to_owned() });
        let found = record(&outbox, id).await;
        assert_eq!((found.idempotency_key.as_str(), found.revision, &found.headers), ("a", 2, &None));
        assert_eq!((found.target.as_str(), found.status.as_str()), ("https://new.example/hook", "DEAD"));
        let details: serde_json::Value = serde_json::from_str(found.audit[0].details.as_ref().unwrap()).unwrap();
        assert_eq!((&details["idempotency_key"], &details["new_idempotency_key"]), (&"a".into(), &"a".into()));
        assert_eq!((&details["headers"]["X-Tenant"], details.get("payload").is_none()), (&"7".into(), true));
    }
}

#[tokio::test]
async fn a_payload_of_more_than_eight_mebibytes_is_counted_and_never_read_back() {
    const MOST: i64 = 8 << 20;
    for outbox in outboxes::each().await {
        let id = dead(&outbox, &[message("a").json(&1)]).await[0];
        for (bytes, is_read) in [(MOST, true), (MOST + 1, false)] {
            let body = outboxes::body(outbox.dialect(), usize::try_from(bytes).unwrap());
            outbox.sql(&format!("UPDATE outbox SET payload = {body} WHERE id = {}", id.0)).await;
            let found = record(&outbox, id).await;
            assert_eq!((found.payload_bytes, found.payload.is_some()), (bytes, is_read));
        }
        let revised = Revised::new("http", "https://new.example/hook", "2", BTreeMap::new()).unwrap();
        let refused = outbox.database.edit(id, 1, &revised, &ada("")).await.unwrap();
        assert_eq!(refused, Edited::Refused(skipped(id, Refusal::PayloadUnread)));
        assert_eq!(record(&outbox, id).await.payload_bytes, MOST + 1);
    }
}

#[tokio::test]
async fn an_edited_dead_letter_has_a_new_key_and_the_audit_remembers_what_it_was() {
    for outbox in outboxes::each().await {
        let id = dead(&outbox, &[message("a").header("X-Tenant", "7").json(&1)]).await[0];
        let headers = BTreeMap::from([("X-Tenant".to_owned(), "8".to_owned())]);
        let exact = r#"{"qty":12345678901234567890.10}"#;
        let revised = Revised::new("http", "https://new.example/hook", exact, headers).unwrap();
        let edited = outbox.database.edit(id, 1, &revised, &ada("wrong tenant")).await.unwrap();
        let Edited::Done { old_key, new_key, .. } = edited else { panic!("{edited:?}") };
        assert_eq!(old_key, "a");

        let found = record(&outbox, id).await;
        assert_eq!((found.status.as_str(), found.revision, &found.idempotency_key), ("DEAD", 2, &new_key));
        assert_eq!(
            (found.target.as_str(), found.destination.as_str()),
            ("https://new.example/hook", "https://new.example:443")
        );
        // MySQL keeps numbers of JSON in 64 bits.
        let digits = if outbox.is_mysql().await { "1.2345678901234567e19" } else { "12345678901234567890.10" };
        assert!(found.payload.as_ref().unwrap().contains(digits), "{:?}", found.payload);
        assert!(found.headers.unwrap().contains('8'));
        let details: serde_json::Value = serde_json::from_str(found.audit[0].details.as_ref().unwrap()).unwrap();
        assert_eq!((&details["idempotency_key"], &details["new_idempotency_key"]), (&"a".into(), &new_key.into()));
        assert_eq!((&details["revision"], &details["payload"]), (&1.into(), &1.into()));
        assert_eq!(
            (&details["headers"]["X-Tenant"], &details["target"]),
            (&"7".into(), &"https://shop.example/hook".into())
        );

        let late = outbox.database.edit(id, 1, &revised, &ada("")).await.unwrap();
        assert_eq!(late, Edited::Refused(skipped(id, Refusal::Changed)));
        let waiting = enqueue(&outbox, &[message("waits")]).await[0];
        let alive = outbox.database.edit(waiting, 0, &revised, &ada("")).await.unwrap();
        assert_eq!(alive, Edited::Refused(skipped(waiting, Refusal::NotDead)));
        assert_eq!(Revised::new("http", " ", "1", BTreeMap::new()).unwrap_err().field, "target");
        assert_eq!(Revised::new("http", "/", "{", BTreeMap::new()).unwrap_err().field, "payload");
    }
}

#[tokio::test]
async fn an_undo_returns_what_was_not_sent_and_says_what_was() {
    for outbox in outboxes::each().await {
        let expiring = |key: &str| message(key).expires_in(Duration::from_hours(1));
        let messages: Vec<_> = ["a", "b", "c", "d", "e"].into_iter().map(expiring).collect();
        let ids = dead(&outbox, &messages).await;
        let before = record(&outbox, ids[4]).await;
        let audit_id = outbox.database.redrive(&EVERYTHING, AT_ONCE, &ada("oh")).await.unwrap().audit_id.unwrap();

        let poller = Poller::begin(&outbox.database, "next").await;
        let (claim, claimed) = poller.claim().await;
        assert_eq!(claimed.len(), 5);
        poller.mark_some(claim, &claimed[..1], &Verdict::Success { receipt: None }, &[]).await;
        let retry = Verdict::Retry { after: Duration::from_hours(1) };
        poller.mark_some(claim, &claimed[1..2], &retry, &[]).await;
        poller.mark_some(claim, &claimed[3..], &Verdict::Unsent, &[]).await;
        outbox.database.cancel(ids[3], &ada("")).await.unwrap();

        let undone = outbox.database.undo(audit_id, &ada("too soon")).await.unwrap();
        assert_eq!((undone.changed, undone.count("delivered"), undone.count("under_way")), (1, 1, 2), "{undone:?}");
        assert_eq!((undone.count("dead_again"), undone.count("gone")), (1, 0));
        let after = record(&outbox, ids[4]).await;
        assert_eq!((after.status.as_str(), after.attempts, after.revision), ("DEAD", 1, 4));
        assert_eq!((&after.dead_reason, &after.last_error), (&before.dead_reason, &before.last_error));
        assert_eq!((&after.finished_at, &after.first_attempt_at), (&before.finished_at, &before.first_attempt_at));
        assert_eq!(after.expires_at, before.expires_at);
        let actions: Vec<_> = after.audit.iter().map(|entry| entry.action.as_str()).collect();
        assert_eq!(actions, ["redrive", "undo"]);
        let groups = outbox.database.dead_groups(&Selection::Ids(vec![ids[4]])).await.unwrap();
        assert!(groups[0].fingerprint.starts_with("http/permanent/418/"), "{groups:?}");
        assert!(!groups[0].fingerprint.ends_with('-'), "{groups:?}");

        let again = outbox.database.undo(audit_id, &ada("")).await.unwrap();
        assert_eq!((again.changed, again.count("dead_again")), (0, 2));
        for other in [undone.audit_id.unwrap(), 4_711] {
            let nothing = outbox.database.undo(other, &ada("")).await;
            assert!(matches!(nothing, Err(DeskError::NothingToUndo(asked)) if asked == other), "{nothing:?}");
        }
    }
}

#[tokio::test]
async fn a_message_that_was_redriven_twice_is_undone_by_the_second_redrive_only() {
    for outbox in outboxes::each().await {
        let ids = dead(&outbox, &[message("a")]).await;
        let redrive = async || outbox.database.redrive(&EVERYTHING, AT_ONCE, &ada("")).await.unwrap().audit_id.unwrap();
        let first = redrive().await;
        Poller::begin(&outbox.database, "next").await.kill_all().await;
        let second = redrive().await;
        let undone = outbox.database.undo(first, &ada("")).await.unwrap();
        assert_eq!((undone.changed, undone.count("under_way")), (0, 1));
        assert_eq!(outbox.database.undo(second, &ada("")).await.unwrap().changed, 1);
        assert_eq!(record(&outbox, ids[0]).await.status, "DEAD");
    }
}

#[tokio::test]
async fn a_purge_deletes_dead_letters_with_their_attempts_and_only_the_audit_remembers() {
    for outbox in outboxes::each().await {
        let many: Vec<_> = (0..700).map(|number| message(&format!("{number}"))).collect();
        dead(&outbox, &many[..9]).await;
        outbox.enqueue(&many[9..]).await;
        outbox.sql("UPDATE outbox SET status = 'DEAD', revision = 1 WHERE id % 7 > 0").await;
        let dead = outbox.number("SELECT count(*) FROM outbox WHERE status = 'DEAD'").await;
        let purged = outbox.database.purge(&EVERYTHING, &ada("a test's")).await.unwrap();
        assert_eq!((purged.changed, purged.meant), (dead.cast_unsigned(), dead.cast_unsigned()));
        assert_eq!(outbox.number("SELECT count(*) FROM outbox").await, 700 - dead);
        assert_eq!(outbox.number("SELECT count(*) FROM outbox WHERE status = 'DEAD'").await, 0);
        assert_eq!(outbox.number("SELECT count(*) FROM outbox_attempt").await, 0);
        let each = "SELECT count(*) FROM outbox_audit WHERE action = 'purge' AND part_of IS NOT NULL";
        assert_eq!(outbox.number(each).await, dead);
        let nothing = outbox.database.purge(&EVERYTHING, &ada("")).await.unwrap();
        assert_eq!((nothing.audit_id, nothing.changed), (None, 0));
    }
}
