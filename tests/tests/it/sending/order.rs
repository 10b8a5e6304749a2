//! Order, expiry and age as a receiver sees them, with the real program and on each database. What a store does of this
//! is in its conformance suite.

use outbox_desk::{Author, Pace, Selection};
use outbox_schema::NewMessage;
use outbox_store::Dialect;
use outbox_tests::changes::Unfollowed;

use crate::outboxes::{self, Outbox};
use crate::program::Program;
use crate::sink::Sink;

/// A failed attempt is followed by none before a test says so.
const RETRIES: &str = "base = \"1h\"\nmax = \"1h\"";

fn program(outbox: &Outbox, sink: &Sink, channel: &str) -> Program {
    let base_url = sink.url("");
    Program::new(
        &outbox.test.url,
        &format!(
            "[channels.http]\nkind = \"http\"\nbase_url = \"{base_url}\"\nallow_networks = [\"127.0.0.0/8\"]\n\
             {RETRIES}\n{channel}\n"
        ),
    )
}

fn message(key: &str, path: &str) -> NewMessage {
    NewMessage::http(path).idempotency_key(key)
}

/// The keys of all requests so far, in the order in which they came.
fn sent(sink: &Sink) -> Vec<String> {
    let key = |request: &crate::sink::Request| request.headers["idempotency-key"].to_str().unwrap().replace('"', "");
    sink.requests().iter().map(key).collect()
}

fn long_ago(outbox: &Outbox) -> &'static str {
    match outbox.dialect() {
        Dialect::Postgres | Dialect::MySql => "'2001-01-01'",
        Dialect::Sqlite => "978307200000",
    }
}

/// Sets columns of the message to a moment long ago.
async fn age(outbox: &Outbox, key: &str, columns: &[&str]) {
    let moment = long_ago(outbox);
    let columns: Vec<_> = columns.iter().map(|column| format!("{column} = {moment}")).collect();
    outbox.sql(&format!("UPDATE outbox SET {} WHERE idempotency_key = '{key}'", columns.join(", "))).await;
}

async fn mend(outbox: &Outbox, key: &str) {
    outbox.sql(&format!("UPDATE outbox SET target = '/good' WHERE idempotency_key = '{key}'")).await;
}

/// Status, reason of death and attempts.
async fn state(outbox: &Outbox, key: &str) -> String {
    use outbox_desk::Desk;
    let record = outbox.database.message_by_key(key).await.unwrap().unwrap();
    format!("{} {} {}", record.status, record.dead_reason.as_deref().unwrap_or("-"), record.attempts)
}

async fn redrive_all(outbox: &Outbox) {
    let author = Author { who: "ada".to_owned(), why: String::new() };
    let all = Selection::Filter(outbox_desk::DeadLetterFilter::default());
    outbox.database.redrive(&all, Pace::default(), &author).await.unwrap();
}

#[tokio::test]
async fn a_message_whose_expiry_passes_while_it_waits_for_a_retry_is_sent_no_more() {
    for outbox in outboxes::each().await {
        let sink = Sink::start().await;
        let program = program(&outbox, &sink, "");
        outbox.enqueue(&[message("a", "/busy").expires_in(std::time::Duration::from_hours(1))]).await;
        program.deliver().await;
        assert_eq!(state(&outbox, "a").await, "PENDING - 1");
        age(&outbox, "a", &["expires_at", "available_at"]).await;
        program.deliver().await;
        assert_eq!(state(&outbox, "a").await, "DEAD expired 1");
        assert_eq!(sent(&sink), ["a"]);
    }
}

#[tokio::test]
async fn a_message_whose_expiry_passes_behind_its_ordering_key_is_never_sent() {
    for outbox in outboxes::each().await {
        let sink = Sink::start().await;
        let program = program(&outbox, &sink, "");
        let ordered = |key, path| message(key, path).ordering_key("k");
        outbox.enqueue(&[ordered("head", "/busy"), ordered("late", "/good"), ordered("last", "/good")]).await;
        program.deliver().await;
        age(&outbox, "late", &["expires_at"]).await;
        program.deliver().await;
        assert_eq!((sent(&sink), state(&outbox, "late").await), (vec!["head".to_owned()], "PENDING - 0".to_owned()));
        mend(&outbox, "head").await;
        age(&outbox, "head", &["available_at"]).await;
        program.deliver().await;
        assert_eq!(sent(&sink), ["head", "head", "last"]);
        assert_eq!(state(&outbox, "late").await, "DEAD expired 0");
    }
}

/// Age begins with the first attempt, however long a message waited for that, and anew with a redrive.
#[tokio::test]
async fn a_message_is_retried_until_its_first_attempt_is_max_age_ago() {
    for outbox in outboxes::each().await {
        let sink = Sink::start().await;
        let program = program(&outbox, &sink, "max_age = \"2h\"");
        outbox.enqueue(&[message("a", "/busy")]).await;
        age(&outbox, "a", &["created_at", "available_at"]).await;
        program.deliver().await;
        assert_eq!(state(&outbox, "a").await, "PENDING - 1");
        age(&outbox, "a", &["available_at"]).await;
        program.deliver().await;
        assert_eq!(state(&outbox, "a").await, "PENDING - 2");
        age(&outbox, "a", &["first_attempt_at", "available_at"]).await;
        program.deliver().await;
        assert_eq!(state(&outbox, "a").await, "DEAD exhausted 2", "it is not sent once more");
        redrive_all(&outbox).await;
        program.deliver().await;
        assert_eq!(state(&outbox, "a").await, "PENDING - 1");
        assert_eq!(sent(&sink), ["a"; 3]);
    }
}

/// By the setting of the channel, whatever the database.
#[tokio::test]
async fn a_channel_that_halts_sends_what_is_behind_a_dead_letter_after_its_redrive() {
    for outbox in outboxes::each().await {
        let sink = Sink::start().await;
        let program = program(&outbox, &sink, "on_dead_ordered = \"halt\"");
        let of = |order: &str, key, path| message(key, path).ordering_key(order);
        outbox.enqueue(&[of("1", "1a", "/garbage"), of("1", "1b", "/good"), of("2", "2a", "/good")]).await;
        program.deliver().await;
        assert_eq!(state(&outbox, "1a").await, "DEAD permanent 1");
        assert_eq!(state(&outbox, "1b").await, "PENDING - 0");
        assert_eq!(state(&outbox, "2a").await, "SUCCESS - 1");
        let before = sent(&sink).len();
        mend(&outbox, "1a").await;
        redrive_all(&outbox).await;
        program.deliver().await;
        assert_eq!(sent(&sink)[before..], ["1a", "1b"]);
    }
}

/// So many that a claim looks at a part of them, and they are not all due: none is forgotten, and each keeps its order.
#[tokio::test]
async fn messages_of_very_many_ordering_keys_are_all_delivered_in_the_order_of_each() {
    const KEYS: usize = 1_200;
    for outbox in outboxes::each().await {
        let sink = Sink::start().await;
        let program = program(&outbox, &sink, "");
        let of = |key: usize, turn: &str| message(&format!("{key}-{turn}"), "/good").ordering_key(key.to_string());
        let later = std::time::Duration::from_hours(1);
        let keys: Vec<_> = (0..KEYS).flat_map(|key| [of(key, "a"), of(key, "b")]).collect();
        let waiting: Vec<_> = (KEYS..2 * KEYS).map(|key| of(key, "a").delay(later)).collect();
        outbox.enqueue(&keys).await;
        outbox.enqueue(&waiting).await;
        program.deliver().await;
        let sent = sent(&sink);
        assert_eq!(sent.len(), 2 * KEYS);
        let place = |key: String| sent.iter().position(|one| *one == key);
        assert!((0..KEYS).all(|key| {
            let places = (place(format!("{key}-a")), place(format!("{key}-b")));
            places.0.is_some() && places.0 < places.1
        }));
    }
}
