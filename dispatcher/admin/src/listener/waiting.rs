//! The routes of a replica that waits for its database: the listener answers from the first moment on.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::HeaderMap;
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get};
use tokio::sync::watch;

use super::guard;
use super::routes::{readiness, scraped};
use crate::access::Tokens;
use crate::api::{Kind, Problem};
use crate::page::waiting as page;
use outbox_console::health::readiness::Standing;
use outbox_dispatcher::metrics::Metrics;
use outbox_dispatcher::reloadable::Reloadable;

#[derive(Clone)]
struct Waiting {
    metrics: Arc<Metrics>,
    cause: watch::Receiver<String>,
    tokens: Reloadable<Tokens>,
}

pub(super) fn router(metrics: Arc<Metrics>, cause: watch::Receiver<String>, tokens: &Reloadable<Tokens>) -> Router {
    let scrapes = middleware::from_fn_with_state(tokens.clone(), guard::require_metrics);
    let reads = middleware::from_fn_with_state(tokens.clone(), guard::require_read);
    let waiting = Waiting { metrics, cause, tokens: tokens.clone() };
    let persons = middleware::from_fn_with_state(waiting.clone(), in_a_page);
    Router::new()
        .route("/metrics", get(metrics_without_database).route_layer(scrapes))
        .route("/healthz", get(async || "ok"))
        .route("/readyz", get(readyz))
        .fallback(any(not_yet).layer(reads).layer(persons))
        .merge(page::assets())
        .with_state(waiting)
}

/// Tells a person at a browser in a page. Nobody can sign in yet, so only who may be told without that is told the cause.
async fn in_a_page(State(waiting): State<Waiting>, request: Request, next: Next) -> Response {
    if !page::is_for_a_person(&request) {
        return next.run(request).await;
    }
    let tells = guard::may_be_told(&waiting.tokens.current(), request.headers());
    let cause = waiting.cause.borrow().clone();
    page::page(tells.then_some(cause.as_str()))
}

async fn readyz(State(waiting): State<Waiting>, headers: HeaderMap) -> Response {
    let standing = Standing { causes: vec![waiting.cause.borrow().clone()], notes: Vec::new() };
    readiness(standing, guard::may_be_told(&waiting.tokens.current(), &headers))
}

async fn metrics_without_database(State(waiting): State<Waiting>) -> Response {
    waiting.metrics.ready(false);
    scraped(&waiting.metrics)
}

async fn not_yet(State(waiting): State<Waiting>) -> Response {
    Problem::new(Kind::Database, waiting.cause.borrow().clone()).into_response()
}
