//! What an FCM channel sends, and how it keeps its access token.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use outbox_adapters::fcm::{FcmChannel, Settings};
use outbox_adapters::{Adapter, Delivery, TlsRoots};
use outbox_schema::FcmTarget;
use outbox_store::{DeadReason, Outcome, Scope};
use serde_json::{Value, json};

use crate::http::networks;
use crate::stand_in::{Reply, Seen, StandIn, reply};

const LONG: Duration = Duration::from_secs(20);

/// A key file in a place of its own, removed with it.
pub(crate) struct KeyFile(PathBuf);

impl KeyFile {
    pub(crate) fn for_token_uri(token_uri: &str) -> Self {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::SeqCst);
        let path = std::env::temp_dir().join(format!("outbox-fcm-{}-{number}.json", std::process::id()));
        let key = json!({
            "type": "service_account",
            "project_id": "demo-project",
            "private_key": include_str!("service_account.pem"),
            "client_email": "outbox@demo-project.iam.gserviceaccount.com",
            "token_uri": token_uri,
        });
        std::fs::write(&path, key.to_string()).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for KeyFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// FCM and its token endpoint.
pub(crate) struct Fcm {
    pub(crate) server: StandIn,
    key: KeyFile,
}

impl Fcm {
    /// Hands out `token-1`, `token-2` and so on, each for `lifetime` seconds, and answers sends as `script` says.
    pub(crate) async fn start(lifetime: u64, script: impl Fn(&Seen) -> Reply + Send + Sync + 'static) -> Self {
        let fetched = Arc::new(AtomicUsize::new(0));
        let server = StandIn::start(move |seen| {
            if seen.line().starts_with("POST /token ") {
                let number = fetched.fetch_add(1, Ordering::SeqCst) + 1;
                let token = json!({"access_token": format!("token-{number}"), "expires_in": lifetime});
                reply(200, "Content-Type: application/json\r\n", &token.to_string())
            } else {
                script(seen)
            }
        })
        .await;
        let key = KeyFile::for_token_uri(&server.url("/token"));
        Self { server, key }
    }

    pub(crate) fn settings(&self) -> Settings {
        settings(self.key.path(), &self.server.url(""))
    }

    pub(crate) fn channel(&self, timeout: Duration, at_most_once: bool) -> FcmChannel {
        FcmChannel::new("push", &self.settings(), timeout, at_most_once).unwrap()
    }

    fn count(&self, path: &str) -> usize {
        self.server.seen().iter().filter(|seen| seen.line().contains(path)).count()
    }

    pub(crate) fn tokens_fetched(&self) -> usize {
        self.count(" /token ")
    }

    pub(crate) fn sends(&self) -> Vec<Seen> {
        self.server.seen().into_iter().filter(|seen| seen.line().contains("messages:send")).collect()
    }
}

fn settings(credentials: &Path, base_url: &str) -> Settings {
    Settings {
        project_id: String::new(),
        credentials: credentials.to_str().unwrap().to_owned(),
        base_url: base_url.to_owned(),
        targets: FcmTarget::FIELDS.to_vec(),
        allow_networks: networks(&["127.0.0.0/8"]),
        tls_ca: String::new(),
        tls_roots: TlsRoots::System,
        max_connection_age: Duration::from_mins(1),
    }
}

pub(crate) fn delivery(target: &str) -> Delivery {
    Delivery {
        idempotency_key: "order-1".to_owned(),
        target: target.to_owned(),
        destination: "fcm".to_owned(),
        payload: r#"{"notification": {"title": "Hi"}}"#.to_owned(),
        headers: None,
        deadline: None,
        created_at: None,
        traceparent: None,
        tracestate: None,
        permit: Arc::new(|| true),
        recorder: None,
    }
}

fn accepted(_: &Seen) -> Reply {
    reply(200, "", r#"{"name": "projects/demo-project/messages/7"}"#)
}

fn delivered(receipt: Option<&str>) -> Outcome {
    Outcome::Delivered { receipt: receipt.map(str::to_owned) }
}

#[tokio::test]
async fn a_message_is_sent_with_a_token_and_its_receipt_is_kept() {
    let fcm = Fcm::start(3600, accepted).await;
    let adapter = fcm.channel(LONG, false);
    let answer = adapter.deliver(delivery("token:abc")).await;
    assert_eq!(answer.outcome, delivered(Some("projects/demo-project/messages/7")), "{answer:?}");
    let sent = &fcm.sends()[0];
    assert_eq!(sent.line(), "POST /v1/projects/demo-project/messages:send HTTP/1.1");
    assert_eq!(sent.header("authorization"), Some("Bearer token-1"));
    assert_eq!(sent.header("content-type"), Some("application/json"));
    let body: Value = serde_json::from_str(&sent.body).unwrap();
    assert_eq!(body["message"]["token"], "abc");
    assert_eq!(body["message"]["notification"]["title"], "Hi");
    assert_eq!(body["message"]["data"]["idempotency_key"], "order-1");
    assert!(!format!("{adapter:?}").contains("token-1"));
}

#[tokio::test]
async fn a_kind_of_target_that_the_channel_does_not_allow_is_a_dead_letter() {
    let fcm = Fcm::start(3600, accepted).await;
    let settings = Settings { targets: vec!["token"], ..fcm.settings() };
    let adapter = FcmChannel::new("push", &settings, LONG, false).unwrap();
    for target in ["topic:news", "condition:'a' in topics", "fid:abc"] {
        let answer = adapter.deliver(delivery(target)).await;
        assert_eq!(answer.outcome, Outcome::Dead { reason: DeadReason::Permanent }, "{target}: {answer:?}");
        assert!(answer.error.unwrap().contains("channels.push.targets allows token alone"), "{target}");
    }
    assert_eq!(fcm.sends().len(), 0);
    assert_eq!(adapter.deliver(delivery("abc")).await.outcome, delivered(Some("projects/demo-project/messages/7")));
}

#[tokio::test]
async fn many_deliveries_fetch_one_token() {
    let fcm = Fcm::start(3600, accepted).await;
    let adapter = Arc::new(fcm.channel(LONG, false));
    let deliveries: Vec<_> = (0..32)
        .map(|_| {
            let adapter = Arc::clone(&adapter);
            tokio::spawn(async move { adapter.deliver(delivery("abc")).await.outcome })
        })
        .collect();
    for delivery in deliveries {
        assert!(matches!(delivery.await.unwrap(), Outcome::Delivered { .. }));
    }
    assert_eq!((fcm.sends().len(), fcm.tokens_fetched()), (32, 1));
}

#[tokio::test]
async fn a_refused_token_is_dropped_and_the_message_goes_out_with_a_new_one() {
    let fcm = Fcm::start(3600, |seen| match seen.header("authorization") {
        Some("Bearer token-1") => reply(401, "", r#"{"error": {"status": "UNAUTHENTICATED"}}"#),
        _ => accepted(seen),
    })
    .await;
    let adapter = fcm.channel(LONG, false);
    assert!(matches!(adapter.deliver(delivery("abc")).await.outcome, Outcome::Delivered { .. }));
    assert!(matches!(adapter.deliver(delivery("abc")).await.outcome, Outcome::Delivered { .. }));
    assert_eq!((fcm.sends().len(), fcm.tokens_fetched()), (3, 2));
}

#[tokio::test]
async fn a_message_goes_out_with_a_new_token_only_if_its_permit_still_holds() {
    let fcm = Fcm::start(3600, |_| reply(401, "", r#"{"error": {"status": "UNAUTHENTICATED"}}"#)).await;
    let asked = AtomicUsize::new(0);
    let once = move || asked.fetch_add(1, Ordering::SeqCst) == 0;
    let answer = fcm.channel(LONG, false).deliver(Delivery { permit: Arc::new(once), ..delivery("abc") }).await;
    assert!(matches!(answer.outcome, Outcome::Defer { scope: Scope::Channel, .. }), "as it was answered: {answer:?}");
    assert_eq!((answer.status_code, fcm.sends().len(), fcm.tokens_fetched()), (Some(401), 1, 2));
}

#[tokio::test]
async fn a_token_refused_twice_defers_the_channel() {
    let fcm = Fcm::start(3600, |seen| reply(401, "", seen.header("authorization").unwrap())).await;
    let answer = fcm.channel(LONG, false).deliver(delivery("abc")).await;
    assert_eq!(answer.outcome, Outcome::Defer { scope: Scope::Channel, until: Duration::from_mins(1) }, "{answer:?}");
    assert_eq!((fcm.sends().len(), fcm.tokens_fetched()), (2, 2));
    assert_eq!(answer.excerpt.as_deref(), Some("Bearer ***"), "an echoed token is not shown");
}

#[tokio::test]
async fn a_wrong_apns_key_costs_no_new_token() {
    let body = r#"{"error": {"details": [{"@type": "type.googleapis.com/google.firebase.fcm.v1.FcmError",
        "errorCode": "THIRD_PARTY_AUTH_ERROR"}]}}"#;
    let fcm = Fcm::start(3600, move |_| reply(401, "", body)).await;
    let answer = fcm.channel(LONG, false).deliver(delivery("abc")).await;
    assert_eq!(answer.outcome, Outcome::Dead { reason: DeadReason::Permanent }, "{answer:?}");
    assert_eq!((fcm.sends().len(), fcm.tokens_fetched()), (1, 1));
}

#[tokio::test]
async fn a_token_near_its_end_is_renewed_before_it_ends() {
    // Renewed after half of two seconds, while it still holds.
    let fcm = Fcm::start(2, accepted).await;
    let adapter = fcm.channel(LONG, false);
    let began = Instant::now();
    while fcm.tokens_fetched() < 3 && began.elapsed() < LONG {
        assert!(matches!(adapter.deliver(delivery("abc")).await.outcome, Outcome::Delivered { .. }));
    }
    assert_eq!(fcm.tokens_fetched(), 3);
    assert!(began.elapsed() >= Duration::from_secs(2) && fcm.sends().len() > 3, "a token serves many messages");
}

#[tokio::test]
async fn without_a_token_the_channel_waits_and_nothing_is_sent() {
    let refusal = r#"{"error": "invalid_grant", "error_description": "Invalid JWT Signature."}"#;
    let server = StandIn::start(move |_| reply(400, "", refusal)).await;
    let key = KeyFile::for_token_uri(&server.url("/token"));
    let adapter = Arc::new(FcmChannel::new("push", &settings(key.path(), &server.url("")), LONG, false).unwrap());
    let deliveries: Vec<_> = (0..8)
        .map(|_| {
            let adapter = Arc::clone(&adapter);
            tokio::spawn(async move { adapter.deliver(delivery("abc")).await })
        })
        .collect();
    for delivery in deliveries {
        let answer = delivery.await.unwrap();
        let wait = Outcome::Defer { scope: Scope::Channel, until: Duration::from_secs(30) };
        assert_eq!(answer.outcome, wait, "{answer:?}");
        let error = answer.error.unwrap();
        let said =
            format!("{} answered 400: invalid_grant: Invalid JWT Signature.; is the service", server.url("/token"));
        assert!(error.starts_with("cannot get an access token") && error.contains(&said), "{error}");
    }
    // gcp_auth asks up to five times; eight deliveries share that.
    assert!(server.seen().len() <= 5, "{} requests", server.seen().len());
    assert!(server.seen().iter().all(|seen| seen.line().contains(" /token ")));
    let unusable = adapter.check().await.unwrap_err();
    assert!(unusable.starts_with("project demo-project: cannot get an access token"), "{unusable}");
}

#[tokio::test]
async fn a_check_says_for_how_long_there_is_a_token() {
    let fcm = Fcm::start(3600, accepted).await;
    let usable = fcm.channel(LONG, false).check().await.unwrap();
    assert_eq!(usable, "project demo-project: has an access token for 59 more minutes");
    assert!(fcm.sends().is_empty());
}

#[tokio::test]
async fn an_accepted_message_is_delivered_whatever_becomes_of_the_body() {
    for answer in [
        reply(200, "", "not json"),
        reply(200, "", r#"{"name": "a\u0000b"}"#),
        reply(200, "", "{}"),
        Reply::Trickle("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n".to_owned()),
        Reply::Flood("HTTP/1.1 200 OK\r\n\r\n".to_owned()),
    ] {
        let name = format!("{answer:?}");
        let fcm = Fcm::start(3600, move |_| answer.clone()).await;
        let answer = fcm.channel(Duration::from_secs(2), false).deliver(delivery("abc")).await;
        assert_eq!(answer.outcome, delivered(None), "{name}");
    }
}

#[tokio::test]
async fn no_answer_is_in_doubt_and_no_connection_is_retried_after_ten_seconds() {
    for silence in [Reply::Silence, Reply::Drop] {
        let fcm = Fcm::start(3600, move |_| silence.clone()).await;
        let answer = fcm.channel(Duration::from_secs(2), false).deliver(delivery("abc")).await;
        assert_eq!(answer.outcome, Outcome::InDoubt, "{answer:?}");
        assert_eq!(fcm.sends().len(), 1);
    }
    let fcm = Fcm::start(3600, accepted).await;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let closed = Settings { base_url: format!("http://{}", listener.local_addr().unwrap()), ..fcm.settings() };
    drop(listener);
    let answer = FcmChannel::new("push", &closed, LONG, true).unwrap().deliver(delivery("abc")).await;
    assert_eq!(answer.outcome, Outcome::Retry { not_before: None }, "{answer:?}");
}

#[tokio::test]
async fn a_message_that_cannot_be_valid_is_dead_and_asks_nobody() {
    let fcm = Fcm::start(3600, accepted).await;
    let adapter = fcm.channel(LONG, false);
    let answer = adapter.deliver(Delivery { payload: r#"{"token": "x"}"#.to_owned(), ..delivery("abc") }).await;
    assert_eq!(answer.outcome, Outcome::Dead { reason: DeadReason::Permanent });
    assert_eq!(fcm.server.connections(), 0);
}

#[tokio::test]
async fn a_base_url_out_of_reach_defers_the_channel() {
    let fcm = Fcm::start(3600, accepted).await;
    let mut settings = fcm.settings();
    settings.base_url = format!("http://localhost:{}", fcm.server.port);
    settings.allow_networks.clear();
    let answer = FcmChannel::new("push", &settings, LONG, false).unwrap().deliver(delivery("abc")).await;
    assert!(matches!(answer.outcome, Outcome::Defer { scope: Scope::Channel, .. }), "{answer:?}");
    assert!(answer.error.unwrap().contains("channels.push.allow_networks"));
}

#[test]
fn wrong_settings_are_refused_by_the_name_of_their_key() {
    let key = KeyFile::for_token_uri("http://127.0.0.1:1/token");
    let odd = KeyFile::for_token_uri("not a url");
    let good = settings(key.path(), "http://127.0.0.1:1");
    let file = |path: &Path| path.to_str().unwrap().to_owned();
    for (settings, said) in [
        (Settings { credentials: "/nonexistent/key".to_owned(), ..good.clone() }, "credentials: the file"),
        (Settings { credentials: file(odd.path()), ..good.clone() }, "has a \"token_uri\" that is not an https URL"),
        (
            Settings { credentials: concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml").to_owned(), ..good.clone() },
            "is not JSON (line 1, column 2)",
        ),
        (Settings { credentials: String::new(), ..good.clone() }, "project_id: is not set"),
        (Settings { project_id: "a/b".to_owned(), ..good.clone() }, "project_id: \"a/b\""),
        (Settings { base_url: String::new(), ..good.clone() }, "base_url: it is not a URL"),
        (Settings { allow_networks: vec![], ..good.clone() }, "channels.push.allow_networks"),
        (Settings { tls_ca: "/nonexistent/ca".to_owned(), ..good.clone() }, "tls_ca: the file"),
    ] {
        let refused = FcmChannel::new("push", &settings, LONG, false).unwrap_err().to_string();
        assert!(refused.starts_with("channels.push.") && refused.contains(said), "{refused}");
    }
    FcmChannel::new("push", &good, LONG, false).unwrap();
}
