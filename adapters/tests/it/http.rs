//! What an HTTP channel sends, and what it makes of servers that misbehave.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ipnet::IpNet;
use outbox_adapters::http::{
    Auth, AuthTo, Body, CloudEvents, HttpChannel, IdempotencyKey, Method, Secret, Settings, Targets,
};
use outbox_adapters::{Adapter, Delivery, TlsRoots};
use outbox_schema::origin::column;
use outbox_store::{DeadReason, Outcome};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::stand_in::{Reply, StandIn, reply};

const DEAD: Outcome = Outcome::Dead { reason: DeadReason::Permanent };
const DELIVERED: Outcome = Outcome::Delivered { receipt: None };
const LONG: Duration = Duration::from_secs(20);

/// The settings of a channel that may reach this machine, and says nothing else.
pub(crate) fn loopback() -> Settings {
    Settings {
        base_url: String::new(),
        method: Method::Post,
        targets: Targets::Any,
        headers: BTreeMap::new(),
        row_headers: None,
        auth: None,
        auth_to: AuthTo::BaseUrl,
        signing_keys: Vec::new(),
        idempotency_key: IdempotencyKey::Quoted,
        body: Body::Json,
        cloudevents: CloudEvents::Off,
        retry_statuses: vec![],
        dead_statuses: vec![],
        known_statuses: vec![],
        known_header: "Idempotent-Replayed".to_owned(),
        allow_networks: networks(&["127.0.0.0/8", "::1/128"]),
        deny_networks: Vec::new(),
        https_only: false,
        ports: Vec::new(),
        tls_ca: String::new(),
        tls_roots: TlsRoots::System,
        tls_cert: String::new(),
        tls_key: String::new(),
        max_connection_age: Duration::from_mins(1),
        is_implied: false,
    }
}

/// The settings of a channel that trusts the certificates of the servers of these tests.
pub(crate) fn trusting() -> Settings {
    Settings { tls_ca: concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/tls_cert.pem").to_owned(), ..loopback() }
}

pub(crate) fn networks(networks: &[&str]) -> Vec<IpNet> {
    networks.iter().map(|network| network.parse().unwrap()).collect()
}

pub(crate) fn headers(headers: &[(&str, &str)]) -> BTreeMap<String, String> {
    headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

pub(crate) fn literal(secret: &str) -> Secret {
    Secret::Literal(secret.to_owned())
}

pub(crate) fn channel(settings: &Settings, timeout: Duration, at_most_once: bool) -> HttpChannel {
    HttpChannel::new("hooks", settings, timeout, at_most_once, None).unwrap()
}

pub(crate) fn delivery(target: &str) -> Delivery {
    Delivery {
        idempotency_key: "order-1".to_owned(),
        target: target.to_owned(),
        destination: column(target).unwrap_or_else(|| "hooks".to_owned()),
        payload: r#"{ "b":1.0, "a" : [1,2] }"#.to_owned(),
        headers: None,
        deadline: None,
        created_at: None,
        traceparent: None,
        tracestate: None,
        permit: Arc::new(|| true),
        recorder: None,
    }
}

async fn accepting() -> StandIn {
    StandIn::start(|_| reply(200, "", "fine")).await
}

#[tokio::test]
async fn the_payload_and_the_headers_arrive_as_they_were_given() {
    let server = accepting().await;
    let settings = Settings { headers: headers(&[("X-Channel", "c"), ("X-Both", "channel")]), ..loopback() };
    let mut delivery = delivery(&server.url("/hook?x=1#part"));
    delivery.headers = Some(r#"{"X-Row": "r", "X-Both": "row"}"#.to_owned());
    delivery.traceparent = Some("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01".to_owned());
    delivery.tracestate = Some("vendor=1".to_owned());
    let answer = channel(&settings, LONG, false).deliver(delivery).await;
    assert_eq!(answer.outcome, DELIVERED, "{answer:?}");
    let seen = &server.seen()[0];
    assert_eq!(seen.line(), "POST /hook?x=1 HTTP/1.1");
    assert_eq!(seen.body, r#"{ "b":1.0, "a" : [1,2] }"#);
    for (name, value) in [
        ("content-type", "application/json"),
        ("idempotency-key", "\"order-1\""),
        ("x-channel", "c"),
        ("x-both", "row"),
        ("x-row", "r"),
        ("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
        ("tracestate", "vendor=1"),
        ("accept", "*/*"),
        ("user-agent", concat!("outbox/", env!("CARGO_PKG_VERSION"))),
        ("host", &format!("127.0.0.1:{}", server.port)),
    ] {
        assert_eq!(seen.header(name), Some(value), "{name}");
    }
    assert_eq!(seen.header("authorization"), None);
}

#[tokio::test]
async fn method_content_type_key_and_base_url_are_settings() {
    let server = accepting().await;
    let settings = Settings {
        base_url: server.url("/v1/"),
        method: Method::Put,
        idempotency_key: IdempotencyKey::Bare,
        headers: headers(&[("content-type", "application/cloudevents+json")]),
        ..loopback()
    };
    let answer = channel(&settings, LONG, false).deliver(delivery("/orders")).await;
    assert_eq!(answer.outcome, DELIVERED, "{answer:?}");
    let seen = &server.seen()[0];
    assert_eq!(seen.line(), "PUT /v1/orders HTTP/1.1");
    assert_eq!(seen.header("idempotency-key"), Some("order-1"));
    assert_eq!(seen.header("content-type"), Some("application/cloudevents+json"));

    let off = channel(&Settings { idempotency_key: IdempotencyKey::Off, ..loopback() }, LONG, false);
    assert_eq!(off.deliver(delivery(&server.url("/"))).await.outcome, DELIVERED);
    assert_eq!(server.seen()[1].header("idempotency-key"), None);
}

#[tokio::test]
async fn a_credential_is_sent_to_the_base_url_only_and_shown_nowhere() {
    let echo = |seen: &crate::stand_in::Seen| reply(500, "", &seen.head.replace("\r\n", " "));
    let (server, other) = (StandIn::start(echo).await, StandIn::start(echo).await);
    for (auth, sent) in [
        (Auth::Bearer(literal("s3cret")), "Bearer s3cret"),
        (Auth::Basic { user: "joe".to_owned(), password: literal("s3cret") }, "Basic am9lOnMzY3JldA=="),
        (Auth::Header { name: "Authorization".to_owned(), value: literal("Key s3cret") }, "Key s3cret"),
    ] {
        let settings = Settings { base_url: server.url(""), auth: Some(auth), ..loopback() };
        let adapter = channel(&settings, LONG, false);
        let answer = adapter.deliver(delivery("/a")).await;
        assert_eq!(server.seen().last().unwrap().header("authorization"), Some(sent));
        let shown = format!("{answer:?} {adapter:?} {settings:?}");
        assert!(answer.excerpt.is_some_and(|excerpt| excerpt.contains("***")));
        assert!(!shown.contains("s3cret") && !shown.contains("am9lOnMzY3JldA"), "{shown}");

        adapter.deliver(delivery(&other.url("/b"))).await;
        assert_eq!(other.seen().last().unwrap().header("authorization"), None);
    }
}

#[tokio::test]
async fn what_is_wrong_with_a_row_is_a_dead_letter_that_says_what_to_fix() {
    let server = accepting().await;
    let adapter = channel(&loopback(), LONG, false);
    for (target, said) in [
        ("orders", "not a URL: write one like https://host/path, or give channels.hooks.base_url"),
        ("", "not a URL"),
        ("http://", "not a URL"),
        ("http://[::1", "not a URL"),
        ("http://exa mple/", "space or a control character"),
        ("http://exam\nple/", "space or a control character"),
        ("file:///etc/passwd", "only http and https"),
        ("ftp://127.0.0.1/", "only http and https"),
        ("mailto:joe@example.com", "only http and https"),
        ("http://joe:s3cret@127.0.0.1/", "set channels.hooks.auth"),
        ("http://joe@127.0.0.1/", "user or a password"),
        ("http://169.254.169.254/latest/meta-data", "metadata address"),
        ("http://10.0.0.1/", "private network 10.0.0.0/8"),
        ("http://[::ffff:10.0.0.1]/", "write the host plainly"),
        ("http://0xa000001/", "write the host plainly"),
    ] {
        let answer = adapter.deliver(delivery(target)).await;
        assert_eq!(answer.outcome, DEAD, "{target}");
        let error = answer.error.unwrap();
        assert!(error.contains(said) && !error.contains("s3cret"), "{target}: {error}");
    }
    for headers in [r#"{"X-A": "a\r\nX-B: b"}"#, r#"{"Host": "a"}"#, r#"{"Idempotency-Key": "a"}"#, "[]", "{"] {
        let mut delivery = delivery(&server.url("/"));
        delivery.headers = Some(headers.to_owned());
        let answer = adapter.deliver(delivery).await;
        assert_eq!(answer.outcome, DEAD, "{headers}");
        assert!(answer.error.unwrap().contains("header"), "{headers}");
    }
    let mut odd = delivery(&server.url("/"));
    odd.idempotency_key = "ключ".to_owned();
    let answer = adapter.deliver(odd).await;
    assert!(answer.outcome == DEAD && answer.error.unwrap().contains("channels.hooks.idempotency_key"));
    assert_eq!(server.connections(), 0, "nothing was sent");
    assert_eq!(adapter.deliver(delivery(&server.url("/"))).await.outcome, DELIVERED, "neighbours go out");
}

#[tokio::test]
async fn a_name_that_resolves_to_a_forbidden_address_is_dead() {
    let adapter = channel(&Settings { allow_networks: Vec::new(), ..loopback() }, LONG, false);
    let answer = adapter.deliver(delivery("http://localhost:9/")).await;
    assert_eq!(answer.outcome, DEAD, "{answer:?}");
    let error = answer.error.unwrap();
    assert!(error.contains("localhost resolves only to addresses like"), "{error}");
    assert!(error.contains("channels.hooks.allow_networks"), "{error}");
}

#[tokio::test]
async fn what_was_never_connected_is_retried_even_at_most_once() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let closed = format!("http://{}/", listener.local_addr().unwrap());
    drop(listener);
    let tls = StandIn::start_tls(|_| reply(200, "", "")).await;
    let hanging_up = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let hanging_up_at = format!("https://{}/", hanging_up.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok(connection) = hanging_up.accept().await {
            drop(connection);
        }
    });
    let adapter = channel(&loopback(), LONG, true);
    for (target, said) in [
        (closed, "cannot connect to http://127.0.0.1"),
        ("http://no-such-name.invalid/".to_owned(), "the name of http://no-such-name.invalid cannot be resolved"),
        (format!("https://localhost:{}/", tls.port), "certificate"),
        (hanging_up_at, "cannot connect to https://127.0.0.1"),
    ] {
        let answer = adapter.deliver(delivery(&target)).await;
        assert_eq!(answer.outcome, Outcome::Retry { not_before: None }, "{target}: {answer:?}");
        let error = answer.error.unwrap();
        assert!(error.contains(said), "{target}: {error}");
    }
}

#[tokio::test]
async fn a_connection_that_is_never_made_is_not_in_doubt() {
    // Accepted by the kernel, never by a server: TLS waits for an answer that does not come.
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let target = format!("https://{}/", listener.local_addr().unwrap());
    let answer = channel(&loopback(), Duration::from_millis(600), true).deliver(delivery(&target)).await;
    assert_eq!(answer.outcome, Outcome::Retry { not_before: None }, "{answer:?}");
}

#[tokio::test]
async fn tls_ca_adds_an_authority() {
    let server = StandIn::start_tls(|_| reply(200, "", "")).await;
    let adapter = channel(&trusting(), LONG, false);
    let answer = adapter.deliver(delivery(&format!("https://localhost:{}/", server.port))).await;
    assert_eq!(answer.outcome, DELIVERED, "{answer:?}");
}

#[tokio::test]
async fn an_answer_that_does_not_come_is_in_doubt_within_the_deadline() {
    let server = StandIn::start(|_| Reply::Silence).await;
    let began = Instant::now();
    let answer = channel(&loopback(), Duration::from_millis(500), false).deliver(delivery(&server.url("/"))).await;
    assert_eq!((&answer.outcome, answer.timed_out), (&Outcome::InDoubt, true), "{answer:?}");
    assert!(began.elapsed() >= Duration::from_millis(500) && began.elapsed() < Duration::from_secs(5));
    assert_eq!(server.seen().len(), 1, "sent once");
}

#[tokio::test]
async fn a_delivery_with_a_deadline_of_its_own_has_that_in_place_of_the_channels() {
    let server = StandIn::start(|_| Reply::Silence).await;
    let began = Instant::now();
    let longer = Delivery { deadline: Some(Duration::from_secs(1)), ..delivery(&server.url("/")) };
    let answer = channel(&loopback(), Duration::from_millis(100), false).deliver(longer).await;
    assert!(answer.timed_out && began.elapsed() >= Duration::from_secs(1), "{answer:?}");
}

#[tokio::test]
async fn a_connection_dropped_after_the_request_was_read_is_in_doubt() {
    let server = StandIn::start(|_| Reply::Drop).await;
    let answer = channel(&loopback(), LONG, false).deliver(delivery(&server.url("/"))).await;
    assert_eq!((&answer.outcome, answer.timed_out), (&Outcome::InDoubt, false), "{answer:?}");
    assert_eq!(server.seen().len(), 1, "sent once");
}

#[tokio::test]
async fn a_success_whose_body_trickles_for_ever_is_a_success() {
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n";
    let server = StandIn::start(move |_| Reply::Trickle(head.to_owned())).await;
    let began = Instant::now();
    let answer = channel(&loopback(), LONG, false).deliver(delivery(&server.url("/"))).await;
    assert_eq!(answer.outcome, DELIVERED, "{answer:?}");
    assert!(began.elapsed() < LONG / 2, "the slot is not held for the whole timeout");
}

#[tokio::test]
async fn a_failure_whose_body_trickles_for_ever_is_that_failure_within_the_deadline() {
    let head = "HTTP/1.1 404 Not Found\r\nContent-Length: 1000000\r\n\r\n";
    let server = StandIn::start(move |_| Reply::Trickle(head.to_owned())).await;
    let began = Instant::now();
    let answer = channel(&loopback(), Duration::from_millis(500), false).deliver(delivery(&server.url("/"))).await;
    assert_eq!((answer.outcome, answer.status_code), (DEAD, Some(404)));
    assert!(began.elapsed() < Duration::from_secs(5));
    assert!(answer.excerpt.is_some_and(|excerpt| excerpt.starts_with('x')));
}

#[tokio::test]
async fn a_body_without_end_is_read_to_the_cap_and_dropped() {
    for (status, outcome) in [(200, DELIVERED), (404, DEAD)] {
        let head = format!("HTTP/1.1 {status} Said\r\n\r\n");
        let server = StandIn::start(move |_| Reply::Flood(head.clone())).await;
        let answer = channel(&loopback(), LONG, false).deliver(delivery(&server.url("/"))).await;
        assert_eq!(answer.outcome, outcome, "{answer:?}");
        assert!(answer.excerpt.is_none_or(|excerpt| excerpt.len() == outbox_adapters::adapter::EXCERPT_BYTES));
        assert!(server.flooded() < 32 << 20, "{} bytes were taken", server.flooded());
    }
}

#[tokio::test]
async fn many_requests_need_as_many_connections_as_are_open_at_once() {
    let server = accepting().await;
    let adapter = channel(&loopback(), LONG, false);
    for _ in 0..20 {
        let url = server.url("/");
        let some = (0..8).map(|_| adapter.deliver(delivery(&url)));
        assert!(futures_util::future::join_all(some).await.iter().all(|answer| answer.outcome == DELIVERED));
    }
    assert_eq!(server.seen().len(), 160);
    assert!(server.connections() <= 8, "{} connections", server.connections());
}

#[tokio::test]
async fn a_connection_is_used_again_after_success_and_failure() {
    let server = StandIn::start(|seen| reply(if seen.line().contains("bad") { 500 } else { 200 }, "", "body")).await;
    let adapter = channel(&loopback(), LONG, false);
    for path in ["/good", "/bad", "/good", "/bad"] {
        adapter.deliver(delivery(&server.url(path))).await;
    }
    assert_eq!((server.seen().len(), server.connections()), (4, 1));
}

#[tokio::test]
async fn a_connection_whose_request_was_answered_and_never_read_keeps_no_other_message_waiting() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let target = format!("http://{}/", listener.local_addr().unwrap());
    tokio::spawn(async move {
        let mut held = Vec::new();
        for answer in ["413 Content Too Large", "200 OK"] {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut begun = vec![0; if answer.starts_with("413") { 1 << 20 } else { 1 }];
            stream.read_exact(&mut begun).await.unwrap();
            let answer = format!("HTTP/1.1 {answer}\r\nContent-Length: 0\r\n\r\n");
            stream.write_all(answer.as_bytes()).await.unwrap();
            held.push(stream);
        }
        std::future::pending::<()>().await;
    });
    let adapter = channel(&loopback(), LONG, true);
    let large = Delivery { payload: format!("\"{}\"", "x".repeat(64 << 20)), ..delivery(&target) };
    let answer = adapter.deliver(large).await;
    assert_eq!(answer.outcome, DEAD, "{answer:?}");
    assert_eq!(adapter.deliver(delivery(&target)).await.outcome, DELIVERED);
}

#[tokio::test]
async fn a_request_is_not_written_once_its_permit_is_gone() {
    let server = accepting().await;
    let channel = channel(&loopback(), LONG, false);
    let permitted = Arc::new(AtomicBool::new(true));
    let permit = permitted.clone();
    let delivery = Delivery { permit: Arc::new(move || permit.load(Ordering::SeqCst)), ..delivery(&server.url("/")) };
    assert_eq!(channel.deliver(delivery.clone()).await.outcome, DELIVERED);
    permitted.store(false, Ordering::SeqCst);
    let answer = channel.deliver(delivery.clone()).await;
    assert_eq!((answer.outcome, server.seen().len()), (Outcome::Unsent, 1));
    assert!(answer.error.is_some_and(|error| error.contains("the term ended")));
    permitted.store(true, Ordering::SeqCst);
    assert_eq!(channel.deliver(delivery).await.outcome, DELIVERED);
    assert_eq!(server.connections(), 1, "the connection was kept");
}

#[tokio::test]
async fn a_connection_is_used_no_longer_than_its_server_says_that_it_keeps_it() {
    for (keep_alive, connections) in [("timeout=1", 3), ("timeout=60", 1)] {
        let server = StandIn::start(move |_| reply(200, &format!("Keep-Alive: {keep_alive}\r\n"), "")).await;
        let adapter = channel(&loopback(), Duration::from_secs(20), false);
        for _ in 0..3 {
            let answer = adapter.deliver(delivery(&server.url("/"))).await;
            assert_eq!(answer.outcome, Outcome::Delivered { receipt: None }, "{answer:?}");
        }
        assert_eq!(server.connections(), connections, "{keep_alive}");
    }
}
