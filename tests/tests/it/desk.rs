//! What people ask of an outbox, on each database.

use std::sync::Arc;
use std::time::Duration;

use outbox_schema::store::TermCounts;
use outbox_schema::{DeadLetterFilter, DeadReason, Desk, Dialect, MessageId, NewMessage, Selection, TermEnd, Verdict};
use sqlx::Connection;

use crate::outboxes::{self, Outbox};
use crate::poller::Poller;

fn message(key: &str) -> NewMessage {
    NewMessage::http("https://shop.example/hook").idempotency_key(key)
}

/// Their ids.
async fn enqueue(outbox: &Outbox, messages: &[NewMessage]) -> Vec<MessageId> {
    let mut ids = Vec::new();
    for enqueued in outbox.enqueue(messages).await {
        let record = outbox.database.message_by_key(enqueued.key()).await.unwrap().unwrap();
        ids.push(MessageId(record.id));
    }
    ids
}

#[tokio::test]
async fn vitals_count_what_waits_and_what_failed_and_not_the_history() {
    for outbox in outboxes::migrated().await {
        let store = outbox.database.store();
        let poller = Poller::begin(&*store, "one").await;
        enqueue(&outbox, &[message("delivered")]).await;
        let (claim, messages) = poller.claim().await;
        poller.mark(claim, &messages, &Verdict::Success { receipt: None }).await;
        enqueue(&outbox, &[message("dead")]).await;
        poller.kill_all().await;
        let later = message("later").delay(Duration::from_hours(1));
        let other = NewMessage::new("nobody-s", "x", "{}").idempotency_key("other");
        enqueue(&outbox, &[message("due"), message("ordered").ordering_key("o"), later, other]).await;

        let vitals = outbox.database.vitals().await.unwrap();
        let [http, unknown] = &vitals.channels[..] else { panic!("{:?}", vitals.channels) };
        assert_eq!((http.channel.as_str(), http.pending, http.due, http.deferred, http.dead), ("http", 3, 2, 0, 1));
        assert!(http.lag_ms.is_some_and(|lag| (0..60_000).contains(&lag)), "{http:?}");
        assert_eq!((unknown.channel.as_str(), unknown.pending, unknown.due), ("nobody-s", 1, 1));
        let [term] = &vitals.terms[..] else { panic!("{:?}", vitals.terms) };
        assert_eq!((term.shard, term.epoch, term.holder.as_str()), (0, poller.term.epoch.0, "replica.one"));
        assert!((0..60_000).contains(&term.age_ms) && term.started_at.contains('T'), "{term:?}");
        assert_eq!((vitals.paused.len(), vitals.unsettled_claims), (0, 0));
    }
}

#[tokio::test]
async fn a_deferred_message_lags_since_it_was_due_and_its_pause_is_shown() {
    for outbox in outboxes::migrated().await {
        let store = outbox.database.store();
        let poller = Poller::begin(&*store, "one").await;
        enqueue(&outbox, &[message("a")]).await;
        let (claim, messages) = poller.claim().await;
        let pause = Verdict::Deferred { destination: "http".to_owned(), until: Duration::from_hours(1) };
        poller.mark(claim, &messages, &pause).await;

        let vitals = outbox.database.vitals().await.unwrap();
        let http = &vitals.channels[0];
        assert_eq!((http.pending, http.due, http.deferred), (1, 0, 1));
        assert!(http.lag_ms.is_some_and(|lag| lag >= 0), "{http:?}");
        let paused = &vitals.paused[0];
        assert_eq!((paused.destination.as_str(), paused.paused_by.as_deref()), ("http", Some("dispatcher")));
        assert!(paused.remaining_ms.is_some_and(|left| left > 3_500_000), "{paused:?}");
        assert_eq!(paused.reason.as_deref(), Some("the receiver is a teapot"));
    }
}

#[tokio::test]
async fn an_empty_outbox_has_empty_vitals() {
    for outbox in outboxes::migrated().await {
        let desk: Arc<dyn Desk> = Arc::new(outbox.database.clone());
        let vitals = desk.vitals().await.unwrap();
        assert_eq!((vitals.channels.len(), vitals.terms.len(), vitals.unsettled_claims), (0, 0, 0));
        assert_eq!(desk.terms(10).await.unwrap(), []);
        assert_eq!(desk.message(MessageId(1)).await.unwrap(), None);
        assert_eq!(desk.message_by_key("nobody's").await.unwrap(), None);
        assert_eq!(desk.dead_letters(&DeadLetterFilter::default()).await.unwrap(), []);
    }
}

#[tokio::test]
async fn terms_are_listed_with_how_they_ended_the_newest_first() {
    for outbox in outboxes::migrated().await {
        let store = outbox.database.store();
        let first = Poller::begin(&*store, "one").await;
        let counts = TermCounts { claimed: 3, delivered: 2, failed: 1 };
        store.end_term(&first.term, TermEnd::Interval, counts).await.unwrap();
        Poller::begin(&*store, "two").await;
        Poller::begin(&*store, "three").await;
        let terms = outbox.database.terms(10).await.unwrap();
        let holders: Vec<_> = terms.iter().map(|term| term.holder.as_str()).collect();
        assert_eq!(holders, ["replica.three", "replica.two", "replica.one"]);
        let ends: Vec<_> = terms.iter().map(|term| term.ended_because.as_deref()).collect();
        assert_eq!(ends, [None, Some("lost"), Some("interval")]);
        assert_eq!((terms[2].claimed, terms[2].delivered, terms[2].failed), (Some(3), Some(2), Some(1)));
        assert_eq!((terms[0].ended_at.as_deref(), terms[0].claimed), (None, None));
        assert!(terms[2].ended_at.as_ref().is_some_and(|ended| *ended >= terms[2].started_at));
        assert_eq!(outbox.database.terms(1).await.unwrap(), terms[..1]);
    }
}

#[tokio::test]
async fn a_message_is_shown_with_its_attempts_and_the_claim_that_names_it() {
    for outbox in outboxes::migrated().await {
        let store = outbox.database.store();
        let first = Poller::begin(&*store, "one").await;
        let id = enqueue(&outbox, &[message("a")]).await[0];
        let (claim, messages) = first.claim().await;

        let record = outbox.database.message(id).await.unwrap().unwrap();
        let named = record.claim.unwrap();
        assert_eq!(named.id, claim.0.to_string());
        assert_eq!((named.epoch, named.holder.as_str()), (first.term.epoch.0, "replica.one"));
        assert_eq!((named.superseded_at, named.settles_at), (None, None));

        Poller::begin(&*store, "two").await;
        let record = outbox.database.message(id).await.unwrap().unwrap();
        let named = record.claim.unwrap();
        assert!(named.superseded_at.unwrap() < named.settles_at.unwrap());
        assert_eq!(outbox.database.vitals().await.unwrap().unsettled_claims, 1);

        first.mark(claim, &messages, &Verdict::Retry { after: Duration::from_mins(1) }).await;
        let record = outbox.database.message(id).await.unwrap().unwrap();
        assert_eq!((&record.claim, record.attempts, record.revision), (&None, 1, 1));
        assert_eq!(record.last_error.as_deref(), Some("the receiver is a teapot"));
        let [attempt] = &record.attempt_log[..] else { panic!("{:?}", record.attempt_log) };
        assert_eq!((attempt.number, attempt.status_code, attempt.duration_ms), (1, Some(418), Some(7)));
        assert_eq!(attempt.excerpt.as_deref(), Some("short and stout"));
        assert!(attempt.started_at.is_some() && attempt.claimed_at.is_some());
        assert!(serde_json::to_string(&record).unwrap().contains("\"attempt_log\":[{"));
    }
}

#[tokio::test]
async fn a_time_that_no_calendar_has_is_shown_and_disturbs_no_vitals() {
    let [postgres, mysql, sqlite] = outboxes::migrated().await;
    for (outbox, endless) in [(&postgres, "'infinity'"), (&sqlite, "9223372036854775807")] {
        let id = enqueue(outbox, &[message("a")]).await[0];
        outbox.sql(&format!("UPDATE outbox SET available_at = {endless}, expires_at = {endless}")).await;
        let record = outbox.database.message(id).await.unwrap().unwrap();
        assert_eq!(record.available_at, endless.trim_matches('\''));
        assert_eq!(record.expires_at.as_deref(), Some(endless.trim_matches('\'')));
        let vitals = outbox.database.vitals().await.unwrap();
        assert_eq!((vitals.channels[0].pending, vitals.channels[0].due, vitals.channels[0].lag_ms), (1, 0, None));
    }
    enqueue(&postgres, &[message("b")]).await;
    postgres.sql("UPDATE outbox SET available_at = '-infinity'").await;
    let vitals = postgres.database.vitals().await.unwrap();
    assert_eq!(vitals.channels[0].due, 2);
    assert!(vitals.channels[0].lag_ms.is_some_and(|lag| (0..60_000).contains(&lag)));
    postgres.sql("UPDATE outbox SET created_at = 'infinity', available_at = 'infinity'").await;
    postgres.database.vitals().await.unwrap();
    postgres.sql("INSERT INTO outbox_destination (destination, paused_until) VALUES ('http', 'infinity')").await;
    let paused = postgres.database.vitals().await.unwrap().paused.remove(0);
    assert_eq!((paused.paused_until.as_str(), paused.remaining_ms), ("infinity", None));

    let id = enqueue(&mysql, &[message("a")]).await[0];
    mysql.sql("UPDATE outbox SET available_at = '9999-12-31 23:59:59.999999'").await;
    let record = mysql.database.message(id).await.unwrap().unwrap();
    assert_eq!(record.available_at, "9999-12-31T23:59:59.999999Z");
}

#[tokio::test]
async fn times_are_rfc_3339_in_utc() {
    for outbox in outboxes::migrated().await {
        let id = enqueue(&outbox, &[message("a")]).await[0];
        let record = outbox.database.message(id).await.unwrap().unwrap();
        let time = &record.created_at;
        assert!(time.ends_with('Z') || time.ends_with("+00:00"), "{time}");
        assert_eq!((&time[4..5], &time[10..11], &time[13..14]), ("-", "T", ":"), "{time}");
    }
}

#[tokio::test]
async fn dead_letters_are_found_by_what_is_said_of_them_page_by_page() {
    for outbox in outboxes::migrated().await {
        let store = outbox.database.store();
        let poller = Poller::begin(&*store, "one").await;
        let elsewhere = NewMessage::http("https://other.example/hook").idempotency_key("d");
        let ids = enqueue(&outbox, &[message("a"), message("b"), message("c"), elsewhere]).await;
        poller.kill_all().await;
        enqueue(&outbox, &[message("alive")]).await;
        outbox.sql("UPDATE outbox SET dead_reason = 'exhausted' WHERE idempotency_key = 'b'").await;

        let found = async |filter: DeadLetterFilter| -> Vec<_> {
            let letters = outbox.database.dead_letters(&filter).await.unwrap();
            letters.iter().map(|letter| MessageId(letter.id)).collect()
        };
        let all = DeadLetterFilter::default();
        assert_eq!(found(all.clone()).await, [ids[3], ids[2], ids[1], ids[0]]);
        let page = DeadLetterFilter { limit: Some(2), ..all.clone() };
        assert_eq!(found(page.clone()).await, [ids[3], ids[2]]);
        assert_eq!(found(DeadLetterFilter { before: Some(ids[2]), ..page }).await, [ids[1], ids[0]]);
        let exhausted = DeadLetterFilter { reason: Some(DeadReason::Exhausted), ..all.clone() };
        assert_eq!(found(exhausted).await, [ids[1]]);
        let there = DeadLetterFilter { destination: Some("https://other.example:443".to_owned()), ..all.clone() };
        assert_eq!(found(there).await, [ids[3]]);
        assert_eq!(found(DeadLetterFilter { channel: Some("fcm".to_owned()), ..all.clone() }).await, []);
        let recent = DeadLetterFilter { channel: Some("http".to_owned()), since: Some(Duration::from_hours(1)), ..all };
        assert_eq!(found(recent.clone()).await.len(), 4);
        let long_ago = match outbox.dialect() {
            Dialect::Postgres | Dialect::MySql => "'1999-12-31'",
            Dialect::Sqlite => "946598400000",
        };
        outbox.sql(&format!("UPDATE outbox SET finished_at = {long_ago} WHERE idempotency_key <> 'a'")).await;
        assert_eq!(found(recent).await, [ids[0]]);

        let letter = outbox.database.dead_letters(&DeadLetterFilter::default()).await.unwrap().pop().unwrap();
        assert_eq!((letter.idempotency_key.as_str(), letter.attempts, letter.last_status_code), ("a", 1, Some(418)));
        assert_eq!(letter.dead_reason.as_deref(), Some("permanent"));
    }
}

#[tokio::test]
async fn a_redriven_message_begins_a_new_life_and_the_audit_says_who_and_why() {
    for outbox in outboxes::migrated().await {
        let store = outbox.database.store();
        let poller = Poller::begin(&*store, "one").await;
        let expiring = message("b").expires_in(Duration::from_hours(1));
        let ids = enqueue(&outbox, &[message("a"), expiring, message("c")]).await;
        poller.kill_all().await;
        // Long ago on each database.
        outbox.sql("UPDATE outbox SET expires_at = first_attempt_at WHERE idempotency_key = 'b'").await;

        let asked = [ids[1], ids[0], MessageId(4_711)];
        let redriven =
            outbox.database.redrive(&Selection::Ids(asked.to_vec()), "ada", "the hook is back").await.unwrap();
        assert_eq!((redriven.redriven, redriven.skipped), (vec![ids[1], ids[0]], vec![MessageId(4_711)]));

        let record = outbox.database.message(ids[1]).await.unwrap().unwrap();
        assert_eq!((record.status.as_str(), record.revision, record.attempts), ("PENDING", 2, 0));
        assert_eq!((record.dead_reason, record.finished_at, record.first_attempt_at), (None, None, None));
        assert_eq!((record.expires_at, record.idempotency_key.as_str()), (None, "b"));
        assert_eq!(record.attempt_log.len(), 1, "what happened stays on record");

        let audit =
            "SELECT count(*) FROM outbox_audit WHERE who = 'ada' AND why = 'the hook is back' AND action = 'redrive'";
        assert_eq!(outbox.number(audit).await, 2);
        let details = format!(
            "SELECT {} FROM outbox_audit WHERE message_id = {}",
            match outbox.dialect() {
                Dialect::Postgres => "details::text",
                Dialect::MySql => "CAST(details AS CHAR)",
                Dialect::Sqlite => "details",
            },
            ids[1].0
        );
        let details: serde_json::Value = serde_json::from_str(&outbox.text(&details).await).unwrap();
        assert_eq!((&details["dead_reason"], &details["attempts"]), (&"permanent".into(), &1.into()));
        assert!(details["expires_at_cleared"].as_str().is_some_and(|time| time.contains('T')), "{details}");

        let (_, claimed) = poller.claim().await;
        assert_eq!(claimed.len(), 2, "they are due");
        let again = outbox.database.redrive(&Selection::Ids(asked.to_vec()), "ada", "again").await.unwrap();
        assert_eq!((again.redriven.len(), again.skipped.len()), (0, 3), "they are dead no more");
    }
}

#[tokio::test]
async fn an_expiry_that_is_yet_to_come_survives_a_redrive() {
    for outbox in outboxes::migrated().await {
        let store = outbox.database.store();
        let poller = Poller::begin(&*store, "one").await;
        let id = enqueue(&outbox, &[message("a").expires_in(Duration::from_hours(1))]).await[0];
        poller.kill_all().await;
        outbox.database.redrive(&Selection::Ids(vec![id, id]), "ada", "").await.unwrap();
        let record = outbox.database.message(id).await.unwrap().unwrap();
        assert!(record.expires_at.is_some());
        assert_eq!((record.revision, outbox.number("SELECT count(*) FROM outbox_audit").await), (2, 1));
    }
}

#[tokio::test]
async fn a_dead_letter_that_a_claim_still_names_is_not_redriven() {
    for outbox in outboxes::migrated().await {
        let store = outbox.database.store();
        let poller = Poller::begin(&*store, "one").await;
        let id = enqueue(&outbox, &[message("a")]).await[0];
        poller.claim().await;
        // By a hand that raised no revision.
        outbox.sql("UPDATE outbox SET status = 'DEAD', dead_reason = 'cancelled'").await;
        let redriven = outbox.database.redrive(&Selection::Ids(vec![id]), "ada", "").await.unwrap();
        assert_eq!((redriven.redriven, redriven.skipped), (vec![], vec![id]));
    }
}

#[tokio::test]
async fn a_filter_redrives_all_that_it_finds_in_batches_and_nothing_else() {
    for outbox in outboxes::migrated().await {
        let many: Vec<_> = (0..2_500).map(|number| message(&format!("{number}"))).collect();
        outbox.enqueue(&many).await;
        outbox.sql("UPDATE outbox SET status = 'DEAD', dead_reason = 'exhausted', revision = revision + 1").await;
        outbox.sql("UPDATE outbox SET dead_reason = 'permanent' WHERE idempotency_key = '1234'").await;
        let filter = DeadLetterFilter { reason: Some(DeadReason::Exhausted), ..DeadLetterFilter::default() };
        let few = Selection::Filter(DeadLetterFilter { limit: Some(3), ..filter.clone() });
        assert_eq!(outbox.database.redrive(&few, "ada", "try").await.unwrap().redriven.len(), 3);
        let redriven = outbox.database.redrive(&Selection::Filter(filter), "ada", "all").await.unwrap();
        assert_eq!((redriven.redriven.len(), redriven.skipped.len()), (2_496, 0));
        assert_eq!(outbox.number("SELECT count(*) FROM outbox WHERE status = 'PENDING'").await, 2_499);
        assert_eq!(outbox.number("SELECT count(*) FROM outbox_audit").await, 2_499);
        let left = outbox.database.dead_letters(&DeadLetterFilter::default()).await.unwrap();
        assert_eq!((left.len(), left[0].idempotency_key.as_str()), (1, "1234"));
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
    let redriving = tokio::spawn(async move { desk.redrive(&Selection::Ids(vec![id]), "ada", "").await });
    // The shared server has other tests' locks too: theirs are of other databases.
    let waits = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
    while outbox.number(waits).await == 0 {
        tokio::task::yield_now().await;
    }
    assert_eq!(outbox.number("SELECT count(*) FROM outbox WHERE status = 'DEAD'").await, 1);
    claiming.commit().await.unwrap();
    assert_eq!(redriving.await.unwrap().unwrap().redriven, [id]);
}

#[tokio::test]
async fn a_redriven_message_survives_the_settling_of_an_older_claim() {
    for outbox in outboxes::migrated().await {
        let store = outbox.database.store();
        let first = Poller::begin(&*store, "one").await;
        let id = enqueue(&outbox, &[message("a")]).await[0];
        let (claim, messages) = first.claim().await;
        let second = Poller::begin(&*store, "two").await;
        let dead = Verdict::Dead { reason: DeadReason::Permanent, attempted: true, invalid_target: false };
        first.mark(claim, &messages, &dead).await;
        outbox.database.redrive(&Selection::Ids(vec![id]), "ada", "").await.unwrap();
        second.settle().await;
        let record = outbox.database.message(id).await.unwrap().unwrap();
        assert_eq!((record.status.as_str(), record.revision, record.attempts), ("PENDING", 2, 0));
    }
}

#[tokio::test]
async fn settings_that_can_lose_a_commit_are_named_with_their_remedy() {
    let [postgres, mysql, sqlite] = outboxes::migrated().await;
    // The test server runs without fsync: a killed process loses nothing by that.
    let warnings = postgres.database.durability().await.unwrap();
    assert!(warnings.iter().any(|warning| warning.contains("fsync = off")), "{warnings:?}");
    assert!(!warnings.iter().any(|warning| warning.contains("synchronous_commit")), "{warnings:?}");
    assert!(!mysql.database.durability().await.unwrap().iter().any(|warning| warning.contains("sync_binlog")));
    assert_eq!(sqlite.database.durability().await.unwrap(), Vec::<String>::new());
}
