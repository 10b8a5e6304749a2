//! What can be asked.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{DefaultBodyLimit, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router, middleware};
use serde::Serialize;

use super::Shown;
use super::guard::{self, Token};
use crate::cached::Cached;

/// How long causes are good for: probes of many kinds may ask at once.
const CAUSES_MAX_AGE: Duration = Duration::from_secs(5);

/// Longest body of a request, in bytes.
const BODY_BYTES: usize = 16 * 1024;

/// <https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format>
const PROMETHEUS_TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";

#[derive(Clone)]
struct Routes {
    shown: Shown,
    causes: Arc<Cached<Vec<String>>>,
}

pub(super) fn router(shown: Shown, token: Option<&str>) -> Router {
    let guarded = Router::new()
        .route("/metrics", get(metrics))
        .fallback(not_found)
        .layer(middleware::from_fn_with_state(Token::new(token), guard::require_token));
    // An orchestrator's probes carry no token.
    let open = Router::new().route("/healthz", get(healthz)).route("/readyz", get(readyz));
    guarded
        .merge(open)
        .layer(middleware::from_fn(guard::limit_time))
        .layer(DefaultBodyLimit::max(BODY_BYTES))
        .with_state(Routes { shown, causes: Arc::new(Cached::new(CAUSES_MAX_AGE)) })
}

/// The process runs and answers, and its loop is alive; all else is readiness. What fails here is mended by a restart.
async fn healthz(State(routes): State<Routes>) -> Response {
    match routes.shown.pulse.stuck() {
        None => "ok".into_response(),
        Some(why) => (StatusCode::SERVICE_UNAVAILABLE, why).into_response(),
    }
}

#[derive(Serialize)]
struct Readiness {
    ready: bool,
    causes: Vec<String>,
}

impl Routes {
    async fn causes(&self) -> Vec<String> {
        self.causes.get(|| self.shown.readiness.causes()).await
    }
}

async fn readyz(State(routes): State<Routes>) -> Response {
    let causes = routes.causes().await;
    let status = if causes.is_empty() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, Json(Readiness { ready: causes.is_empty(), causes })).into_response()
}

async fn metrics(State(routes): State<Routes>) -> Response {
    let Shown { metrics, vitals, .. } = &routes.shown;
    // Without the database its numbers are left out and the process's own are still shown; /readyz says why.
    let (vitals, causes) = tokio::join!(vitals.get(), routes.causes());
    metrics.vitals(vitals.ok());
    metrics.ready(causes.is_empty());
    match metrics.render() {
        Ok(text) => ([(header::CONTENT_TYPE, PROMETHEUS_TEXT)], text).into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")).into_response(),
    }
}

async fn not_found() -> (StatusCode, &'static str) {
    (StatusCode::NOT_FOUND, "not here: there are /healthz, /readyz and /metrics\n")
}
