//! The receiver: a webhook, and a stand-in for FCM. The name of a target decides how the target answers.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;
use axum::body::to_bytes;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use rand::RngExt;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_util::task::AbortOnDropHandle;

use super::ledger::Ledger;
use super::manner::Manner;
use outbox_console::text::{print, shortened};

/// The time that an answer takes, in milliseconds.
const THINKING_MS: std::ops::Range<u64> = 20..50;

/// The largest body that is shown in part, and the characters of it.
const MOST_BYTES: usize = 64 << 20;
const SHOWN: usize = 1_000;

/// A receiver within this process. It ends when this value goes out of scope.
#[derive(Debug)]
pub(super) struct Receiver {
    /// The address of the receiver.
    pub(super) address: SocketAddr,
    /// The ledger of the receiver.
    pub(super) ledger: Arc<Ledger>,
    _serving: AbortOnDropHandle<()>,
}

impl Receiver {
    /// Stands in for FCM and for webhooks on a free port. Times count from `started`.
    pub(super) async fn start(started: Instant) -> anyhow::Result<Self> {
        let ledger = Ledger::new(started);
        let listener = TcpListener::bind("127.0.0.1:0").await.context("the receiver cannot listen on 127.0.0.1")?;
        let address = listener.local_addr()?;
        let router = webhook().merge(fcm()).with_state(ledger.clone());
        let serving = tokio::spawn(async move {
            // The receiver serves until its task is aborted.
            let _ = axum::serve(listener, router).await;
        });
        Ok(Self { address, ledger, _serving: AbortOnDropHandle::new(serving) })
    }
}

/// Serves as a webhook, and shows the counts at `/`, until the process is stopped.
pub(super) async fn serve(listen: SocketAddr, show: bool) -> anyhow::Result<()> {
    let listener = TcpListener::bind(listen).await.with_context(|| format!("cannot listen on {listen}"))?;
    print(format!("receiver on http://{}: POST anything; GET / shows the counts", listener.local_addr()?))?;
    let router = Router::new()
        .route("/", get(counts).post(take_webhook))
        .route("/healthz", get(async || "ok\n"))
        .route("/{*target}", post(take_webhook))
        .with_state(Ledger::new(Instant::now()));
    let router = if show { router.layer(middleware::from_fn(shown)) } else { router };
    axum::serve(listener, router).await.context("the receiver stopped")
}

/// Prints a request, and passes it on.
async fn shown(request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    let Ok(body) = to_bytes(body, MOST_BYTES).await else { return StatusCode::PAYLOAD_TOO_LARGE.into_response() };
    let headers = parts.headers.iter();
    let headers = headers.map(|(name, value)| format!("{name}: {}\n", String::from_utf8_lossy(value.as_bytes())));
    let text = String::from_utf8_lossy(&body);
    let said =
        format!("{} {}\n{}\n{}\n", parts.method, parts.uri, headers.collect::<String>(), shortened(&text, SHOWN));
    // Nobody may read it any more; the request is answered all the same.
    let _ = print(said);
    next.run(Request::from_parts(parts, body.into())).await
}

fn webhook() -> Router<Arc<Ledger>> {
    Router::new().route("/hook/{*target}", post(take_webhook))
}

fn fcm() -> Router<Arc<Ledger>> {
    Router::new().route("/token", post(hand_out_token)).route("/v1/projects/demo/messages:send", post(take_push))
}

async fn take_webhook(State(ledger): State<Arc<Ledger>>, uri: Uri, headers: HeaderMap) -> (StatusCode, &'static str) {
    let key = headers.get("idempotency-key").and_then(|key| key.to_str().ok()).map(|key| key.trim_matches('"'));
    // A post of an alert, or by hand, is no message.
    let Some(key) = key else { return (StatusCode::OK, "it has no Idempotency-Key, and was not counted\n") };
    let target = uri.path().trim_start_matches("/hook").trim_start_matches('/');
    let (_open, answer) = ledger.enter(key, |before| {
        let answer = Manner::of(target).of_webhook(before);
        (answer.is_success(), answer)
    });
    think().await;
    (answer, "")
}

async fn take_push(State(ledger): State<Arc<Ledger>>, Json(body): Json<Value>) -> (StatusCode, Json<Value>) {
    let message = &body["message"];
    let (Some(key), Some(token)) = (message["data"]["idempotency_key"].as_str(), message["token"].as_str()) else {
        return (StatusCode::BAD_REQUEST, Json(Value::Null));
    };
    let (_open, refused) = ledger.enter(key, |before| {
        let refused = Manner::of(token).of_fcm(before);
        (refused.is_none(), refused)
    });
    think().await;
    match refused {
        None => (StatusCode::OK, Json(json!({ "name": format!("projects/demo/messages/{key}") }))),
        Some((status, code)) => {
            let detail = json!({ "@type": "type.googleapis.com/google.firebase.fcm.v1.FcmError", "errorCode": code });
            (status, Json(json!({ "error": { "code": status.as_u16(), "details": [detail] } })))
        }
    }
}

/// A stand-in for Google's token endpoint. It hands a token to any caller.
async fn hand_out_token() -> Json<Value> {
    Json(json!({ "access_token": "demo", "token_type": "Bearer", "expires_in": 3600 }))
}

async fn counts(State(ledger): State<Arc<Ledger>>) -> String {
    let sums = ledger.sums();
    format!(
        "requests         {}\naccepted         {}\nmessages         {}\naccepted twice   {}\nbeing answered   {}\n",
        sums.requests, sums.accepted, sums.messages, sums.repeated, sums.open
    )
}

async fn think() {
    let pause = Duration::from_millis(rand::rng().random_range(THINKING_MS));
    tokio::time::sleep(pause).await;
}
