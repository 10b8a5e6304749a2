//! The listener over real HTTP.
#![allow(clippy::unwrap_used, missing_docs)]

use std::collections::{BTreeMap, VecDeque};
use std::future::pending;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use outbox_adapters::TableLease;
use outbox_adapters::http::CLIENT_HEADER;
use outbox_admin::api::{ApiState, Checks};
use outbox_admin::listener::{ListenError, Listener, ListenerSources, Tokens};
use outbox_admin::wake_endpoint::WakeEndpoint;
use outbox_config::LeaseTimes;
use outbox_config::{Config, Sources};
use outbox_console::configured::Configured;
use outbox_console::health::readiness::{Asked, Readiness, Standing};
use outbox_console::health::vitals::{ChannelVitals, Vitals, VitalsCache, VitalsSource};
use outbox_dispatcher::destinations::DestinationsNow;
use outbox_dispatcher::metrics::{Metrics, Name};
use outbox_dispatcher::poller::schedule_now::ScheduleNow;
use outbox_dispatcher::poller::wake_ups::WakeUpListener;
use outbox_dispatcher::reloadable::Reloadable;
use outbox_dispatcher::telemetry::{self, LogFormat, Settings};
use outbox_store::{ConnectOptions, Shard};
use reqwest::header::HeaderValue;
use reqwest::{Client, Method, Response, StatusCode};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

const TOKEN: &str = "correct horse";
const READ_TOKEN: &str = "battery staple";

const PROBLEM: HeaderValue = HeaderValue::from_static("application/problem+json");

/// A database that counts how often it is asked.
#[derive(Default)]
struct Database {
    asked: AtomicUsize,
    down: bool,
}

#[async_trait]
impl VitalsSource for Database {
    async fn vitals(&self) -> Result<Vitals, String> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        if self.down {
            return Err("connection refused".to_owned());
        }
        let rows = ChannelVitals { channel: "http".to_owned(), pending: 3, ..ChannelVitals::default() };
        Ok(Vitals { channels: vec![rows], ..Vitals::default() })
    }
}

/// Gives the same causes each time, and counts. Where it waits for a server, it gives none.
#[derive(Default)]
struct Causes {
    asked: AtomicUsize,
    given: Vec<String>,
    waits: Option<Asked>,
}

#[async_trait]
impl Readiness for Causes {
    async fn look(&self) -> Standing {
        self.asked.fetch_add(1, Ordering::SeqCst);
        if self.waits.is_some() {
            pending::<()>().await;
        }
        Standing { causes: self.given.clone(), notes: Vec::new() }
    }

    fn waits_for(&self) -> Asked {
        self.waits.unwrap_or(Asked::Database)
    }
}

#[derive(Default)]
struct Setup {
    database: Arc<Database>,
    readiness: Arc<Causes>,
    token: Option<&'static str>,
    retry_token: Option<&'static str>,
    read_token: Option<&'static str>,
    metrics_token: Option<&'static str>,
}

struct Running {
    address: SocketAddr,
    client: Client,
    stop: CancellationToken,
    served: JoinHandle<()>,
}

fn shown(setup: &Setup) -> ListenerSources {
    let settings =
        Settings { log_format: LogFormat::Text, log_level: Some("off"), otlp_endpoint: None, instance: "test" };
    let (telemetry, _) = telemetry::prepare(&settings).unwrap();
    let metrics: Metrics = telemetry.metrics(["http"], &[Shard(0)]).unwrap();
    ListenerSources {
        metrics: Arc::new(metrics),
        vitals: Arc::new(VitalsCache::new(Arc::clone(&setup.database) as Arc<dyn VitalsSource>)),
        liveness: Arc::default(),
        readiness: Arc::clone(&setup.readiness) as Arc<dyn Readiness>,
        destinations: DestinationsNow::default(),
    }
}

/// An outbox without tables: who asks for more than the listener itself gets an error.
async fn api_state() -> ApiState {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite://{}/empty.db", folder.path().display());
    let options = ConnectOptions { url: &url, schema: None, connections: 1 };
    let database = outbox_store::Database::connect(&options).await.unwrap();
    let outbox_store::Database::Sqlite(pool) = database.clone() else { panic!("{url} is no SQLite") };
    let ttl = Duration::from_secs(10);
    let lease = LeaseTimes { ttl, term: ttl };
    let config = Config::load(&Sources::default()).unwrap();
    ApiState {
        database,
        lease: Arc::new(TableLease::Sqlite(pool)),
        started: Arc::new(config.clone()),
        config: Reloadable::new(config),
        configured: Reloadable::new(Configured { channels: BTreeMap::new(), lease }),
        retention: Reloadable::new(outbox_store::Retention::default()),
        wake_endpoint: WakeEndpoint::new(Arc::new(WakeUpListener::new(Arc::default())), None),
        checks: Checks::default(),
        schedule: ScheduleNow::default(),
    }
}

fn tokens(operate: Option<&str>, read: Option<&str>) -> Reloadable<Tokens> {
    Reloadable::new(Tokens { operate: operate.map(Arc::from), read: read.map(Arc::from), ..Tokens::default() })
}

fn loopback() -> SocketAddr {
    "127.0.0.1:0".parse().unwrap()
}

impl Setup {
    async fn start(&self) -> Running {
        // The client insists on a TLS provider, though nothing here is TLS.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let [operate, retry, read, metrics] =
            [self.token, self.retry_token, self.read_token, self.metrics_token].map(|token| token.map(Arc::from));
        let tokens = Reloadable::new(Tokens { operate, retry, read, metrics, operators: None });
        let listener = Listener::bind(loopback(), tokens).await.unwrap();
        let address = listener.address();
        let stop = CancellationToken::new();
        let served = tokio::spawn(listener.serve(shown(self), api_state().await, stop.clone()));
        Running { address, client: Client::builder().no_proxy().build().unwrap(), stop, served }
    }
}

impl Running {
    async fn get(&self, path: &str) -> Response {
        self.request(Method::GET, path, None).await
    }

    async fn request(&self, method: Method, path: &str, authorization: Option<&str>) -> Response {
        let request = self.client.request(method, format!("http://{}{path}", self.address)).header(CLIENT_HEADER, "1");
        let request = match authorization {
            Some(authorization) => request.header("authorization", authorization),
            None => request,
        };
        request.send().await.unwrap()
    }
}

fn ready(causes: &[&str]) -> Arc<Causes> {
    Arc::new(Causes { given: causes.iter().map(|&cause| cause.to_owned()).collect(), ..Causes::default() })
}

#[tokio::test]
async fn health_is_open_though_a_token_is_set() {
    let running = Setup { token: Some(TOKEN), ..Setup::default() }.start().await;
    let health = running.get("/healthz").await;
    assert_eq!((health.status(), health.text().await.unwrap().as_str()), (StatusCode::OK, "ok"));
    assert_eq!(running.get("/readyz").await.status(), StatusCode::OK);
}

#[tokio::test]
async fn all_else_asks_for_the_token() {
    let running = Setup { token: Some(TOKEN), ..Setup::default() }.start().await;
    for wrong in [None, Some("Bearer "), Some("Bearer correct hors"), Some("Bearer correct horsE"), Some(TOKEN)] {
        for path in ["/metrics", "/nothing", "/api/v1/status", "/api/v1/openapi.json", "/api/v1/messages/1"] {
            let refused = running.request(Method::GET, path, wrong).await;
            assert_eq!(refused.status(), StatusCode::UNAUTHORIZED, "{path} with {wrong:?}");
            assert_eq!(refused.headers()["www-authenticate"], "Bearer");
        }
    }
    for right in ["Bearer correct horse", "bearer correct horse"] {
        assert_eq!(running.request(Method::GET, "/metrics", Some(right)).await.status(), StatusCode::OK);
    }
}

#[tokio::test]
async fn a_token_that_reads_changes_nothing() {
    let running = Setup { token: Some(TOKEN), read_token: Some(READ_TOKEN), ..Setup::default() }.start().await;
    let (reads, operates) = (format!("Bearer {READ_TOKEN}"), format!("Bearer {TOKEN}"));
    for path in ["/metrics", "/api/v1/openapi.json"] {
        assert_eq!(running.request(Method::GET, path, Some(&reads)).await.status(), StatusCode::OK, "{path}");
    }
    let changes = ["messages/1/cancel", "messages/1/edit", "messages/1/redrive", "dead-letters/redrive"];
    for path in changes.into_iter().chain(["dead-letters/purge", "redrives/1/undo"]) {
        let path = format!("/api/v1/{path}");
        let refused = running.request(Method::POST, &path, Some(&reads)).await;
        assert_eq!(refused.status(), StatusCode::FORBIDDEN, "{path}");
        assert_eq!(refused.headers()["content-type"], "application/problem+json");
        // No body: let through, and not understood.
        let asked = running.request(Method::POST, &path, Some(&operates)).await;
        assert_eq!(asked.status(), StatusCode::UNSUPPORTED_MEDIA_TYPE, "{path}");
    }
}

#[tokio::test]
async fn a_token_that_retries_sends_again_and_changes_nothing_else() {
    let setup = Setup { token: Some(TOKEN), retry_token: Some("again"), ..Setup::default() };
    let running = setup.start().await;
    let ask = async |path: &str| running.request(Method::POST, &format!("/api/v1/{path}"), Some("Bearer again")).await;
    assert_eq!(running.request(Method::GET, "/metrics", Some("Bearer again")).await.status(), StatusCode::OK);
    let again = ["messages/1/retry", "messages/1/redrive", "messages/retry", "messages/replay", "dead-letters/redrive"];
    for path in again.into_iter().chain(["operations/1/stop"]) {
        // No body: let through, and not understood.
        assert_eq!(ask(path).await.status(), StatusCode::UNSUPPORTED_MEDIA_TYPE, "{path}");
    }
    let others = ["messages/1/cancel", "messages/cancel", "messages/1/edit", "dead-letters/edit", "dead-letters/purge"];
    let pauses = ["destinations/http/pause", "recurring/daily/fire", "jobs/nightly/release", "invalid-targets/clear"];
    for path in others.into_iter().chain(pauses).chain(["redrives/1/undo", "prune", "wake"]) {
        let refused = ask(path).await;
        assert_eq!(refused.status(), StatusCode::FORBIDDEN, "{path}");
        assert!(refused.text().await.unwrap().contains("you may retry, redrive and replay"), "{path}");
    }
    for (action, allowed) in [("redrive", true), ("retry", true), ("replay", true), ("purge", false), ("cancel", false)]
    {
        let selection =
            if matches!(action, "redrive" | "purge") { r#"{"ids":[1]}"# } else { r#"{"filter":{"channel":"http"}}"# };
        let body = format!(r#"{{"action":"{action}","selection":{selection},"author":{{"by":"ada","why":"test"}}}}"#);
        let request = running.client.post(format!("http://{}/api/v1/changes", running.address)).body(body);
        let request = request.header(CLIENT_HEADER, "1").header("authorization", "Bearer again");
        let answer = request.header("content-type", "application/json").send().await.unwrap();
        let (status, text) = (answer.status(), answer.text().await.unwrap());
        // This replica has no database to carry it out.
        let expected = if allowed { StatusCode::SERVICE_UNAVAILABLE } else { StatusCode::FORBIDDEN };
        assert_eq!(status, expected, "{action}: {text}");
    }
}

#[tokio::test]
async fn with_only_a_token_that_reads_nobody_changes_anything() {
    let running = Setup { read_token: Some(READ_TOKEN), ..Setup::default() }.start().await;
    let path = "/api/v1/messages/1/cancel";
    assert_eq!(running.request(Method::POST, path, None).await.status(), StatusCode::UNAUTHORIZED);
    let reads = format!("Bearer {READ_TOKEN}");
    assert_eq!(running.request(Method::POST, path, Some(&reads)).await.status(), StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn a_token_for_metrics_opens_nothing_else_and_the_others_open_them_too() {
    let setup = Setup { read_token: Some(READ_TOKEN), metrics_token: Some("scrape"), ..Setup::default() };
    let running = setup.start().await;
    for token in ["Bearer scrape", &format!("Bearer {READ_TOKEN}")] {
        assert_eq!(running.request(Method::GET, "/metrics", Some(token)).await.status(), StatusCode::OK, "{token}");
    }
    for (method, path) in [
        (Method::GET, "/api/v1/openapi.json"),
        (Method::GET, "/api/v1/messages/1"),
        (Method::POST, "/api/v1/messages/1/cancel"),
        (Method::POST, "/api/v1/wake"),
        (Method::GET, "/nothing"),
    ] {
        let refused = running.request(method, path, Some("Bearer scrape")).await;
        assert_eq!(refused.status(), StatusCode::FORBIDDEN, "{path}");
        assert!(refused.text().await.unwrap().contains("admin.metrics_token is for /metrics alone"), "{path}");
    }
    let alone = Setup { metrics_token: Some("scrape"), ..Setup::default() }.start().await;
    assert_eq!(alone.get("/metrics").await.status(), StatusCode::UNAUTHORIZED);
    assert_eq!(alone.get("/api/v1/openapi.json").await.status(), StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn a_probe_by_the_name_of_somebody_else_gets_the_status_and_not_the_words() {
    let readiness = ready(&["database: role shop, session 4711"]);
    let running = Setup { readiness, read_token: Some(READ_TOKEN), ..Setup::default() }.start().await;
    let ask = async |host: &str, authorization: &str| {
        let mut client = TcpStream::connect(running.address).await.unwrap();
        let request = format!("GET /readyz HTTP/1.1\r\nhost: {host}\r\nauthorization: {authorization}\r\n\r\n");
        client.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        client.read_to_string(&mut answer).await.unwrap();
        answer
    };
    for (host, authorization, told) in [
        ("10.1.2.3:8640", "", true),
        ("localhost", "", true),
        ("[::1]:8640", "", true),
        ("outbox.internal", &*format!("Bearer {READ_TOKEN}"), true),
        ("outbox.internal", "", false),
        ("evil.example", "Bearer wrong", false),
    ] {
        let answer = ask(host, authorization).await;
        assert!(answer.starts_with("HTTP/1.1 503"), "{host}: {answer}");
        assert_eq!(answer.contains("session 4711"), told, "{host}: {answer}");
        assert_eq!(answer.contains("ask by an IP address"), !told, "{host}: {answer}");
    }
}

#[tokio::test]
async fn without_a_token_a_name_that_somebody_else_may_own_is_refused() {
    let running = Setup::default().start().await;
    let port = running.address.port();
    let ask = async |host: &str| {
        let mut client = TcpStream::connect(running.address).await.unwrap();
        let request = format!("GET /api/v1/openapi.json HTTP/1.1\r\nhost: {host}\r\n\r\n");
        client.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        client.read_to_string(&mut answer).await.unwrap();
        answer.lines().next().unwrap().to_owned()
    };
    for ours in [format!("127.0.0.1:{port}"), format!("localhost:{port}"), "LOCALHOST".to_owned(), "[::1]".to_owned()] {
        assert_eq!(ask(&ours).await, "HTTP/1.1 200 OK", "{ours}");
    }
    for foreign in ["evil.example", "localhost.evil.example:80", "127.0.0.1.nip.io", "a@b"] {
        assert!(ask(foreign).await.starts_with("HTTP/1.1 4"), "{foreign}");
    }
}

#[tokio::test]
async fn a_request_that_a_page_on_the_web_could_send_changes_nothing() {
    let running = Setup::default().start().await;
    // What a browser sends to another origin without asking it first: https://fetch.spec.whatwg.org/#cors-safelisted-request-header
    for simple in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"] {
        let url = format!("http://{}/api/v1/messages/1/cancel", running.address);
        let asked = running.client.post(url).header("content-type", simple).body("{}");
        let refused = asked.try_clone().unwrap().send().await.unwrap();
        assert_eq!(refused.status(), StatusCode::FORBIDDEN, "{simple}");
        let refused = asked.header(CLIENT_HEADER, "1").send().await.unwrap();
        assert_eq!(refused.status(), StatusCode::UNSUPPORTED_MEDIA_TYPE, "{simple}");
    }
}

#[tokio::test]
async fn a_change_without_the_header_of_a_client_is_refused_and_the_description_asks_for_it() {
    let running = Setup { token: Some(TOKEN), ..Setup::default() }.start().await;
    let bearer = format!("Bearer {TOKEN}");
    let text = running.request(Method::GET, "/api/v1/openapi.json", Some(&bearer)).await.text().await.unwrap();
    let description: serde_json::Value = serde_json::from_str(&text).unwrap();
    let mut changes = 0;
    for (path, methods) in description["paths"].as_object().unwrap() {
        let Some(post) = methods.get("post") else { continue };
        let asks_for = |name: &str| {
            post["parameters"]
                .as_array()
                .is_some_and(|all| all.iter().any(|p| p["name"] == name && p["required"] == true))
        };
        let url = format!("http://{}{}", running.address, path.replace("{id}", "1"));
        let posted = running
            .client
            .post(url)
            .header("authorization", &bearer)
            .header("content-type", "application/json")
            .body("{}");
        let answer = posted.send().await.unwrap();
        assert_eq!(
            answer.status() == StatusCode::FORBIDDEN,
            asks_for("X-Outbox-Client"),
            "{path}: {}",
            answer.status()
        );
        if answer.status() == StatusCode::FORBIDDEN {
            changes += 1;
            assert!(answer.text().await.unwrap().contains("changes need the header X-Outbox-Client"), "{path}");
        }
    }
    assert_eq!(changes, 23);
}

#[tokio::test]
async fn what_is_asked_wrongly_is_said_in_the_form_of_a_problem() {
    let running = Setup::default().start().await;
    for (path, status, said) in [
        ("/api/v1/nothing", 404, "openapi.json"),
        ("/api/v1/messages/abc", 400, "abc"),
        ("/api/v1/messages/1/cancel", 405, "another method"),
        ("/api/v1/dead-letters?chanel=orders", 400, "chanel"),
        ("/api/v1/dead-letters?limit=0", 400, "1 to 10000"),
        ("/api/v1/dead-letters?after=there", 400, "after"),
        ("/api/v1/dead-letters?since=yesterday", 400, "2h"),
        ("/api/v1/dead-letters?reason=bored", 400, "bored"),
        ("/api/v1/dead-letters?limit=abc", 400, "limit = "),
        ("/api/v1/dead-letters?status_code=abc", 400, "status_code = "),
        ("/api/v1/messages?priority=-1", 400, "priority = "),
        ("/api/v1/messages/by-key?key=%00", 400, "key = "),
        ("/api/v1/invalid-targets?channel=%00", 400, "channel = "),
        // The database has no tables.
        ("/api/v1/dead-letters", 503, "no such table"),
    ] {
        let answer = running.get(path).await;
        assert_eq!((answer.status().as_u16(), &answer.headers()["content-type"]), (status, &PROBLEM), "{path}");
        let problem: serde_json::Value = serde_json::from_str(&answer.text().await.unwrap()).unwrap();
        assert_eq!(problem["status"], status, "{path}");
        assert!(problem["type"].as_str().unwrap().starts_with("urn:outbox:problem:"), "{problem}");
        assert!(problem["detail"].as_str().unwrap().contains(said), "{problem}");
    }
}

#[tokio::test]
async fn an_unknown_path_is_not_there_by_any_method_and_a_known_one_wants_its_own() {
    let running = Setup { token: Some(TOKEN), ..Setup::default() }.start().await;
    let bearer = format!("Bearer {TOKEN}");
    for method in [Method::GET, Method::POST, Method::PUT, Method::DELETE] {
        for path in ["/nothing", "/api/v1/nothing", "/api/v1/messages/1/nothing"] {
            let answer = running.request(method.clone(), path, Some(&bearer)).await;
            assert_eq!(
                (answer.status().as_u16(), &answer.headers()["content-type"]),
                (404, &PROBLEM),
                "{method} {path}"
            );
            assert!(answer.text().await.unwrap().contains("openapi.json"), "{method} {path}");
            let answer = running.request(method.clone(), path, None).await;
            assert_eq!(answer.status().as_u16(), 401, "{method} {path}");
        }
    }
    for path in ["/healthz", "/api/v1/status", "/api/v1/messages/1"] {
        let answer = running.request(Method::POST, path, Some(&bearer)).await;
        assert_eq!((answer.status().as_u16(), &answer.headers()["content-type"]), (405, &PROBLEM), "{path}");
    }
}

#[tokio::test]
async fn a_destination_that_cannot_be_is_not_paused() {
    let running = Setup::default().start().await;
    for name in
        ["https%3A%2F%2Fx%00y", "a%00", "https%3A%2F%2Fa%20b", "https%3A%2F%2Fx%3A99999", "https%3A%2F%2F%5B%3A%3A1"]
    {
        let url = format!("http://{}/api/v1/destinations/{name}/pause", running.address);
        let body = r#"{"author": {"by": "ada", "why": "they move"}}"#;
        let asked =
            running.client.post(url).header(CLIENT_HEADER, "1").header("content-type", "application/json").body(body);
        let answer = asked.send().await.unwrap();
        assert_eq!((answer.status().as_u16(), &answer.headers()["content-type"]), (404, &PROBLEM), "{name}");
        let said = answer.text().await.unwrap();
        assert!(said.contains("is neither a configured channel"), "{said}");
    }
}

#[tokio::test]
async fn everything_that_is_described_is_there() {
    let running = Setup::default().start().await;
    let text = running.get("/api/v1/openapi.json").await.text().await.unwrap();
    let description: serde_json::Value = serde_json::from_str(&text).unwrap();
    let paths = description["paths"].as_object().unwrap();
    assert!(paths.len() >= 16, "{text}");
    for (path, methods) in paths {
        for method in methods.as_object().unwrap().keys() {
            let method: Method = method.to_uppercase().parse().unwrap();
            let answer = running.request(method.clone(), &path.replace("{id}", "1"), None).await;
            // The database has no tables, changes want a body, and this replica does not poll.
            let expected = match (&method, path.as_str()) {
                // A check says so itself.
                (&Method::GET, "/api/v1/check") => [200, 200],
                (&Method::GET, _) => [503, 400],
                (_, "/api/v1/wake") => [409, 409],
                _ => [415, 415],
            };
            assert!(expected.contains(&answer.status().as_u16()), "{method} {path}: {}", answer.status());
        }
    }
}

#[tokio::test]
async fn without_a_token_metrics_are_open_and_elsewhere_is_nothing() {
    let running = Setup::default().start().await;
    assert_eq!(running.get("/metrics").await.status(), StatusCode::OK);
    assert_eq!(running.get("/nothing").await.status(), StatusCode::NOT_FOUND);
    assert_eq!(running.request(Method::POST, "/metrics", None).await.status(), StatusCode::METHOD_NOT_ALLOWED);
}

#[tokio::test]
async fn metrics_show_what_the_database_says_and_ask_it_once() {
    let setup = Setup::default();
    let running = setup.start().await;
    for _ in 0..3 {
        let scrape = running.get("/metrics").await;
        assert_eq!(scrape.headers()["content-type"], "text/plain; version=0.0.4; charset=utf-8");
        let text = scrape.text().await.unwrap();
        assert!(text.contains(r#"outbox_messages{channel="http",status="PENDING"} 3"#), "{text}");
    }
    assert_eq!(setup.database.asked.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn without_the_database_the_numbers_of_the_process_are_still_shown() {
    let database = Arc::new(Database { down: true, ..Database::default() });
    let running = Setup { database, ..Setup::default() }.start().await;
    let text = running.get("/metrics").await.text().await.unwrap();
    assert!(text.contains(Name::LeaseHeld.as_str()), "{text}");
    assert!(!text.contains(Name::Lag.as_str()), "{text}");
}

#[tokio::test]
async fn readiness_names_what_is_wrong_and_asks_once() {
    let setup = Setup { readiness: ready(&["database: connection refused"]), ..Setup::default() };
    let running = setup.start().await;
    for _ in 0..3 {
        let answer = running.get("/readyz").await;
        assert_eq!(answer.status(), StatusCode::SERVICE_UNAVAILABLE);
        let body: serde_json::Value = serde_json::from_str(&answer.text().await.unwrap()).unwrap();
        assert_eq!(body, serde_json::json!({ "ready": false, "causes": ["database: connection refused"] }));
    }
    assert_eq!(setup.readiness.asked.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn who_asks_while_a_server_says_nothing_hears_which_one_it_is() {
    for (waits, cause) in [
        (Asked::Database, "database: no answer within 1.5s"),
        (Asked::LeaseStore, "lease store: no answer within 1.5s"),
    ] {
        let readiness = Arc::new(Causes { waits: Some(waits), ..Causes::default() });
        let running = Setup { readiness, ..Setup::default() }.start().await;
        let answer = running.get("/readyz").await.bytes().await.unwrap();
        let body: serde_json::Value = serde_json::from_slice(&answer).unwrap();
        assert_eq!(body, serde_json::json!({ "ready": false, "causes": [cause] }));
    }
}

#[tokio::test]
async fn an_address_that_is_taken_is_refused_by_the_name_of_its_setting() {
    let running = Setup::default().start().await;
    let refused = Listener::bind(running.address, tokens(None, None)).await.unwrap_err();
    assert!(matches!(refused, ListenError::Bind { .. }));
    let words = refused.to_string();
    assert!(words.starts_with(&format!("admin.listen = \"{}\" cannot be listened on: ", running.address)), "{words}");
}

#[tokio::test]
async fn an_address_beyond_loopback_needs_a_token_and_an_empty_one_is_none() {
    let everywhere = "0.0.0.0:0".parse().unwrap();
    let refused = Listener::bind(everywhere, tokens(None, None)).await;
    assert!(matches!(refused, Err(ListenError::Exposed { .. })));
    for empty in [tokens(Some(""), None), tokens(Some(TOKEN), Some(""))] {
        let refused = Listener::bind(everywhere, empty).await;
        assert!(matches!(refused, Err(ListenError::EmptyToken)));
    }
    for enough in [tokens(Some(TOKEN), None), tokens(None, Some(READ_TOKEN))] {
        assert!(Listener::bind(everywhere, enough).await.is_ok());
    }
}

#[tokio::test]
async fn loopback_of_ipv4_that_is_written_as_one_of_ipv6_needs_no_token() {
    let mapped = "[::ffff:127.0.0.1]:0".parse().unwrap();
    let bound = Listener::bind(mapped, tokens(None, None)).await;
    // A machine may be without IPv6; it is not refused for want of a token.
    assert!(!matches!(bound, Err(ListenError::Exposed { .. })));
}

#[tokio::test]
async fn clients_that_say_nothing_do_not_keep_the_listener_from_stopping() {
    let running = Setup::default().start().await;
    let mut silent = TcpStream::connect(running.address).await.unwrap();
    assert_eq!(running.get("/healthz").await.status(), StatusCode::OK);
    running.stop.cancel();
    tokio::time::timeout(Duration::from_secs(5), running.served).await.unwrap().unwrap();
    assert!(TcpStream::connect(running.address).await.is_err());
    assert_eq!(silent.read(&mut [0; 16]).await.unwrap(), 0);
}

/// What kubelet gives a probe by the deployment of docs/deploy.md.
const PROBE_PATIENCE: Duration = Duration::from_secs(5);

fn allow_many_sockets() {
    let limits = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limits.maximum, ..limits }).unwrap();
}

#[tokio::test]
async fn probes_are_answered_while_a_thousand_clients_hold_a_connection_and_say_nothing() {
    const SILENT: usize = 1_000;
    allow_many_sockets();
    let running = Setup { token: Some(TOKEN), ..Setup::default() }.start().await;
    let mut silent = VecDeque::new();
    for _ in 0..20 {
        // Those who were hung up on come again.
        silent.drain(..silent.len() / 2);
        while silent.len() < SILENT {
            silent.push_back(TcpStream::connect(running.address).await.unwrap());
        }
        for path in ["/healthz", "/readyz"] {
            let answer = tokio::time::timeout(PROBE_PATIENCE, running.get(path)).await;
            assert_eq!(answer.expect("no answer to a probe").status(), StatusCode::OK, "{path}");
        }
    }
}

#[tokio::test]
async fn probes_are_answered_while_requests_of_others_take_all_slots() {
    let running = Setup::default().start().await;
    // Each of these has its head, and not its body: it is answered only once that has come.
    let request = b"POST /api/v1/messages/1/cancel HTTP/1.1\r\nhost: localhost\r\nx-outbox-client: 1\r\n\
                    content-type: application/json\r\ncontent-length: 2\r\n\r\n";
    let mut slow = Vec::new();
    for _ in 0..200 {
        let mut client = TcpStream::connect(running.address).await.unwrap();
        client.write_all(request).await.unwrap();
        slow.push(client);
    }
    for path in ["/healthz", "/readyz"] {
        let answer = tokio::time::timeout(PROBE_PATIENCE, running.get(path)).await;
        assert_eq!(answer.expect("no answer to a probe").status(), StatusCode::OK, "{path}");
    }
}

#[tokio::test]
async fn strangers_who_begin_a_form_and_never_end_it_keep_nobody_else_waiting() {
    let running = Setup { token: Some(TOKEN), ..Setup::default() }.start().await;
    allow_many_sockets();
    let mut slow = Vec::new();
    for path in ["/sign-in", "/operations/1/stop"] {
        let request = format!(
            "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/x-www-form-urlencoded\r\n\
             content-length: 16000\r\n\r\ntoken="
        );
        for _ in 0..400 {
            let mut client = TcpStream::connect(running.address).await.unwrap();
            client.write_all(request.as_bytes()).await.unwrap();
            slow.push(client);
        }
    }
    let scrape = running.request(Method::GET, "/metrics", Some("Bearer correct horse"));
    let scraped = tokio::time::timeout(PROBE_PATIENCE, scrape).await;
    assert_eq!(scraped.expect("no answer to a scrape").status(), StatusCode::OK);
}

#[tokio::test]
async fn a_connection_carries_one_request_so_that_it_does_not_take_a_slot_when_idle() {
    let running = Setup::default().start().await;
    let mut client = TcpStream::connect(running.address).await.unwrap();
    client.write_all(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    let mut answer = String::new();
    let closed = client.read_to_string(&mut answer);
    tokio::time::timeout(Duration::from_secs(5), closed).await.unwrap().unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK") && answer.ends_with("ok"), "{answer}");
}

#[tokio::test]
async fn a_probe_that_has_just_come_is_answered_though_the_replica_begins() {
    let listener = Listener::bind(loopback(), tokens(None, None)).await.unwrap();
    let (address, begins) = (listener.address(), CancellationToken::new());
    let (_cause, causes) = tokio::sync::watch::channel("database: not there".to_owned());
    let waiting = tokio::spawn(listener.wait(shown(&Setup::default()).metrics, causes, begins.clone()));
    let mut probe = TcpStream::connect(address).await.unwrap();
    // Whoever answers the second connection has taken the first one.
    let mut second = TcpStream::connect(address).await.unwrap();
    second.write_all(b"GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
    let mut text = String::new();
    second.read_to_string(&mut text).await.unwrap();
    begins.cancel();
    waiting.await.unwrap();

    probe.write_all(b"GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
    text.clear();
    probe.read_to_string(&mut text).await.unwrap();
    assert!(text.starts_with("HTTP/1.1 503"), "{text:?}");
}

#[tokio::test]
async fn a_browser_gets_a_page_where_nothing_is_and_a_program_gets_a_problem() {
    let running = Setup::default().start().await;
    for (path, status) in [("/nosuch", StatusCode::NOT_FOUND), ("/destinations/pause", StatusCode::METHOD_NOT_ALLOWED)]
    {
        let url = format!("http://{}{path}", running.address);
        let page = running.client.get(&url).header("accept", "text/html,*/*;q=0.8").send().await.unwrap();
        assert_eq!(page.status(), status);
        assert!(page.headers()["content-type"].to_str().unwrap().starts_with("text/html"), "{path}");
        assert!(page.text().await.unwrap().contains("To the overview"), "{path}");
        let problem = running.get(path).await;
        let media_type = problem.headers()["content-type"].to_str().unwrap();
        assert_eq!((problem.status(), media_type), (status, "application/problem+json"));
    }
}
