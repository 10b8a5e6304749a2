//! Enqueuing in the application's transaction, on each database.

use std::collections::HashSet;
use std::time::{Duration, SystemTime};

use outbox_schema::{EnqueueError, Enqueued, FcmTarget, NewMessage, TraceContext};
use serde_json::json;
use sqlx::{Connection, MySqlConnection, PgConnection};

use crate::outboxes::{self, Step};

fn message(key: &str) -> NewMessage {
    NewMessage::http("https://shop.example/hook").json(&json!({ "key": key })).idempotency_key(key)
}

fn id(enqueued: &Enqueued) -> i64 {
    match enqueued {
        Enqueued::Inserted { id, .. } | Enqueued::Duplicate { id: Some(id), .. } => id.0,
        Enqueued::Duplicate { id: None, .. } => panic!("a duplicate of nothing"),
    }
}

#[tokio::test]
async fn a_message_is_there_once_its_transaction_is_committed_and_not_if_it_is_rolled_back() {
    for outbox in outboxes::each().await {
        outbox.sql("CREATE TABLE orders (id integer PRIMARY KEY)").await;
        let order = Step::Sql("INSERT INTO orders VALUES (1)");
        outbox.transaction(&[order, Step::Enqueue(&[message("undone")])], false).await;
        assert_eq!(outbox.number("SELECT count(*) FROM outbox").await, 0);
        assert_eq!(outbox.number("SELECT count(*) FROM orders").await, 0);

        let order = Step::Sql("INSERT INTO orders VALUES (1)");
        let answers = outbox.transaction(&[order, Step::Enqueue(&[message("done")])], true).await;
        assert!(answers[0].as_ref().unwrap()[0].is_inserted());
        assert_eq!(outbox.text("SELECT idempotency_key FROM outbox").await, "done");
        assert_eq!(outbox.number("SELECT count(*) FROM orders").await, 1);
    }
}

#[tokio::test]
async fn a_duplicate_leaves_the_transaction_usable_and_the_rest_is_committed() {
    for outbox in outboxes::each().await {
        let first = outbox.enqueue(&[message("a")]).await;
        outbox.sql("CREATE TABLE orders (id integer PRIMARY KEY)").await;
        let steps = [
            Step::Sql("INSERT INTO orders VALUES (1)"),
            Step::Enqueue(&[message("a")]),
            Step::Sql("INSERT INTO orders VALUES (2)"),
            Step::Enqueue(&[message("b")]),
        ];
        let answers = outbox.transaction(&steps, true).await;
        let again = &answers[0].as_ref().unwrap()[0];
        assert!(!again.is_inserted());
        assert_eq!((id(again), again.key()), (id(&first[0]), "a"));
        assert!(answers[1].as_ref().unwrap()[0].is_inserted());
        assert_eq!(outbox.number("SELECT count(*) FROM orders").await, 2);
        assert_eq!(outbox.number("SELECT count(*) FROM outbox").await, 2);
    }
}

#[tokio::test]
async fn of_many_messages_some_are_duplicates_and_the_others_are_inserted_in_order() {
    for outbox in outboxes::each().await {
        let first = outbox.enqueue(&[message("b")]).await;
        let many = ["a", "b", "c", "a", "d"].map(message);
        let answers = outbox.enqueue(&many).await;
        let inserted: Vec<_> = answers.iter().map(Enqueued::is_inserted).collect();
        assert_eq!(inserted, [true, false, true, false, true]);
        assert_eq!(id(&answers[1]), id(&first[0]));
        assert_eq!(id(&answers[3]), id(&answers[0]), "the first of two with the same key counts");
        assert!(id(&answers[0]) < id(&answers[2]) && id(&answers[2]) < id(&answers[4]));
        for answer in &answers {
            let key = outbox.text(&format!("SELECT idempotency_key FROM outbox WHERE id = {}", id(answer))).await;
            assert_eq!(key, answer.key());
        }
    }
}

#[tokio::test]
async fn thousands_of_messages_take_several_statements_and_keep_their_order() {
    for outbox in outboxes::each().await {
        let many: Vec<_> = (0..2_500).map(|number| message(&format!("{number}"))).collect();
        let answers = outbox.enqueue(&many).await;
        assert!(answers.iter().all(Enqueued::is_inserted));
        let keys: Vec<_> = answers.iter().map(|answer| answer.key().parse::<i32>().unwrap()).collect();
        assert_eq!(keys, (0..2_500).collect::<Vec<_>>());
        assert!(answers.is_sorted_by_key(id));
        assert_eq!(outbox.number("SELECT count(*) FROM outbox").await, 2_500);
    }
}

#[tokio::test]
async fn a_message_without_a_key_gets_a_new_one_and_its_application_learns_it() {
    for outbox in outboxes::each().await {
        let anonymous = NewMessage::fcm(FcmTarget::Topic("news".to_owned())).notification("Hello", "World");
        let answers = outbox.enqueue(&[anonymous.clone(), anonymous]).await;
        assert!(answers.iter().all(Enqueued::is_inserted));
        let keys: HashSet<_> = answers.iter().map(Enqueued::key).collect();
        assert_eq!(keys.len(), 2);
        assert!(keys.iter().all(|key| key.len() == 36 && key.as_bytes()[14] == b'7'), "{keys:?}");
        assert_eq!(outbox.text("SELECT target FROM outbox ORDER BY id LIMIT 1").await, "topic:news");
    }
}

#[tokio::test]
async fn the_key_that_the_database_gives_a_message_tells_the_time_of_that_message() {
    let now = || SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_millis();
    for outbox in outboxes::each().await {
        let began = now();
        // An open table may keep what it once computed, and another session another thing.
        while now() < began + 1_500 {
            let from = now();
            outbox.sql("INSERT INTO outbox (channel, target, payload) VALUES ('http', '/', '{}')").await;
            let key = outbox.text("SELECT idempotency_key FROM outbox ORDER BY id DESC LIMIT 1").await;
            let time = u128::from_str_radix(&key.replace('-', "")[..12], 16).unwrap();
            assert!((from - 5..=now() + 5).contains(&time), "{key}: {time}, and it was {from}");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
}

#[tokio::test]
async fn every_column_arrives_as_it_was_said() {
    for outbox in outboxes::each().await {
        let body =
            json!({ "text": "\"quoted\" \\ and \u{1f980}\n\ttab", "number": 12_345_678_901_234_567_u64, "none": null });
        let whole = NewMessage::new("partner", "/orders?x=1", body.to_string())
            .header("X-Tenant", "a \"b\"")
            .idempotency_key("Ä-\u{1f980}")
            .ordering_key("order-1")
            .priority(3)
            .max_attempts(4)
            .delay(Duration::from_hours(1))
            .expires_at(SystemTime::UNIX_EPOCH + Duration::from_hours(1_139_568))
            .trace_context(TraceContext {
                traceparent: "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01".to_owned(),
                tracestate: Some("a=1".to_owned()),
            });
        let enqueued = outbox.enqueue(&[whole]).await.remove(0);
        let record = record(&outbox, id(&enqueued)).await;
        assert_eq!(serde_json::from_str::<serde_json::Value>(&record.payload.unwrap()).unwrap(), body);
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(&record.headers.unwrap()).unwrap(),
            json!({ "X-Tenant": "a \"b\"" })
        );
        assert_eq!((record.channel.as_str(), record.target.as_str()), ("partner", "/orders?x=1"));
        assert_eq!(record.idempotency_key, "Ä-\u{1f980}");
        assert_eq!(record.ordering_key.as_deref(), Some("order-1"));
        assert_eq!((record.priority, record.max_attempts, record.attempts), (3, Some(4), 0));
        assert_eq!((record.status.as_str(), record.revision), ("PENDING", 0));
        assert!(record.expires_at.unwrap().starts_with("2100-01-01T00:00:00"));
        assert_eq!(record.traceparent.as_deref(), Some("00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01"));
        assert_eq!(record.tracestate.as_deref(), Some("a=1"));
        // An hour apart, by the database's clock.
        let hour = |text: &str| text[11..13].parse::<i32>().unwrap();
        assert_eq!((hour(&record.created_at) + 1) % 24, hour(&record.available_at));
        assert_eq!(record.created_at[14..16], record.available_at[14..16]);
    }
}

#[tokio::test]
async fn what_is_not_said_is_the_databases_default() {
    for outbox in outboxes::each().await {
        let enqueued = outbox.enqueue(&[NewMessage::http("/hook")]).await.remove(0);
        let record = record(&outbox, id(&enqueued)).await;
        assert_eq!((record.payload.as_deref(), record.headers), (Some("null"), None));
        assert_eq!((record.priority, record.max_attempts, record.ordering_key), (0, None, None));
        assert_eq!((record.expires_at, record.traceparent, record.tracestate), (None, None, None));
        assert_eq!(record.created_at[..16], record.available_at[..16]);
    }
}

#[tokio::test]
async fn an_invalid_message_is_refused_before_any_is_inserted_and_the_transaction_goes_on() {
    for outbox in outboxes::each().await {
        let messages = [message("a"), message("b").priority(9)];
        let answers = outbox.transaction(&[Step::Enqueue(&messages), Step::Enqueue(&[message("c")])], true).await;
        let told = answers[0].as_ref().unwrap_err();
        assert!(matches!(told, EnqueueError::Invalid { index: 1, .. }));
        assert_eq!(told.to_string(), "message 2 is not valid: priority: it is 9; 0 to 3 are allowed");
        assert!(answers[1].is_ok());
        assert_eq!(outbox.text("SELECT idempotency_key FROM outbox").await, "c");
    }
}

#[tokio::test]
async fn a_database_without_the_tables_is_told_from_other_errors() {
    for outbox in outboxes::each_empty().await {
        let answers = outbox.transaction(&[Step::Enqueue(&[message("a")])], false).await;
        let told = answers[0].as_ref().unwrap_err();
        assert!(matches!(told, EnqueueError::Missing(_)), "{told}");
        assert!(told.to_string().contains("outbox migrate"));
    }
}

#[tokio::test]
async fn an_error_that_is_no_duplicate_is_not_hidden() {
    for outbox in outboxes::each().await {
        // Something of the application's own that is unique too, and has nothing to do with keys.
        outbox.sql("CREATE UNIQUE INDEX one_per_target ON outbox (channel, priority)").await;
        outbox.enqueue(&[message("a")]).await;
        let answers = outbox.transaction(&[Step::Enqueue(&[message("b")])], false).await;
        assert!(matches!(answers[0], Err(EnqueueError::Database(_))), "{answers:?}");
    }
}

#[tokio::test]
async fn a_duplicate_that_is_not_yet_committed_is_waited_for_on_postgres() {
    let [outbox, _, _] = outboxes::migrated().await;
    let (mut first, mut second) =
        tokio::try_join!(PgConnection::connect(&outbox.test.url), PgConnection::connect(&outbox.test.url)).unwrap();
    let mut first = first.begin().await.unwrap();
    let inserted = outbox_schema::enqueue(&mut *first, &message("a")).await.unwrap();
    let waiting = tokio::spawn(async move {
        let mut second = second.begin().await.unwrap();
        let answer = outbox_schema::enqueue(&mut *second, &message("a")).await;
        second.commit().await.unwrap();
        answer
    });
    let waits = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
    while outbox.number(waits).await == 0 {
        tokio::task::yield_now().await;
    }
    first.commit().await.unwrap();
    let again = waiting.await.unwrap().unwrap();
    assert!(!again.is_inserted());
    assert_eq!(id(&again), id(&inserted));
}

#[tokio::test]
async fn a_duplicate_committed_since_the_snapshot_is_found_on_mariadb() {
    let [_, outbox, _] = outboxes::migrated().await;
    let mut connection = MySqlConnection::connect(&outbox.test.url).await.unwrap();
    let mut repeatable = connection.begin().await.unwrap();
    sqlx::raw_sql("SELECT count(*) FROM outbox").execute(&mut *repeatable).await.unwrap();
    let inserted = outbox.enqueue(&[message("a")]).await;
    let again = outbox_schema::enqueue(&mut *repeatable, &message("a")).await.unwrap();
    repeatable.commit().await.unwrap();
    assert!(!again.is_inserted());
    assert_eq!(id(&again), id(&inserted[0]));
}

async fn record(outbox: &outboxes::Outbox, id: i64) -> outbox_desk::MessageRecord {
    use outbox_desk::Desk;
    use outbox_schema::MessageId;
    outbox.database.message(MessageId(id)).await.unwrap().unwrap()
}
