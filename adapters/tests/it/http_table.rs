//! The status table of an HTTP channel.

use std::time::Duration;

use outbox_adapters::Adapter;
use outbox_schema::{DeadReason, Outcome, Scope};

use crate::http::{channel, delivery, loopback, with};
use crate::stand_in::{StandIn, reply};

const DEAD: Outcome = Outcome::Dead { reason: DeadReason::Permanent };
const SOON: Outcome = Outcome::Retry { not_before: None };
const DELIVERED: Outcome = Outcome::Delivered { receipt: None };

fn later(seconds: u64) -> Outcome {
    Outcome::Retry { not_before: Some(Duration::from_secs(seconds)) }
}

fn defer(seconds: u64) -> Outcome {
    Outcome::Defer { scope: Scope::Channel, until: Duration::from_secs(seconds) }
}

#[derive(Clone, Copy)]
enum Kind {
    Plain,
    WithAuth,
    AtMostOnce,
}

/// Status, further headers, the outcome and what the error says.
type Row = (u16, &'static str, Outcome, &'static str);

async fn rows_hold(kind: Kind, rows: Vec<Row>) {
    let server = StandIn::start(|seen| {
        let row = seen.header("x-row").unwrap();
        let (status, headers) = row.split_once('|').unwrap();
        reply(status.parse().unwrap(), &headers.replace(';', "\r\n"), "why\0not")
    })
    .await;
    let settings = match kind {
        Kind::Plain | Kind::AtMostOnce => loopback(),
        Kind::WithAuth => with("auth", serde_json::json!({"bearer": "s3cret"})),
    };
    let adapter = channel(&settings, Duration::from_secs(20), matches!(kind, Kind::AtMostOnce));
    for (status, headers, outcome, said) in rows {
        let mut delivery = delivery(&server.url("/hook"));
        let row = format!("{status}|{headers}");
        delivery.headers = Some(serde_json::json!({ "x-row": row }).to_string());
        let answer = adapter.deliver(delivery).await;
        assert_eq!(answer.outcome, outcome, "{status} {headers}: {answer:?}");
        assert_eq!(answer.status_code, Some(status), "{answer:?}");
        if let Outcome::Delivered { .. } = outcome {
            assert_eq!((answer.error, answer.excerpt), (None, None), "{status}");
        } else {
            let error = answer.error.unwrap();
            assert!(error.contains(&status.to_string()) && error.contains(said), "{status}: {error}");
            assert!(error.contains(&format!("http://127.0.0.1:{}", server.port)), "{error}");
            assert!(!error.contains("/hook"), "a path may hold a secret: {error}");
            assert_eq!(answer.excerpt.as_deref(), Some("why not"), "{status}");
        }
    }
}

#[tokio::test]
async fn every_status_has_its_outcome() {
    let rows = vec![
        (200, "", DELIVERED, ""),
        (201, "", DELIVERED, ""),
        (202, "", DELIVERED, ""),
        (299, "Retry-After: 5;", DELIVERED, ""),
        (300, "", DEAD, "redirects are not followed"),
        (301, "Location: https://other.example/secret?key=1;", DEAD, "redirects to https://other.example and"),
        (302, "Location: /elsewhere;", DEAD, "redirects to http://127.0.0.1"),
        (303, "", DEAD, "redirects"),
        (307, "Location: //other.example/x;", DEAD, "redirects to http://other.example and"),
        (308, "Location: https://user:pass@other.example/;", DEAD, "redirects to https://other.example and"),
        (400, "", DEAD, "will not take this message"),
        (401, "", DEAD, "set auth"),
        (402, "", DEAD, ""),
        (403, "", DEAD, "set auth"),
        (404, "", DEAD, "check its target"),
        (405, "", DEAD, ""),
        (406, "", DEAD, ""),
        (408, "", SOON, "gave up waiting"),
        (409, "", SOON, "earlier request"),
        (410, "", Outcome::DeadTarget, "gone for good"),
        (411, "", DEAD, ""),
        (413, "", DEAD, ""),
        (415, "", DEAD, ""),
        (421, "", DEAD, ""),
        (422, "", DEAD, "another body"),
        (423, "", DEAD, ""),
        (425, "", SOON, "not take the message now"),
        (429, "", SOON, "not take the message now"),
        (429, "Retry-After: 120;", later(120), ""),
        (429, "Retry-After: 99999999;", later(24 * 3600), ""),
        (429, "Retry-After: Tue, 31 Dec 2999 23:59:59 GMT;", later(24 * 3600), ""),
        (429, "Retry-After: Sun, 06 Nov 1994 08:49:37 GMT;", later(0), ""),
        (429, "Retry-After: whenever;", SOON, ""),
        (500, "", SOON, "it failed"),
        (501, "", SOON, ""),
        (502, "", SOON, ""),
        (503, "", SOON, ""),
        (503, "Retry-After: 7;", later(7), ""),
        (504, "", SOON, ""),
        (599, "", SOON, ""),
        (600, "", DEAD, "no status of a final answer"),
    ];
    rows_hold(Kind::Plain, rows).await;
}

#[tokio::test]
async fn a_refused_credential_defers_the_channel() {
    let rows = vec![
        (401, "", defer(60), "refuses the channel's auth"),
        (403, "", defer(60), "refuses the channel's auth"),
        (401, "Retry-After: 5;", defer(5), ""),
        (403, "Retry-After: 0;", defer(1), ""),
        (404, "", DEAD, ""),
    ];
    rows_hold(Kind::WithAuth, rows).await;
}

#[tokio::test]
async fn at_most_once_only_proof_of_non_acceptance_is_retried() {
    let rows = vec![
        (200, "", DELIVERED, ""),
        (301, "", DEAD, ""),
        (400, "", DEAD, ""),
        (408, "", Outcome::InDoubt, ""),
        (409, "", Outcome::InDoubt, ""),
        (410, "", Outcome::DeadTarget, ""),
        (422, "", DEAD, ""),
        (425, "", SOON, ""),
        (429, "Retry-After: 3;", later(3), ""),
        (500, "", Outcome::InDoubt, ""),
        (502, "", Outcome::InDoubt, ""),
        (503, "", SOON, ""),
        (504, "", Outcome::InDoubt, ""),
        (599, "", Outcome::InDoubt, ""),
    ];
    rows_hold(Kind::AtMostOnce, rows).await;
}

#[tokio::test]
async fn an_answer_that_cannot_have_a_body_has_no_excerpt() {
    let server =
        StandIn::start(|_| crate::stand_in::Reply::Whole("HTTP/1.1 304 Not Modified\r\n\r\n".to_owned())).await;
    let answer = channel(&loopback(), Duration::from_secs(20), false).deliver(delivery(&server.url("/"))).await;
    assert_eq!((answer.outcome, answer.excerpt), (DEAD, None));
}
