//! Messages sent as events, judged by a package with which receivers read them.

use std::time::{Duration, SystemTime};

use outbox_schema::NewMessage;
use outbox_tests::python::judged_by;
use serde_json::{Value, json};

use crate::outboxes;
use crate::program::Program;
use crate::sink::{Request, Sink};

#[tokio::test]
async fn a_receiver_reads_messages_as_events_with_the_attributes_of_row_and_channel() {
    events_are_read("binary").await;
}

#[tokio::test]
async fn a_receiver_reads_the_same_events_where_all_of_them_is_in_the_body() {
    for request in events_are_read("structured").await {
        assert_eq!(request.headers["content-type"], "application/cloudevents+json; charset=utf-8");
        assert!(!request.headers.keys().any(|name| name.as_str().starts_with("ce-")), "{:?}", request.headers);
    }
}

/// Has events sent in this mode from each database, and gives the last requests.
async fn events_are_read(mode: &str) -> Vec<Request> {
    let mut sent = Vec::new();
    for outbox in outboxes::each().await {
        let sink = Sink::start().await;
        let data = json!({ "order": 4711, "by": "Zoë" });
        let message = |key: &str| NewMessage::http(sink.url("/hook")).json(&data).idempotency_key(key);
        outbox
            .enqueue(&[
                message("order.4711/placed"),
                message("order-4712")
                    .header("ce-type", "com.example.order.changed")
                    .header("ce-subject", "100% Zoë \u{1F600}")
                    .header("ce-time", "2026-01-01T00:00:00+09:00"),
            ])
            .await;
        let settings = format!(
            "[channels.http]\nkind = \"http\"\nallow_networks = [\"127.0.0.0/8\"]\ncloudevents = \"{mode}\"\n\
             headers = {{ ce-source = \"https://shop.example/orders\", ce-type = \"com.example.order\", ce-team = \"Kiosk Süd\" }}"
        );
        Program::new(&outbox.test.url, &settings).deliver().await;

        sent = sink.requests();
        sent.sort_by_key(|request| request.headers["idempotency-key"].to_str().unwrap().to_owned());
        assert!(sent.iter().all(|request| !request.headers.contains_key("ce-datacontenttype")));
        let requests: Vec<Value> = sent.iter().map(Request::to_json).collect();
        let events = judged_by("cloudevents_http.py", &json!(requests)).await;
        let expected = |id: &str, kind: &str, time: &Value| {
            json!({
                "specversion": "1.0",
                "id": id,
                "source": "https://shop.example/orders",
                "type": kind,
                "team": "Kiosk Süd",
                "time": time,
                "datacontenttype": "application/json",
            })
        };
        let written = &events[1]["attributes"]["time"];
        let age = SystemTime::now().duration_since(moment(written)).unwrap();
        assert!(age < Duration::from_mins(2), "written {age:?} ago, by {written}");
        let first = expected("order.4711/placed", "com.example.order", written);
        let mut second = expected("order-4712", "com.example.order.changed", &json!("2026-01-01T00:00:00+09:00"));
        second["subject"] = json!("100% Zoë \u{1F600}");
        assert_eq!(events, json!([{ "attributes": second, "data": data }, { "attributes": first, "data": data }]));
    }
    sent
}

#[tokio::test]
async fn a_message_that_cannot_be_an_event_is_a_dead_letter_that_says_what_it_lacks() {
    for outbox in outboxes::each().await {
        let sink = Sink::start().await;
        outbox.enqueue(&[NewMessage::http(sink.url("/hook")).json(&json!({})).idempotency_key("order-1")]).await;
        let settings = "[channels.http]\nkind = \"http\"\nallow_networks = [\"127.0.0.0/8\"]\ncloudevents = \"binary\"\n\
             headers = { ce-source = \"/shop\" }";
        Program::new(&outbox.test.url, settings).deliver().await;
        let error = outbox.text("SELECT last_error FROM outbox WHERE dead_reason = 'permanent'").await;
        assert_eq!(
            error,
            "the event has no ce-type: write it into the row's headers, or for all into channels.http.headers"
        );
        assert!(sink.requests().is_empty());
    }
}

/// As Python writes a moment in UTC.
fn moment(text: &Value) -> SystemTime {
    let text = text.as_str().unwrap().replace("+00:00", "Z");
    humantime::parse_rfc3339_weak(&text).unwrap()
}
