//! What people ask of an outbox, on each database.

use std::sync::Arc;
use std::time::Duration;

use outbox_desk::{DeadLetterFilter, Desk, Selection, TermFilter};
use outbox_schema::{MessageId, NewMessage};
use outbox_store::store::TermCounts;
use outbox_store::{ConnectOptions, Database, TermEnd, Verdict};
use outbox_tests::proxy::{Passage, Proxy};

use crate::outboxes::{self, Outbox};
use crate::poller::Poller;
use crate::program::PATIENCE;

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
    for outbox in outboxes::each().await {
        let poller = Poller::begin(&outbox.database, "one").await;
        enqueue(&outbox, &[message("delivered")]).await;
        let (claim, messages) = poller.claim().await;
        poller.mark(claim, &messages, &Verdict::Success { receipt: None }).await;
        enqueue(&outbox, &[message("dead")]).await;
        poller.kill_all().await;
        let later = message("later").delay(Duration::from_hours(1));
        let other = NewMessage::new("nobody-s", "x", "{}").idempotency_key("other");
        enqueue(&outbox, &[message("due"), message("ordered").ordering_key("o"), later, other]).await;

        let vitals = outbox.database.vitals(&[]).await.unwrap();
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
    for outbox in outboxes::each().await {
        let poller = Poller::begin(&outbox.database, "one").await;
        enqueue(&outbox, &[message("a")]).await;
        let (claim, messages) = poller.claim().await;
        let pause = Verdict::Deferred { after: Duration::from_hours(1) };
        poller.mark(claim, &messages, &pause).await;

        let vitals = outbox.database.vitals(&[]).await.unwrap();
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
    for outbox in outboxes::each().await {
        let desk: Arc<dyn Desk> = Arc::new(outbox.database.clone());
        let vitals = desk.vitals(&[]).await.unwrap();
        assert_eq!((vitals.channels.len(), vitals.terms.len(), vitals.unsettled_claims), (0, 0, 0));
        assert_eq!(desk.terms(10).await.unwrap(), []);
        assert_eq!(desk.message(MessageId(1)).await.unwrap(), None);
        assert_eq!(desk.message_by_key("nobody's").await.unwrap(), None);
        assert_eq!(desk.dead_letters(&DeadLetterFilter::default(), &[], None, 9).await.unwrap().letters, []);
        assert_eq!(desk.dead_groups(&Selection::Filter(DeadLetterFilter::default())).await.unwrap(), []);
    }
}

#[tokio::test]
async fn terms_are_listed_with_how_they_ended_the_newest_first() {
    for outbox in outboxes::each().await {
        let store = outbox.database.store();
        let first = Poller::begin(&outbox.database, "one").await;
        let counts = TermCounts { claimed: 3, delivered: 2, failed: 1, in_doubt: 1 };
        store.end_term(&first.term, TermEnd::Interval, counts).await.unwrap();
        Poller::begin(&outbox.database, "two").await;
        Poller::begin(&outbox.database, "three").await;
        let terms = outbox.database.terms(10).await.unwrap();
        let holders: Vec<_> = terms.iter().map(|term| term.holder.as_str()).collect();
        assert_eq!(holders, ["replica.three", "replica.two", "replica.one"]);
        let ends: Vec<_> = terms.iter().map(|term| term.ended_because.as_deref()).collect();
        assert_eq!(ends, [None, Some("lost"), Some("interval")]);
        assert_eq!((terms[2].claimed, terms[2].delivered, terms[2].failed), (Some(3), Some(2), Some(1)));
        assert_eq!((terms[2].in_doubt, terms[1].in_doubt), (Some(1), Some(0)));
        assert_eq!((terms[0].ended_at.as_deref(), terms[0].claimed), (None, None));
        assert!(terms[2].ended_at.as_ref().is_some_and(|ended| *ended >= terms[2].started_at));
        assert_eq!(outbox.database.terms(1).await.unwrap(), terms[..1]);
        for (older, newer) in [(1, 0), (2, 1)] {
            assert_eq!(terms[older].next_started_at.as_ref(), Some(&terms[newer].started_at));
        }
        assert_eq!((terms[0].next_started_at.as_ref(), terms[0].gap(None)), (None, None));
        assert!(
            terms[2].gap(None).is_some_and(|gap| gap.is_exact && gap.ms < 60_000) && terms[2].lasted(None).is_some()
        );
        assert!(terms[1].gap(None).is_some_and(|gap| !gap.is_exact), "nobody noted its end");
        // From page to page, and one by its epoch.
        let all = TermFilter::default();
        let page =
            async |filter, after, limit| outbox_desk::term_page(&outbox.database, filter, after, limit).await.unwrap();
        let (mut after, mut seen) = (None, Vec::new());
        loop {
            let found = page(all, after, 1).await;
            seen.extend(found.terms);
            after = found.next;
            if after.is_none() {
                break;
            }
        }
        assert_eq!(seen, terms);
        assert_eq!(page(TermFilter { epoch: Some(terms[1].epoch) }, None, 10).await.terms, terms[1..2]);
        assert_eq!(page(TermFilter { epoch: Some(4711) }, None, 10).await.terms, []);
    }
}

#[tokio::test]
async fn a_message_is_shown_with_its_attempts_and_the_claim_that_names_it() {
    for outbox in outboxes::each().await {
        let first = Poller::begin(&outbox.database, "one").await;
        let id = enqueue(&outbox, &[message("a")]).await[0];
        let (claim, messages) = first.claim().await;

        let record = outbox.database.message(id).await.unwrap().unwrap();
        let named = record.claim.unwrap();
        assert_eq!(named.id, claim.0.to_string());
        assert_eq!((named.epoch, named.holder.as_str()), (first.term.epoch.0, "replica.one"));
        assert_eq!((named.superseded_at, named.settles_at), (None, None));

        Poller::begin(&outbox.database, "two").await;
        let record = outbox.database.message(id).await.unwrap().unwrap();
        let named = record.claim.unwrap();
        assert!(named.superseded_at.unwrap() < named.settles_at.unwrap());
        assert_eq!(outbox.database.vitals(&[]).await.unwrap().unsettled_claims, 1);

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
        let vitals = outbox.database.vitals(&[]).await.unwrap();
        assert_eq!((vitals.channels[0].pending, vitals.channels[0].due, vitals.channels[0].lag_ms), (1, 0, None));
    }
    enqueue(&postgres, &[message("b")]).await;
    postgres.sql("UPDATE outbox SET available_at = '-infinity'").await;
    let vitals = postgres.database.vitals(&[]).await.unwrap();
    assert_eq!(vitals.channels[0].due, 2);
    assert!(vitals.channels[0].lag_ms.is_some_and(|lag| (0..60_000).contains(&lag)));
    postgres.sql("UPDATE outbox SET created_at = 'infinity', available_at = 'infinity'").await;
    postgres.database.vitals(&[]).await.unwrap();
    postgres.sql("INSERT INTO outbox_destination (destination, paused_until) VALUES ('http', 'infinity')").await;
    let paused = postgres.database.vitals(&[]).await.unwrap().paused.remove(0);
    assert_eq!((paused.paused_until.as_str(), paused.remaining_ms), ("infinity", None));

    let id = enqueue(&mysql, &[message("a")]).await[0];
    mysql.sql("UPDATE outbox SET available_at = '9999-12-31 23:59:59.999999'").await;
    let record = mysql.database.message(id).await.unwrap().unwrap();
    assert_eq!(record.available_at, "9999-12-31T23:59:59.999999Z");
}

#[tokio::test]
async fn times_are_rfc_3339_in_utc() {
    for outbox in outboxes::each().await {
        let id = enqueue(&outbox, &[message("a")]).await[0];
        let record = outbox.database.message(id).await.unwrap().unwrap();
        let time = &record.created_at;
        assert!(time.ends_with('Z') || time.ends_with("+00:00"), "{time}");
        assert_eq!((&time[4..5], &time[10..11], &time[13..14]), ("-", "T", ":"), "{time}");
    }
}

#[tokio::test]
async fn settings_that_can_lose_a_commit_are_named_with_their_remedy() {
    let [postgres, mysql, sqlite] = outboxes::migrated().await;
    // The test server runs without fsync: a killed process loses nothing by that.
    let warnings = outbox_desk::durability(&postgres.database).await.unwrap();
    assert!(warnings.iter().any(|warning| warning.contains("fsync = off")), "{warnings:?}");
    assert!(!warnings.iter().any(|warning| warning.contains("synchronous_commit")), "{warnings:?}");
    assert!(
        !outbox_desk::durability(&mysql.database).await.unwrap().iter().any(|warning| warning.contains("sync_binlog"))
    );
    assert_eq!(outbox_desk::durability(&sqlite.database).await.unwrap(), Vec::<String>::new());
}

/// A transaction that stays open swallows what is written there next, and a place that is lost to the pool keeps the next
/// caller waiting in vain. Each look is the first of its connection, so it may be given up while it prepares its statement.
#[tokio::test]
async fn a_look_that_is_given_up_at_any_moment_leaves_no_transaction_open_and_costs_no_connection() {
    let [postgres, mysql, _] = outboxes::migrated().await;
    for outbox in [postgres, mysql] {
        let proxy = Proxy::to(url::Url::parse(&outbox.test.url).unwrap().port().unwrap());
        let url = proxy.before(&outbox.test.url);
        for moment in 0..60 {
            proxy.set(Passage::Open);
            let pool = Outbox { database: alone(&url).await, test: outbox.test.clone() };
            proxy.set(Passage::Trickle);
            let _ = tokio::time::timeout(Duration::from_millis(moment), pool.database.terms(1)).await;
            proxy.set(Passage::Open);
            pool.sql(&format!("UPDATE outbox_meta SET environment = 'e{moment}'")).await;
            assert_eq!(outbox.text("SELECT environment FROM outbox_meta").await, format!("e{moment}"));
            let closed = tokio::time::timeout(PATIENCE, pool.database.close()).await;
            assert!(closed.is_ok(), "a connection never came back to its pool");
        }
    }
}

/// A pool of one connection.
async fn alone(url: &str) -> Database {
    Database::connect(&ConnectOptions { url, schema: None, connections: 1 }).await.unwrap()
}
