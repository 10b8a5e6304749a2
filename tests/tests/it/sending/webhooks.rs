//! Signed messages, judged by a package with which receivers verify them.

use std::collections::HashSet;

use outbox_schema::NewMessage;
use outbox_tests::python::judged_by;
use serde_json::{Value, json};

use crate::outboxes::{self, Outbox};
use crate::program::Program;
use crate::sink::{Request, Sink};

const OLD: &str = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD";
const NEW: &str = "whsec_aGVyZSBhcmUgdGhpcnR5LXR3byByYW5kb20gYnl0ZXMh";
const PAIR: &str = "whsk_6Xb/dCcHpPea21PS1N9VY/NZW723CEc77N4rJCubMbfVKIDij2HKpMKkioLlX0dRqSKJp4AJ6p9lMicMFs6Kvg==";

/// Bodies that a database, a parser or an editor might write otherwise than they were.
fn bodies() -> Vec<Value> {
    vec![
        json!({ "order": 4711, "state": "placed" }),
        json!({ "text": "Zoë said \"ça va?\"\n\u{1F600} <a&b>", "nothing": null, "list": [[], {}, 0.1, -5] }),
        json!("only a text"),
        json!([]),
    ]
}

/// What the package makes of requests, as a receiver with that key.
async fn verified(secret: &str, requests: &[Request]) -> Vec<Value> {
    let requests: Vec<Value> = requests.iter().map(Request::to_json).collect();
    let answer = judged_by("webhooks.py", &json!({ "secret": secret, "requests": requests })).await;
    answer.as_array().unwrap().clone()
}

#[tokio::test]
async fn an_event_in_one_body_is_signed_as_it_is_sent() {
    let outbox = Outbox::open(outbox_tests::servers::sqlite()).await;
    outbox.database.migrate("default").await.unwrap();
    let sink = Sink::start().await;
    outbox.enqueue(&[NewMessage::http(sink.url("/hook")).json(&bodies()[1]).idempotency_key("order-1")]).await;
    let program = Program::new(
        &outbox.test.url,
        &format!(
            "[channels.http]\nkind = \"http\"\nallow_networks = [\"127.0.0.0/8\"]\ncloudevents = \"structured\"\n\
             headers = {{ ce-type = \"order\", ce-source = \"/shop\" }}\nsigning_keys = [\"{OLD}\"]\n"
        ),
    );
    program.deliver().await;
    let verified = verified(OLD, &sink.requests()).await;
    assert_eq!((&verified[0]["id"], &verified[0]["data"]), (&json!("order-1"), &bodies()[1]));
}

#[tokio::test]
async fn a_receiver_verifies_what_a_replica_signed_with_either_key_of_a_rotation_and_nothing_that_was_changed() {
    for outbox in outboxes::each().await {
        let sink = Sink::start().await;
        let message = |(place, body): (usize, Value)| {
            NewMessage::http(sink.url("/hook")).json(&body).idempotency_key(format!("order-{place}"))
        };
        let messages: Vec<_> = bodies().into_iter().enumerate().map(message).collect();
        outbox.enqueue(&messages).await;
        let program = Program::new(
            &outbox.test.url,
            &format!(
                "[channels.http]\nkind = \"http\"\nallow_networks = [\"127.0.0.0/8\"]\n\
                 signing_keys = [{{ file = \"new.key\" }}, \"{OLD}\", \"{PAIR}\"]\n"
            ),
        );
        program.write("new.key", &format!("{NEW}\n"));
        let log = program.deliver().await;

        let requests = sink.requests();
        let sent: HashSet<Value> = bodies().into_iter().collect();
        for secret in [OLD, NEW] {
            let verified: HashSet<Value> = verified(secret, &requests).await.into_iter().collect();
            assert_eq!(verified, sent, "{:?}", outbox.dialect());
            assert!(!log.contains(&secret[6..]), "{log}");
        }
        for request in &requests {
            let id = request.headers["webhook-id"].to_str().unwrap();
            assert_eq!(request.headers["idempotency-key"], format!("\"{id}\""));
            assert_eq!(request.headers["webhook-signature"].to_str().unwrap().matches("v1a,").count(), 1);
        }

        let changed = |change: &dyn Fn(&mut Request)| {
            let mut requests = requests.clone();
            requests.iter_mut().for_each(change);
            requests
        };
        for tampered in [
            changed(&|request| request.body = b"{ }".as_slice().into()),
            changed(&|request| drop(request.headers.insert("webhook-id", "another".parse().unwrap()))),
            changed(&|request| {
                let earlier = request.headers["webhook-timestamp"].to_str().unwrap().parse::<u64>().unwrap() - 1;
                request.headers.insert("webhook-timestamp", earlier.into());
            }),
        ] {
            assert_eq!(verified(OLD, &tampered).await, vec![Value::Null; requests.len()]);
        }
        let stranger = "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
        assert_eq!(verified(stranger, &requests).await, vec![Value::Null; requests.len()]);
    }
}
