//! A receiver that writes down what it gets, and answers by the path that it is asked for. It also stands in for FCM.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use parking_lot::Mutex;
use serde_json::{Value, json};

/// A request as it came, its body if it was short.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Request {
    /// For those who judge it: `{"headers": {...}, "body": "..."}`.
    pub(crate) fn to_json(&self) -> Value {
        let header = |(name, value): (&HeaderName, &HeaderValue)| (name.to_string(), json!(value.to_str().unwrap()));
        let headers: Value = self.headers.iter().map(header).collect();
        json!({ "headers": headers, "body": String::from_utf8(self.body.to_vec()).unwrap() })
    }
}

/// It ends with the test.
#[derive(Debug, Clone)]
pub(crate) struct Sink {
    port: u16,
    requests: Arc<Mutex<Vec<Request>>>,
}

/// A body that no one should have to read: text that is no UTF-8, and NUL characters.
pub(crate) const GARBAGE: &[u8] = b"\0refused\xff\xfe\x1b[31m \xf0\x28 because\0";

impl Sink {
    pub(crate) async fn start() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let sink = Self { port: listener.local_addr().unwrap().port(), requests: Arc::default() };
        let router = Router::new().fallback(take).layer(DefaultBodyLimit::disable()).with_state(sink.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        sink
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// All but what asks for access tokens.
    pub(crate) fn requests(&self) -> Vec<Request> {
        self.requests.lock().clone()
    }

    /// How often each idempotency key came.
    pub(crate) fn keys(&self) -> BTreeMap<String, usize> {
        let mut keys = BTreeMap::new();
        for request in self.requests() {
            let key = request.headers.get("idempotency-key").map_or("", |key| key.to_str().unwrap());
            *keys.entry(key.trim_matches('"').to_owned()).or_default() += 1;
        }
        keys
    }
}

async fn take(State(sink): State<Sink>, uri: Uri, headers: HeaderMap, body: Bytes) -> Response {
    let path = uri.path().to_owned();
    if path == "/token" {
        return axum::Json(json!({ "access_token": "token", "expires_in": 3600 })).into_response();
    }
    let answer = answer(&path);
    // What is kept of a long body must not keep all of it.
    let body = if body.len() > 100_000 { Bytes::copy_from_slice(&body[..64]) } else { body };
    let first = {
        let mut requests = sink.requests.lock();
        let first = !requests.iter().any(|earlier| earlier.path == path);
        requests.push(Request { path: path.clone(), headers, body });
        first
    };
    if first && path.ends_with("/hangs-once") {
        std::future::pending::<()>().await;
    }
    if !first && path.contains("/knows") {
        return ([("idempotent-replayed", "true")], answer).into_response();
    }
    answer
}

/// The last part of the path says what to answer.
fn answer(path: &str) -> Response {
    match path.rsplit('/').next().unwrap_or_default() {
        "messages:send" => axum::Json(json!({ "name": "projects/test/messages/1" })).into_response(),
        "garbage" => (StatusCode::BAD_REQUEST, GARBAGE).into_response(),
        "flood" => (StatusCode::BAD_REQUEST, GARBAGE.repeat(300_000)).into_response(),
        "flooded" => (StatusCode::OK, GARBAGE.repeat(300_000)).into_response(),
        "busy" => (StatusCode::SERVICE_UNAVAILABLE, GARBAGE).into_response(),
        "gone" => (StatusCode::GONE, GARBAGE).into_response(),
        "odd" => (StatusCode::from_u16(999).unwrap(), [("x-odd", "\u{80}")], GARBAGE).into_response(),
        "thanks" => (StatusCode::OK, "thank you").into_response(),
        _ => StatusCode::NO_CONTENT.into_response(),
    }
}
