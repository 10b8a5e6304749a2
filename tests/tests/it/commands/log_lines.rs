//! What a log holds: a line for each attempt that was not a plain success, and nothing that is none of its reader's business.

use std::time::Duration;

use outbox_schema::NewMessage;
use outbox_store::Dialect;
use outbox_tests::receiver::{Manner, Receiver};
use serde_json::{Value, json};

use crate::outboxes::{self, Outbox};
use crate::program::Program;
use crate::sink::Sink;

/// In the body, in a header and in the query of each message.
const BODY: &str = "m4rked-body";
const HEADER: &str = "m4rked-header";
const QUERY: &str = "m4rked-query";

const BEARER: &str = "s3cret-bearer";
const PASSWORD: &str = "s3cret-password";

/// In each body of the sink.
const ANSWERED: &str = "[31m";

/// Two channels, of which one does not wait long for an answer.
fn settings() -> String {
    let channel = |name: &str, more: &str| {
        format!(
            "[channels.{name}]\nkind = \"http\"\nallow_networks = [\"127.0.0.0/8\"]\n{more}\n\
             auth = {{ bearer = \"{BEARER}\" }}\nauth_to = \"any\"\n"
        )
    };
    let channels = channel("http", "base = \"1ms\"") + &channel("hasty", "timeout = \"1s\"");
    format!("[telemetry]\nlog_level = \"debug\"\nlog_format = \"json\"\n{channels}")
}

/// The URL of an outbox with a password in it. SQLite has none.
async fn with_password(outbox: &Outbox) -> String {
    let url = &outbox.test.url;
    match outbox.dialect() {
        // It lets everybody in, whatever they say.
        Dialect::Postgres => url.replace("postgres@", &format!("postgres:{PASSWORD}@")),
        Dialect::MySql => {
            let database = &outbox.test.name;
            let user = format!("told_{}", &database[database.len() - 12..]);
            let create = format!("CREATE USER '{user}'@'%' IDENTIFIED BY '{PASSWORD}'");
            outbox.sql(&format!("{create}; GRANT ALL ON {database}.* TO '{user}'@'%'")).await;
            url.replace("outbox@", &format!("{user}:{PASSWORD}@"))
        }
        Dialect::Sqlite => url.clone(),
    }
}

fn message(sink: &Sink, channel: &str, path: &str) -> NewMessage {
    let url = sink.url(&format!("{path}?token={QUERY}"));
    NewMessage::http(url).channel(channel).json(&json!({ "text": BODY })).header("X-Text", HEADER)
}

/// Of each line about an attempt the message, its channel, which attempt it was and what came of it; in this order.
fn attempts(log: &[Value]) -> Vec<Value> {
    let lines = log.iter().filter(|line| line["message"] == "attempt");
    let mut attempts: Vec<_> =
        lines.map(|line| json!([line["message_id"], line["channel"], line["attempt"], line["outcome"]])).collect();
    attempts.sort_by_key(|attempt| (attempt[0].as_i64(), attempt[2].as_i64()));
    attempts
}

/// The log of a replica that meets a mass failure and one failure of another kind.
#[tokio::test]
async fn messages_that_are_refused_alike_are_counted_and_another_error_is_written() {
    const REFUSED: i64 = 2_000;
    let outbox = Outbox::open(outbox_tests::servers::sqlite()).await;
    outbox.database.migrate("default").await.unwrap();
    let receiver = Receiver::start(Duration::ZERO);
    receiver.behave("/gone-wrong", Manner::Answer(vec![404]));
    receiver.behave("/other", Manner::Answer(vec![422]));
    let url = receiver.url();
    let refused = NewMessage::http(format!("{url}/gone-wrong"));
    outbox.enqueue(&vec![refused; usize::try_from(REFUSED).unwrap()]).await;
    outbox.enqueue(&[NewMessage::http(format!("{url}/other"))]).await;
    let settings =
        "[telemetry]\nlog_format = \"json\"\n[channels.http]\nkind = \"http\"\nallow_networks = [\"127.0.0.0/8\"]\n";
    let log = Program::new(&outbox.test.url, settings).deliver().await;
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(outbox.number("SELECT count(*) FROM outbox WHERE status = 'DEAD'").await, REFUSED + 1);

    let of = |status: u16| {
        let attempts = lines.iter().filter(|line| line["message"] == "attempt");
        attempts.filter(|line| line["status_code"] == status).count()
    };
    assert_eq!((of(404), of(422)), (3, 1), "{log}");
    let counted: i64 = lines.iter().filter_map(|line| line["count"].as_i64()).sum();
    assert_eq!(counted, REFUSED - 3, "{log}");
    let told = lines.iter().find(|line| line["count"].is_i64()).unwrap();
    assert_eq!((&told["event"], &told["channel"]), (&"attempt".into(), &"http".into()));
    assert!(told["error"].as_str().unwrap().contains("it will not take this message"), "{told}");
    assert!(lines.len() < 40, "{} lines", lines.len());
}

#[tokio::test]
async fn each_attempt_but_a_plain_success_has_a_line_and_no_line_has_a_body_a_header_a_query_or_a_secret() {
    for outbox in outboxes::each().await {
        let sink = Sink::start().await;
        let messages = [
            message(&sink, "http", "/"),
            message(&sink, "http", "/busy").max_attempts(2),
            message(&sink, "http", "/garbage"),
            message(&sink, "hasty", "/hangs-once").max_attempts(1),
        ];
        outbox.enqueue(&messages).await;
        let program = Program::new(&with_password(&outbox).await, &settings());
        let mut log = String::new();
        // What is tried again may not be due yet when a run ends.
        while outbox.number("SELECT count(*) FROM outbox WHERE status = 'PENDING'").await > 0 {
            log += &program.deliver().await;
        }

        let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let first = outbox.number("SELECT min(id) FROM outbox").await;
        let expected = [
            json!([first + 1, "http", 1, "retry"]),
            json!([first + 1, "http", 2, "retry"]),
            json!([first + 2, "http", 1, "dead"]),
            json!([first + 3, "hasty", 1, "in_doubt"]),
        ];
        assert_eq!(attempts(&lines), expected, "{:?}", outbox.dialect());

        let requests = sink.requests();
        assert_eq!(requests.len(), 1 + expected.len());
        for request in requests {
            assert_eq!(request.headers["authorization"], format!("Bearer {BEARER}"));
            assert_eq!(request.headers["x-text"], HEADER);
            assert!(request.to_json()["body"].as_str().unwrap().contains(BODY));
        }
        assert!(lines.iter().any(|line| line["level"] == "DEBUG"));
        for hidden in [BODY, HEADER, QUERY, BEARER, PASSWORD, ANSWERED] {
            let shown: Vec<_> = log.lines().filter(|line| line.contains(hidden)).collect();
            assert!(shown.is_empty(), "{:?}, {hidden}: {shown:?}", outbox.dialect());
        }
    }
}
