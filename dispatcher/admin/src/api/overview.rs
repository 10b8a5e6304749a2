//! The state of the outbox as a whole.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, Uri};
use outbox_desk::{TermEntry, TermFilter};
use serde::Deserialize;
use utoipa::IntoParams;

use super::dead_letters::link;
use super::extract::Params;
use super::requests::Page;
use super::{Answer, ApiState, Problem};
use outbox_console::health::replicas::{ReplicaStatus, Replicas};
use outbox_console::health::status::Status;

/// The most terms that a request shows, and the number without a limit.
const TERMS: u32 = 1_000;

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct TermQuery {
    /// The largest number of terms: 1,000 by default and at most.
    limit: Option<u32>,
    /// Where a page before ended: its last term, as `EPOCH-SHARD`.
    after: Option<String>,
    /// Only the terms with this epoch.
    epoch: Option<i64>,
}

/// Shows who polls, what is due and what is dead.
#[utoipa::path(get, path = "/api/v1/status", operation_id = "status", tag = "status", responses(
    (status = 200, description = "The state of the outbox", body = Status),
    Problem,
))]
pub(super) async fn status(State(api_state): State<ApiState>) -> Answer<Status> {
    let configured = api_state.configured.current();
    let status = Status::of(&api_state.database, Some(api_state.lease.as_ref()), &configured).await?;
    Ok(Json(status.waiting_at(&api_state.schedule).await))
}

/// Lists the replicas: those that run, and those that were killed within a day.
#[utoipa::path(get, path = "/api/v1/replicas", operation_id = "replicas", tag = "status", responses(
    (status = 200, description = "The replicas, by name", body = [ReplicaStatus]),
    Problem,
))]
pub(super) async fn replicas(State(api_state): State<ApiState>) -> Answer<Vec<ReplicaStatus>> {
    Ok(Json(Replicas::of(&api_state.database).await?.into_all()))
}

/// Lists the terms of all shards in pages, the newest first.
#[utoipa::path(get, path = "/api/v1/terms", operation_id = "terms", tag = "status", params(TermQuery), responses(
    (status = 200, description = "The terms. `Link` with `rel=\"next\"` leads to the next page", body = [TermEntry],
     headers(("link" = String, description = "RFC 8288"))),
    Problem,
))]
pub(super) async fn terms(
    State(api_state): State<ApiState>,
    uri: Uri,
    Params(TermQuery { limit, after, epoch }): Params<TermQuery>,
) -> Result<(HeaderMap, Json<Vec<TermEntry>>), Problem> {
    let after = Page { after, limit: None }.cursor()?;
    let page =
        outbox_desk::term_page(&api_state.database, TermFilter { epoch }, after, limit.unwrap_or(TERMS).min(TERMS))
            .await?;
    Ok((link(&uri, page.next.as_ref()), Json(page.terms)))
}
