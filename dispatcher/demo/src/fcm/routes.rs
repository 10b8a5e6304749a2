//! What it is asked for: sends over TLS; access tokens, and what people and tests want to know, in plain text.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Path, Query, State};
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE, RETRY_AFTER};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::Deserialize;
use serde_json::json;

use super::answer::Refusal;
use super::shared::{Behaviour, Counts, Received, Shared, Shown};

type Known = State<Arc<Shared>>;

/// `POST /v1/projects/{project}/messages:send`; anything else is not found, as Google's front end says it.
pub(super) fn sends(shared: Arc<Shared>) -> Router {
    Router::new().route("/v1/projects/{project}/{method}", post(send)).fallback(nowhere).with_state(shared)
}

pub(super) fn control(shared: Arc<Shared>) -> Router {
    Router::new()
        .route("/token", post(token))
        .route("/healthz", get(async || "ok\n"))
        .route("/control", get(counts).post(behave))
        .route("/control/received", get(received))
        .route("/control/shown", get(shown))
        .with_state(shared)
}

async fn send(
    State(shared): Known,
    Path((project, method)): Path<(String, String)>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    if method != "messages:send" {
        return nowhere().await;
    }
    let authorization = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
    let taken = shared.take(&project, authorization, &body);
    tokio::time::sleep(shared.latency()).await;
    match taken {
        Ok(name) => Json(json!({ "name": name })).into_response(),
        Err(refusal) => refused(refusal),
    }
}

async fn nowhere() -> Response {
    let page = "<html><title>Error 404 (Not Found)!!1</title></html>";
    (StatusCode::NOT_FOUND, [(CONTENT_TYPE, "text/html")], page).into_response()
}

fn refused(refusal: Refusal) -> Response {
    let status = StatusCode::from_u16(refusal.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let kind = if refusal.body.starts_with('{') { "application/json; charset=UTF-8" } else { "text/html" };
    let mut response = (status, [(CONTENT_TYPE, kind)], refusal.body).into_response();
    if let Some(seconds) = refusal.retry_after {
        response.headers_mut().insert(RETRY_AFTER, seconds.into());
    }
    response
}

async fn token(State(shared): Known, body: Bytes) -> Response {
    let (status, answer) = shared.grant(&body);
    (StatusCode::from_u16(status).unwrap_or_default(), Json(answer)).into_response()
}

async fn counts(State(shared): Known) -> Json<Counts> {
    Json(shared.counts())
}

async fn behave(State(shared): Known, body: Bytes) -> Response {
    match serde_json::from_slice::<Behaviour>(&body) {
        Ok(behaviour) => {
            shared.behave(&behaviour);
            Json(json!({})).into_response()
        }
        Err(error) => (StatusCode::BAD_REQUEST, format!("{error}\n")).into_response(),
    }
}

async fn received(State(shared): Known) -> Json<Vec<Received>> {
    Json(shared.received())
}

#[derive(Deserialize)]
struct Device {
    target: String,
}

async fn shown(State(shared): Known, Query(device): Query<Device>) -> Json<Vec<Shown>> {
    Json(shared.shown_on(&device.target))
}
