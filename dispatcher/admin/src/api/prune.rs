//! Messages that are past their retention.

use axum::Json;
use axum::extract::State;
use outbox_desk::Desk;
use outbox_store::retention::Pruned;

use super::extract::Body;
use super::requests::PruneBody;
use super::{Answer, ApiState, Problem};

/// Counts the messages that are past their retention. Changes nothing.
#[utoipa::path(post, path = "/api/v1/prune/count", operation_id = "count_past_retention", tag = "retention",
    request_body = PruneBody, responses(
    (status = 200, description = "How many messages a removal would remove", body = Pruned),
    Problem,
))]
pub(super) async fn count(State(api_state): State<ApiState>, Body(body): Body<PruneBody>) -> Answer<Pruned> {
    let retention = body.retention(&api_state.retention.current())?;
    Ok(Json(api_state.database.past_retention(&retention).await?))
}
