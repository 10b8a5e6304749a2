//! Finding dead letters, on each database: counted by what they have in common, and one by one.

use std::time::{Duration, SystemTime};

use outbox_desk::{DeadGroup, DeadLetterFilter, Desk, Moment, Selection};
use outbox_schema::{MessageId, NewMessage};
use outbox_store::{DeadReason, Dialect, Verdict};

use crate::outboxes::{self, Outbox};
use crate::poller::Poller;

/// Makes a dead letter of each message, as a poller does; gives their ids.
async fn killed(outbox: &Outbox, messages: &[(NewMessage, DeadReason, Option<u16>, &str)]) -> Vec<MessageId> {
    let poller = Poller::begin(&outbox.database, "one").await;
    let mut ids = Vec::new();
    for (message, reason, code, error) in messages {
        outbox.enqueue(std::slice::from_ref(message)).await;
        let (claim, claimed) = poller.claim().await;
        let dead = Verdict::Dead { reason: *reason, attempted: true, invalid_target: false };
        poller.mark_as(claim, &claimed, &dead, *code, error).await;
        ids.push(claimed[0].id());
    }
    ids
}

fn http(host: &str) -> NewMessage {
    NewMessage::http(format!("https://{host}.example/hook"))
}

/// Three that were refused for one cause, one for another, one that was used up.
async fn some(outbox: &Outbox) -> Vec<MessageId> {
    let (refused, used_up) = (DeadReason::Permanent, DeadReason::Exhausted);
    killed(
        outbox,
        &[
            (http("a"), refused, Some(422), "no order 4711 of 2026-05-01T12:00:00Z"),
            (http("b"), refused, Some(422), "no order 18 of 2026-11-21T00:00:01Z"),
            (http("a"), refused, Some(422), "no field \"qty\""),
            (http("a"), refused, Some(422), "no order 5 of 2026-11-21T00:00:02Z"),
            (http("a"), used_up, Some(503), "no order 5 of 2026-11-21T00:00:02Z"),
        ],
    )
    .await
}

async fn groups(outbox: &Outbox, filter: DeadLetterFilter) -> Vec<DeadGroup> {
    outbox.database.dead_groups(&Selection::Filter(filter)).await.unwrap()
}

async fn found(outbox: &Outbox, filter: &DeadLetterFilter) -> Vec<MessageId> {
    let page = outbox.database.dead_letters(filter, &[], None, 100).await.unwrap();
    assert_eq!(page.next, None);
    page.letters.iter().map(|letter| MessageId(letter.id)).collect()
}

#[tokio::test]
async fn dead_letters_of_one_cause_are_one_group_whatever_numbers_their_errors_hold() {
    for outbox in outboxes::each().await {
        let ids = some(&outbox).await;
        let all = groups(&outbox, DeadLetterFilter::default()).await;
        let counts: Vec<_> = all.iter().map(|group| group.count).collect();
        assert_eq!(counts, [3, 1, 1]);
        let first = &all[0];
        assert_eq!((first.channel.as_str(), first.dead_reason.as_deref()), ("http", Some("permanent")));
        assert_eq!((first.status_code, first.error.as_deref()), (Some(422), Some("no order # of #")));
        assert_eq!(first.example, ids[3]);
        assert!(first.first_seen < first.last_seen && first.first_seen.contains('T'), "{first:?}");
        assert!(first.fingerprint.starts_with("http/permanent/422/"), "{first:?}");

        let by_ids = outbox.database.dead_groups(&Selection::Ids(ids.clone())).await.unwrap();
        assert_eq!(by_ids, all);
        let of_it = DeadLetterFilter { fingerprint: Some(first.fingerprint.clone()), ..DeadLetterFilter::default() };
        assert_eq!(groups(&outbox, of_it.clone()).await, all[..1]);
        assert_eq!(found(&outbox, &of_it).await, [ids[3], ids[1], ids[0]]);
        let there = DeadLetterFilter { destination: Some("https://b.example:443".to_owned()), ..of_it };
        assert_eq!(groups(&outbox, there.clone()).await[0].count, 1);
        assert_eq!(found(&outbox, &there).await, [ids[1]]);
    }
}

#[tokio::test]
async fn dead_letters_are_found_by_all_that_is_said_of_them() {
    for outbox in outboxes::each().await {
        let ids = some(&outbox).await;
        outbox.enqueue(&[http("alive")]).await;
        let all = DeadLetterFilter::default();
        assert_eq!(found(&outbox, &all).await, [ids[4], ids[3], ids[2], ids[1], ids[0]]);
        let exhausted = DeadLetterFilter { reason: Some(DeadReason::Exhausted), ..all.clone() };
        assert_eq!(found(&outbox, &exhausted).await, [ids[4]]);
        let code = DeadLetterFilter { status_code: Some(422), ..all.clone() };
        assert_eq!(found(&outbox, &code).await, [ids[3], ids[2], ids[1], ids[0]]);
        let nowhere = DeadLetterFilter { channel: Some("fcm".to_owned()), ..all.clone() };
        assert_eq!(found(&outbox, &nowhere).await, []);
        let containing = DeadLetterFilter { error_contains: Some("ORDER 5 of".to_owned()), ..all.clone() };
        assert_eq!(found(&outbox, &containing).await, [ids[4], ids[3]]);
        let counted = groups(&outbox, containing.clone()).await;
        assert_eq!(counted.iter().map(|group| group.count).sum::<u64>(), 2);
        let both = DeadLetterFilter { destination: Some("https://b.example:443".to_owned()), ..containing };
        assert_eq!(found(&outbox, &both).await, []);
    }
}

#[tokio::test]
async fn dead_letters_are_found_by_when_they_died() {
    for outbox in outboxes::each().await {
        let ids = some(&outbox).await;
        let long_ago = match outbox.dialect() {
            Dialect::Postgres | Dialect::MySql => "'1999-12-31 23:59:59'",
            Dialect::Sqlite => "946684799000",
        };
        let sql = format!("UPDATE outbox SET finished_at = {long_ago} WHERE id IN ({}, {})", ids[0], ids[1]);
        outbox.sql(&sql).await;
        let hour_ago = Some(Moment::Ago(Duration::from_hours(1)));
        let recent = DeadLetterFilter { since: hour_ago, ..DeadLetterFilter::default() };
        assert_eq!(found(&outbox, &recent).await, [ids[4], ids[3], ids[2]]);
        let old = DeadLetterFilter { until: hour_ago, ..DeadLetterFilter::default() };
        assert_eq!(found(&outbox, &old).await, [ids[1], ids[0]]);
        assert_eq!(groups(&outbox, old.clone()).await[0].count, 2);
        let turn = SystemTime::UNIX_EPOCH + Duration::from_secs(946_684_799);
        let then = DeadLetterFilter { since: Some(Moment::At(turn)), until: Some(Moment::At(turn)), ..old };
        assert_eq!(found(&outbox, &then).await, [ids[1], ids[0]]);
        let after = turn + Duration::from_millis(1);
        let later = DeadLetterFilter { since: Some(Moment::At(after)), until: hour_ago, ..then };
        assert_eq!(found(&outbox, &later).await, []);
    }
}

#[tokio::test]
async fn pages_of_dead_letters_follow_each_other_without_gap_or_repetition() {
    for outbox in outboxes::each().await {
        let ids = some(&outbox).await;
        // The same moment for some, so that the id decides.
        outbox.sql(&format!("UPDATE outbox SET finished_at = created_at WHERE id <= {}", ids[3])).await;
        outbox
            .sql("UPDATE outbox SET created_at = (SELECT at FROM (SELECT min(created_at) AS at FROM outbox) AS o)")
            .await;
        outbox.sql(&format!("UPDATE outbox SET finished_at = created_at WHERE id <= {}", ids[3])).await;
        let (mut after, mut seen) = (None, Vec::new());
        loop {
            let page = outbox.database.dead_letters(&DeadLetterFilter::default(), &[], after, 2).await.unwrap();
            seen.extend(page.letters.iter().map(|letter| MessageId(letter.id)));
            assert!(page.letters.len() <= 2);
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        assert_eq!(seen, [ids[4], ids[3], ids[2], ids[1], ids[0]]);
    }
}

#[tokio::test]
async fn what_a_later_term_finds_in_doubt_is_one_group_on_every_database() {
    for outbox in outboxes::each().await {
        let first = Poller::begin(&outbox.database, "one").await;
        outbox.enqueue(&[http("a"), http("b")]).await;
        first.claim().await;
        outbox.sql("UPDATE outbox SET max_attempts = 1").await;
        outbox.sql("UPDATE outbox_claim SET settling_ms = 0, settling_closed_ms = 0").await;
        Poller::begin(&outbox.database, "two").await.settle().await;
        let all = groups(&outbox, DeadLetterFilter::default()).await;
        assert_eq!((all.len(), all[0].count), (1, 2));
        assert_eq!(all[0].fingerprint, "http/exhausted/-/baef44bcae61");
    }
}

#[tokio::test]
async fn a_dead_letter_that_nobody_classified_is_found_all_the_same() {
    for outbox in outboxes::each().await {
        outbox.enqueue(&[http("a")]).await;
        outbox.sql("UPDATE outbox SET status = 'DEAD', revision = 1, channel = 'a/b'").await;
        let all = groups(&outbox, DeadLetterFilter::default()).await;
        assert_eq!((all[0].fingerprint.as_str(), all[0].error.as_deref()), ("a/b/-/-/-", None));
        let of_channel = DeadLetterFilter { channel: Some("a/b".to_owned()), ..DeadLetterFilter::default() };
        assert_eq!(found(&outbox, &of_channel).await.len(), 1);
        let vitals = outbox.database.vitals(&[]).await.unwrap();
        assert_eq!((vitals.channels[0].channel.as_str(), vitals.channels[0].dead), ("a/b", 1));
    }
}

#[tokio::test]
async fn a_row_that_lives_again_has_no_fingerprint() {
    for outbox in outboxes::each().await {
        some(&outbox).await;
        outbox.sql("UPDATE outbox SET status = 'PENDING'").await;
        assert_eq!(outbox.number("SELECT count(*) FROM outbox WHERE fingerprint IS NOT NULL").await, 0);
        assert_eq!(groups(&outbox, DeadLetterFilter::default()).await, []);
    }
}
