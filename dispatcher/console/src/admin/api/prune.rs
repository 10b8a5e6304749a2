//! Removing messages that are past their retention, by hand.

use axum::Json;
use axum::extract::State;
use axum::response::Response;
use outbox_schema::Desk;
use outbox_schema::desk::{OperationEntry, Order};
use outbox_schema::retention::Pruned;

use super::extract::Body;
use super::followed::{Wish, answer};
use super::requests::{ByClient, PruneBody};
use super::{Answer, Office, Problem};

/// Counts the messages that are past their retention. Changes nothing.
#[utoipa::path(post, path = "/api/v1/prune/count", operation_id = "count_past_retention", tag = "retention",
    request_body = PruneBody, responses(
    (status = 200, description = "How many messages a removal would remove", body = Pruned),
    Problem,
))]
pub(super) async fn count(State(office): State<Office>, Body(body): Body<PruneBody>) -> Answer<Pruned> {
    let retention = body.retention(&office.retention.current())?;
    Ok(Json(office.database.past_retention(&retention).await?))
}

/// Removes the messages that are past their retention, and their attempts.
///
/// A dead letter that halts its ordering key stays. With `Accept: application/x-ndjson` the answer is lines while the removal goes on:
/// `{"progress": …}`, and at last `{"done": …}` or `{"problem": …}`.
#[utoipa::path(post, path = "/api/v1/prune", operation_id = "prune", tag = "retention", params(ByClient), request_body = PruneBody,
    responses(
    (status = 200, description = "How many messages were removed", body = Pruned),
    (status = 202, description = "With `Prefer: respond-async`: the operation has begun. `Location` leads to it", body = OperationEntry),
    Problem,
))]
pub(super) async fn prune(
    State(office): State<Office>,
    wish: Wish,
    Body(body): Body<PruneBody>,
) -> Result<Response, Problem> {
    let retention = body.retention(&office.retention.current())?;
    answer(wish, office, Order::Prune(retention, None), body.author.into_author()).await
}
