//! Signed requests: their headers belong to the channel, and their time to the attempt.

use std::time::{Duration, SystemTime};

use outbox_adapters::Adapter;
use outbox_adapters::http::{HttpChannel, Settings};
use outbox_store::{DeadReason, Outcome};
use serde_json::json;

use crate::http::{channel, delivery, headers, literal, loopback};
use crate::stand_in::{StandIn, reply};

const LONG: Duration = Duration::from_secs(20);
const KEY: &str = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD";

fn signing() -> Settings {
    Settings { signing_keys: vec![literal(KEY)], ..loopback() }
}

fn seconds() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs()
}

#[tokio::test]
async fn an_attempt_is_signed_with_its_own_time_under_the_id_of_its_message() {
    let server = StandIn::start(|_| reply(503, "", "")).await;
    let adapter = channel(&signing(), LONG, false);
    let began = seconds();
    adapter.deliver(delivery(&server.url("/"))).await;
    let first = seconds();
    while seconds() == first {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    adapter.deliver(delivery(&server.url("/"))).await;
    let [one, two] = &server.seen()[..] else { panic!("two requests") };
    let time = |seen: &crate::stand_in::Seen| seen.header("webhook-timestamp").unwrap().parse::<u64>().unwrap();
    assert!((began..=first).contains(&time(one)) && (first + 1..=seconds()).contains(&time(two)));
    assert_eq!((one.header("webhook-id"), two.header("webhook-id")), (Some("order-1"), Some("order-1")));
    assert_ne!(one.header("webhook-signature"), two.header("webhook-signature"));
}

#[tokio::test]
async fn without_a_key_nothing_is_signed_and_a_row_may_set_the_headers_itself() {
    let server = StandIn::start(|_| reply(200, "", "")).await;
    let adapter = channel(&loopback(), LONG, false);
    let mut message = delivery(&server.url("/"));
    adapter.deliver(message.clone()).await;
    message.headers = Some(r#"{"webhook-signature": "v1,own"}"#.to_owned());
    adapter.deliver(message).await;
    let seen = server.seen();
    assert_eq!((seen[0].header("webhook-id"), seen[0].header("webhook-signature")), (None, None));
    assert_eq!(seen[1].header("webhook-signature"), Some("v1,own"));
}

#[tokio::test]
async fn the_headers_of_a_signature_are_the_channels_own() {
    let server = StandIn::start(|_| reply(200, "", "")).await;
    let adapter = channel(&signing(), LONG, false);
    for name in ["webhook-id", "Webhook-Timestamp", "WEBHOOK-SIGNATURE"] {
        let mut message = delivery(&server.url("/"));
        message.headers = Some(json!({ name: "own" }).to_string());
        let answer = adapter.deliver(message).await;
        assert_eq!(answer.outcome, Outcome::Dead { reason: DeadReason::Permanent }, "{name}");
        assert!(answer.error.unwrap().contains("is set by the channel's signing_keys"), "{name}");

        let settings = Settings { headers: headers(&[(name, "own")]), ..signing() };
        let refused = HttpChannel::new("hooks", &settings, LONG, false, None).unwrap_err().to_string();
        assert!(refused.contains("set by signing_keys already"), "{refused}");
    }
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn a_message_that_cannot_be_signed_is_a_dead_letter_that_says_why() {
    let server = StandIn::start(|_| reply(200, "", "")).await;
    let adapter = channel(&signing(), LONG, false);
    let mut message = delivery(&server.url("/"));
    message.idempotency_key = "order.1".to_owned();
    let answer = adapter.deliver(message).await;
    assert_eq!(answer.outcome, Outcome::Dead { reason: DeadReason::Permanent }, "{answer:?}");
    assert!(answer.error.unwrap().contains("idempotency key cannot be signed"));
    assert_eq!(server.connections(), 0);
}
