//! What each answer to an HTTP channel means: a test for each line of the table in docs/http.md.

use std::ops::RangeInclusive;
use std::time::Duration;

use outbox_adapters::http::{Auth, AuthTo, HttpChannel, Settings, Statuses};
use outbox_adapters::{About, Adapter};
use outbox_store::{DeadReason, Identity, Outcome};

use crate::http::{channel, delivery, literal, loopback};
use crate::stand_in::{StandIn, reply};

const DEAD: Outcome = Outcome::Dead { reason: DeadReason::Permanent };
const SOON: Outcome = Outcome::Retry { not_before: None };
const DELIVERED: Outcome = Outcome::Delivered { receipt: None };

fn later(seconds: u64) -> Outcome {
    Outcome::Retry { not_before: Some(Duration::from_secs(seconds)) }
}

fn refused(seconds: Option<u64>) -> Outcome {
    Outcome::Refused { not_before: seconds.map(Duration::from_secs), identity: Identity::Credential }
}

#[derive(Clone, Copy)]
enum Kind {
    Plain,
    WithAuth,
    AtMostOnce,
    Signed,
    SignedWithAuth,
    Ruled,
    RuledAtMostOnce,
}

const KEY: &str = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD";

/// Settings with statuses of their own.
fn ruled() -> Settings {
    let statuses = |texts: &[&str]| texts.iter().map(|text| Statuses::parse(text).unwrap()).collect();
    Settings {
        retry_statuses: statuses(&["4xx", "302", "502"]),
        dead_statuses: statuses(&["418", "5xx", "410"]),
        ..loopback()
    }
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
    let with_auth = || Settings { auth: Some(Auth::Bearer(literal("s3cret"))), auth_to: AuthTo::Any, ..loopback() };
    let settings = match kind {
        Kind::Plain | Kind::AtMostOnce => loopback(),
        Kind::WithAuth => with_auth(),
        Kind::Signed => Settings { signing_keys: vec![literal(KEY)], ..loopback() },
        Kind::SignedWithAuth => Settings { signing_keys: vec![literal(KEY)], ..with_auth() },
        Kind::Ruled | Kind::RuledAtMostOnce => ruled(),
    };
    let at_most_once = matches!(kind, Kind::AtMostOnce | Kind::RuledAtMostOnce);
    let adapter = channel(&settings, Duration::from_secs(20), at_most_once);
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

/// Rows of the statuses in `range` but `others`, which have lines of their own.
fn all(range: RangeInclusive<u16>, others: &[u16], outcome: &Outcome, said: &'static str) -> Vec<Row> {
    range.filter(|status| !others.contains(status)).map(|status| (status, "", outcome.clone(), said)).collect()
}

#[tokio::test]
async fn every_2xx_is_delivered() {
    let mut rows = all(200..=299, &[], &DELIVERED, "");
    rows.push((200, "Retry-After: 5;", DELIVERED, ""));
    rows_hold(Kind::Plain, rows.clone()).await;
    rows_hold(Kind::WithAuth, rows.clone()).await;
    rows_hold(Kind::AtMostOnce, rows).await;
}

#[tokio::test]
async fn every_3xx_is_dead_and_names_the_new_place_without_its_secrets() {
    // An answer 304 has no body: see below.
    let mut rows = all(300..=399, &[304], &DEAD, "redirects are not followed");
    rows.extend([
        (301, "Location: https://other.example/secret?key=1;", DEAD, "redirects to https://other.example and"),
        (302, "Location: /elsewhere;", DEAD, "redirects to http://127.0.0.1"),
        (307, "Location: //other.example/x;", DEAD, "redirects to http://other.example and"),
        (308, "Location: https://user:pass@other.example/;", DEAD, "redirects to https://other.example and"),
    ]);
    rows_hold(Kind::Plain, rows.clone()).await;
    rows_hold(Kind::AtMostOnce, rows).await;
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let elsewhere = StandIn::start(|_| reply(200, "", "")).await;
    let location = format!("Location: {}\r\n", elsewhere.url("/"));
    for status in [301, 302, 303, 307, 308] {
        let location = location.clone();
        let server = StandIn::start(move |_| reply(status, &location, "")).await;
        let adapter = channel(&loopback(), Duration::from_secs(20), false);
        assert_eq!(adapter.deliver(delivery(&server.url("/"))).await.outcome, DEAD, "{status}");
        assert_eq!(server.seen().len(), 1);
    }
    assert_eq!(elsewhere.connections(), 0);
}

#[tokio::test]
async fn answers_400_and_401_to_a_signed_channel_refuse_its_signature_or_the_message() {
    let unverified = |seconds: Option<u64>| Outcome::Refused {
        not_before: seconds.map(Duration::from_secs),
        identity: Identity::Signature,
    };
    let rows = vec![
        (400, "", unverified(None), "check its target, headers and payload, or channels.hooks.signing_keys"),
        (401, "Retry-After: 7;", unverified(Some(7)), "channels.hooks.signing_keys"),
        (403, "", DEAD, "set auth, or tls_cert with base_url; or check signing_keys"),
        (404, "", DEAD, "check its target"),
        (422, "", DEAD, "cannot use this body"),
    ];
    rows_hold(Kind::Signed, rows).await;
    let rows = vec![
        (400, "", unverified(None), "channels.hooks.signing_keys"),
        (401, "", refused(None), "check the credential of the channel, and the target, or signing_keys"),
        (403, "", refused(None), "check the credential of the channel, and the target, or signing_keys"),
    ];
    rows_hold(Kind::SignedWithAuth, rows).await;
}

#[tokio::test]
async fn the_settings_of_a_channel_go_before_the_table_and_a_status_before_its_class() {
    let mut rows = all(400..=499, &[410, 418], &SOON, "channels.hooks.retry_statuses says to send it again");
    rows.extend(all(500..=599, &[502], &DEAD, "channels.hooks.dead_statuses says that it will not take this message"));
    rows.extend([
        (302, "", SOON, "retry_statuses"),
        (301, "", DEAD, "redirects are not followed"),
        (404, "Retry-After: 7;", later(7), "retry_statuses"),
        (410, "", Outcome::DeadTarget, "gone for good"),
        (418, "", DEAD, "dead_statuses"),
        (502, "", SOON, "retry_statuses"),
        (600, "", DEAD, "no status of a final answer"),
        (200, "", DELIVERED, ""),
    ]);
    rows_hold(Kind::Ruled, rows).await;
}

#[tokio::test]
async fn a_receiver_that_knew_the_key_is_a_delivery_that_says_so() {
    let statuses = |texts: &[&str]| texts.iter().map(|text| Statuses::parse(text).unwrap()).collect();
    let named = Settings { known_header: "X-Seen".to_owned(), known_statuses: statuses(&["409"]), ..loopback() };
    let silent = Settings { known_header: String::new(), ..loopback() };
    for (settings, status, header, outcome, known) in [
        (loopback(), 200, "Idempotent-Replayed: true", DELIVERED, true),
        (loopback(), 200, "Idempotent-Replayed: false", DELIVERED, false),
        (loopback(), 200, "X-Seen: 1", DELIVERED, false),
        (loopback(), 409, "Idempotent-Replayed: true", SOON, false),
        (named.clone(), 201, "X-Seen: 1", DELIVERED, true),
        (named.clone(), 201, "X-Seen: 0", DELIVERED, false),
        (named.clone(), 409, "X-Other: 1", DELIVERED, true),
        (named, 422, "X-Seen: 1", DEAD, false),
        (silent, 200, "Idempotent-Replayed: true", DELIVERED, false),
    ] {
        for keeps in [false, true] {
            let server = StandIn::start(move |_| reply(status, &format!("{header}\r\n"), "as before")).await;
            let adapter = HttpChannel::new("hooks", &settings, Duration::from_secs(20), false, None).unwrap();
            let answer = adapter.keeping_answers(keeps).deliver(delivery(&server.url("/hook"))).await;
            assert_eq!((&answer.outcome, answer.known), (&outcome, known), "{status} {header}: {answer:?}");
            assert_eq!(answer.error.is_none(), outcome == DELIVERED, "{answer:?}");
        }
    }
}

#[tokio::test]
async fn at_most_once_no_setting_makes_a_status_a_proof_of_non_acceptance() {
    let rows = vec![
        (404, "", SOON, "retry_statuses"),
        (408, "", Outcome::InDoubt, "gave up waiting"),
        (409, "", Outcome::InDoubt, "still works on an earlier request"),
        (502, "", Outcome::InDoubt, "it failed"),
        (500, "", DEAD, "dead_statuses"),
    ];
    rows_hold(Kind::RuledAtMostOnce, rows).await;
}

#[tokio::test]
async fn answers_408_425_429_and_every_5xx_are_retried() {
    let mut rows = vec![
        (408, "", SOON, "gave up waiting"),
        (425, "", SOON, "not take the message now"),
        (429, "", SOON, "not take the message now"),
        (503, "", SOON, "not take the message now"),
    ];
    rows.extend(all(500..=599, &[503], &SOON, "it failed"));
    rows_hold(Kind::Plain, rows.clone()).await;
    rows_hold(Kind::WithAuth, rows).await;
}

#[tokio::test]
async fn an_answer_410_is_a_dead_target_and_leaves_the_other_urls_of_its_origin_alone() {
    rows_hold(Kind::Plain, vec![(410, "", Outcome::DeadTarget, "gone for good"), (200, "", DELIVERED, "")]).await;
    rows_hold(Kind::AtMostOnce, vec![(410, "", Outcome::DeadTarget, "gone for good")]).await;
}

#[tokio::test]
async fn answers_401_and_403_to_a_channel_with_auth_refuse_its_credential_or_the_target() {
    let rows = vec![
        (401, "", refused(None), "check the credential of the channel, and the target"),
        (403, "", refused(None), "check the credential of the channel, and the target"),
        (401, "Retry-After: 5;", refused(Some(5)), ""),
        (403, "Retry-After: 0;", refused(Some(0)), ""),
        (404, "", DEAD, ""),
    ];
    rows_hold(Kind::WithAuth, rows).await;
}

#[tokio::test]
async fn answers_401_and_403_to_a_channel_without_auth_are_dead() {
    rows_hold(Kind::Plain, vec![(401, "", DEAD, "set auth"), (403, "", DEAD, "set auth")]).await;
}

#[tokio::test]
async fn an_answer_409_is_retried() {
    rows_hold(Kind::Plain, vec![(409, "", SOON, "earlier request"), (409, "Retry-After: 9;", later(9), "")]).await;
}

#[tokio::test]
async fn an_answer_422_is_dead() {
    rows_hold(Kind::Plain, vec![(422, "", DEAD, "another body")]).await;
}

#[tokio::test]
async fn every_other_4xx_is_dead() {
    let others = [401, 403, 408, 409, 410, 422, 425, 429];
    let rows = all(400..=499, &others, &DEAD, "will not take this message: check its target");
    rows_hold(Kind::Plain, rows.clone()).await;
    rows_hold(Kind::AtMostOnce, rows).await;
}

#[tokio::test]
async fn a_status_of_no_final_answer_is_dead() {
    rows_hold(Kind::Plain, all(600..=620, &[], &DEAD, "no status of a final answer")).await;
}

#[tokio::test]
async fn retry_after_is_a_number_of_seconds_or_a_date_and_a_month_at_most() {
    let month = 30 * 24 * 3600;
    let rows = vec![
        (429, "Retry-After: 120;", later(120), ""),
        (503, "Retry-After: 7;", later(7), ""),
        (500, "Retry-After: 0;", later(0), ""),
        (408, "Retry-After: 1;", later(1), ""),
        (429, "Retry-After: 99999999;", later(month), ""),
        (429, "Retry-After: Tue, 31 Dec 2999 23:59:59 GMT;", later(month), ""),
        (429, "Retry-After: Sun, 06 Nov 1994 08:49:37 GMT;", later(0), ""),
        (429, "Retry-After: whenever;", SOON, ""),
    ];
    rows_hold(Kind::Plain, rows).await;
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
        (503, "", Outcome::InDoubt, "not take the message now"),
        (503, "Retry-After: 5;", later(5), ""),
        (504, "", Outcome::InDoubt, ""),
        (599, "", Outcome::InDoubt, ""),
    ];
    rows_hold(Kind::AtMostOnce, rows).await;
}

#[tokio::test]
async fn at_most_once_a_503_is_retried_where_it_says_when_or_the_channel_lists_it() {
    let listed = Settings { retry_statuses: vec![Statuses::parse("503").unwrap()], ..loopback() };
    for (settings, headers, outcome) in [
        (loopback(), "", Outcome::InDoubt),
        (loopback(), "Retry-After: whenever\r\n", Outcome::InDoubt),
        (loopback(), "Retry-After: 0\r\n", later(0)),
        (listed, "", SOON),
    ] {
        let server = StandIn::start(move |_| reply(503, headers, "")).await;
        let answer = channel(&settings, Duration::from_secs(20), true).deliver(delivery(&server.url("/"))).await;
        assert_eq!(answer.outcome, outcome, "{headers}");
    }
}

#[tokio::test]
async fn a_refusal_may_be_about_its_target_alone_and_another_failure_is_not() {
    let settings = Settings { retry_statuses: vec![Statuses::parse("404").unwrap()], ..loopback() };
    let adapter = channel(&settings, Duration::from_secs(20), false);
    for (status, of_target) in
        [(404, true), (409, true), (429, true), (503, true), (500, false), (502, false), (504, false)]
    {
        let server = StandIn::start(move |_| reply(status, "Retry-After: 5\r\n", "")).await;
        let answer = adapter.deliver(delivery(&server.url("/hook"))).await;
        let is_of_target = answer.about == About::Target;
        assert_eq!((&answer.outcome, is_of_target), (&later(5), of_target), "{status}");
        assert_eq!(answer.busy_for, Some(Duration::from_secs(5)), "{status}");
    }
}

#[tokio::test]
async fn an_answer_that_cannot_have_a_body_has_no_excerpt() {
    let server =
        StandIn::start(|_| crate::stand_in::Reply::Whole("HTTP/1.1 304 Not Modified\r\n\r\n".to_owned())).await;
    let answer = channel(&loopback(), Duration::from_secs(20), false).deliver(delivery(&server.url("/"))).await;
    assert_eq!((answer.outcome, answer.excerpt), (DEAD, None));
}
