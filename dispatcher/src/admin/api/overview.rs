//! The state of the outbox as a whole.

use axum::Json;
use axum::extract::State;
use outbox_schema::Desk;
use outbox_schema::desk::TermEntry;
use serde::Deserialize;
use utoipa::IntoParams;

use super::extract::Params;
use super::{Answer, Office, Problem};
use crate::health::replicas::{ReplicaStatus, Replicas};
use crate::health::status::Status;

/// The most terms that a request shows, and the number without a limit.
const TERMS: u32 = 1_000;

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Limit {
    /// The largest number of terms: 1,000 by default and at most.
    limit: Option<u32>,
}

/// Shows who polls, what is due and what is dead.
#[utoipa::path(get, path = "/api/v1/status", operation_id = "status", tag = "status", responses(
    (status = 200, description = "The state of the outbox", body = Status),
    Problem,
))]
pub(super) async fn status(State(office): State<Office>) -> Answer<Status> {
    let configured = office.configured.current();
    Ok(Json(Status::of(&office.database, Some(office.lease.as_ref()), &configured).await?))
}

/// Lists the replicas: those that run, and those that were killed within a day.
#[utoipa::path(get, path = "/api/v1/replicas", operation_id = "replicas", tag = "status", responses(
    (status = 200, description = "The replicas, by name", body = [ReplicaStatus]),
    Problem,
))]
pub(super) async fn replicas(State(office): State<Office>) -> Answer<Vec<ReplicaStatus>> {
    Ok(Json(Replicas::of(&office.database).await?.into_all()))
}

/// Lists the last terms of all shards, the newest first.
#[utoipa::path(get, path = "/api/v1/terms", operation_id = "terms", tag = "status", params(Limit), responses(
    (status = 200, description = "The terms", body = [TermEntry]),
    Problem,
))]
pub(super) async fn terms(State(office): State<Office>, Params(limit): Params<Limit>) -> Answer<Vec<TermEntry>> {
    Ok(Json(office.database.terms(limit.limit.unwrap_or(TERMS).min(TERMS)).await?))
}
