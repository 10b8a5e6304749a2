//! The routes of the listener.

use std::time::Duration;

use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get};
use axum::{Json, Router, middleware};
use serde::Serialize;

use super::guard::{self, Patience};
use crate::access::Tokens;
use crate::api::{self, ApiState, Kind, Problem};
use crate::listener_sources::ListenerSources;
use crate::page::{self, PageState};
use outbox_console::health::readiness::Standing;
use outbox_console::health::standings::{SOON, Standings};
use outbox_dispatcher::metrics::Metrics;
use outbox_dispatcher::reloadable::Reloadable;

/// How long a probe or a scrape may take, and how many are answered at once.
const PROBES: (Duration, u32) = (Duration::from_secs(10), 64);

/// The same for a question: each takes a connection to the database.
const QUESTIONS: (Duration, u32) = (Duration::from_secs(30), super::QUESTIONS_AT_ONCE);

/// The same for a change. A redrive of very many messages goes slowly, to leave room for deliveries.
const CHANGES: (Duration, u32) = (Duration::from_mins(14), super::CHANGES_AT_ONCE);

/// The same for a wake-up.
const WAKE_UPS: (Duration, u32) = (Duration::from_secs(10), 64);

/// The longest body of a request, in bytes: a payload and its other fields.
const BODY_BYTES: usize = 4 * 1024 * 1024;

/// <https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format>
const PROMETHEUS_TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";

#[derive(Clone)]
struct Routes {
    shown: ListenerSources,
    standings: Standings,
    tokens: Reloadable<Tokens>,
}

pub(super) fn router(shown: ListenerSources, api_state: ApiState, tokens: &Reloadable<Tokens>) -> Router {
    let standings = Standings::new(shown.readiness.clone());
    let page_state = PageState::new(api_state.clone(), shown.clone(), standings.clone(), tokens.clone());
    let routes = Routes { shown, standings, tokens: tokens.clone() };
    let scrapes = || middleware::from_fn_with_state(tokens.clone(), guard::require_metrics);
    let reads = || middleware::from_fn_with_state(tokens.clone(), guard::require_read);
    let retries = || middleware::from_fn_with_state(tokens.clone(), guard::require_retry);
    let operates = || middleware::from_fn_with_state(tokens.clone(), guard::require_operate);
    let by_a_client = || middleware::from_fn(guard::require_client);
    let by_its_body = || middleware::from_fn(guard::refuse_parameters);
    let patience = |(limit, at_once)| Patience::new(limit, at_once);
    let patient = |patience: &Patience| middleware::from_fn_with_state(patience.clone(), guard::be_patient);
    // The page and the API wait in one queue for the connections to the database.
    let (asking, changing, waking) = (patience(QUESTIONS), patience(CHANGES), patience(WAKE_UPS));

    let questions = api::questions().route_layer(patient(&asking)).route_layer(reads());
    let guarded = |changes: Router<ApiState>| {
        changes.route_layer(patient(&changing)).route_layer(by_its_body()).route_layer(by_a_client())
    };
    let retries = guarded(api::retries()).route_layer(retries());
    let changes = guarded(api::changes()).route_layer(operates()).merge(retries);
    let wake_ups = api::wake_ups().route_layer(patient(&waking)).route_layer(operates());
    let api = questions.merge(changes).merge(wake_ups).with_state(api_state);
    let pages = page::routes(
        &page_state,
        |shown| shown.route_layer(patient(&asking)),
        |changed| changed.route_layer(patient(&changing)),
        |wake_ups| wake_ups.route_layer(patient(&waking)),
    );
    // The probes of an orchestrator carry no token.
    let probes = Router::new()
        .route("/metrics", get(metrics).route_layer(scrapes()))
        .route("/healthz", get(healthz))
        .route("/readyz", get(readyz))
        .route_layer(patient(&patience(PROBES)))
        .with_state(routes);
    let strays = middleware::from_fn_with_state(page_state, page::receive_strays);
    Router::new()
        .nest(api::PREFIX, api)
        .merge(pages)
        .merge(probes)
        .fallback(any(not_here).layer(reads()))
        .method_not_allowed_fallback(wrong_method)
        .layer(strays)
        .layer(DefaultBodyLimit::max(BODY_BYTES))
}

/// Answers whether the process runs and its loop is alive. A restart mends a failure here; every other trouble is for
/// readiness.
async fn healthz(State(routes): State<Routes>, headers: HeaderMap) -> Response {
    match routes.shown.liveness.stuck() {
        None => "ok".into_response(),
        Some(_) if !routes.tells(&headers) => (StatusCode::SERVICE_UNAVAILABLE, UNTOLD).into_response(),
        Some(why) => (StatusCode::SERVICE_UNAVAILABLE, why).into_response(),
    }
}

/// What a probe is told that asks by a name of the DNS.
const UNTOLD: &str = "ask by an IP address, as localhost, or with admin.read_token: the causes are shown then";

#[derive(Serialize)]
struct Readiness {
    ready: bool,
    causes: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

impl Routes {
    fn tells(&self, headers: &HeaderMap) -> bool {
        guard::may_be_told(&self.tokens.current(), headers)
    }
}

async fn readyz(State(routes): State<Routes>, headers: HeaderMap) -> Response {
    readiness(routes.standings.now().await, routes.tells(&headers))
}

/// The answer of `/readyz`. What is wrong is said to those who may be told.
pub(super) fn readiness(standing: Standing, tells: bool) -> Response {
    let Standing { mut causes, mut notes } = standing;
    let ready = causes.is_empty();
    if !tells {
        causes = if ready { Vec::new() } else { vec![UNTOLD.to_owned()] };
        notes.clear();
    }
    let status = if ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, Json(Readiness { ready, causes, notes })).into_response()
}

async fn metrics(State(routes): State<Routes>) -> Response {
    let ListenerSources { metrics, vitals, .. } = &routes.shown;
    // Without the database its numbers are left out. The numbers of the process are still shown, and /readyz says why.
    let (vitals, standing) = tokio::join!(vitals.get_within(SOON), routes.standings.now());
    metrics.vitals(vitals);
    metrics.ready(standing.causes.is_empty());
    scraped(metrics)
}

pub(super) fn scraped(metrics: &Metrics) -> Response {
    match metrics.render() {
        Ok(text) => ([(header::CONTENT_TYPE, PROMETHEUS_TEXT)], text).into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")).into_response(),
    }
}

async fn not_here() -> Problem {
    Problem::new(
        Kind::NotThere,
        "there are /healthz, /readyz, /metrics, the page at /, and what /api/v1/openapi.json describes",
    )
}

async fn wrong_method() -> Problem {
    let problem = Problem::new(Kind::BadRequest, "this is asked with another method: /api/v1/openapi.json says which");
    Problem { status: StatusCode::METHOD_NOT_ALLOWED.as_u16(), ..problem }
}

/// Questions of the admin API that are worked on at once. Each takes a connection to the database.
pub const QUESTIONS_AT_ONCE: u32 = 2;

/// Changes by the admin API that are worked on at once. Each takes a connection to the database.
pub const CHANGES_AT_ONCE: u32 = 2;
