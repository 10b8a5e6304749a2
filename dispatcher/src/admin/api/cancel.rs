//! Messages that wait and are not to be sent.

use axum::Json;
use axum::extract::State;
use axum::response::Response;
use outbox_schema::desk::{CancelledAll, MessageGroup, MessageSelection, OperationEntry, Order};
use outbox_schema::{Desk, Status};

use super::extract::Body;
use super::followed::{Wish, answer};
use super::problem::checked;
use super::requests::{ByClient, CancelBody};
use super::{Answer, Office, Problem};

/// Counts the messages of a selection that wait, by channel and destination.
///
/// The answer shows what a cancellation of this selection would take back. It changes nothing itself.
#[utoipa::path(post, path = "/api/v1/messages/cancel/count", operation_id = "count_waiting_messages", tag = "messages", request_body = MessageSelection, responses(
    (status = 200, description = "The groups", body = [MessageGroup]),
    Problem,
))]
pub(super) async fn count(
    State(office): State<Office>,
    Body(selection): Body<MessageSelection>,
) -> Answer<Vec<MessageGroup>> {
    checked(&selection, Status::Pending)?;
    Ok(Json(office.database.message_groups(Status::Pending, &selection).await?))
}

/// Cancels messages that wait: they become dead letters with the reason `cancelled`. What may be in flight is left as it is.
///
/// With `Accept: application/x-ndjson` the answer is lines while the cancellation goes on: `{"progress": …}`, and at last
/// `{"done": …}` or `{"problem": …}`.
#[utoipa::path(post, path = "/api/v1/messages/cancel", operation_id = "cancel_messages", tag = "messages", params(ByClient), request_body = CancelBody, responses(
    (status = 200, description = "What the cancellation did", body = CancelledAll),
    (status = 202, description = "With `Prefer: respond-async`: the operation has begun. `Location` leads to it", body = OperationEntry),
    Problem,
))]
pub(super) async fn cancel(
    State(office): State<Office>,
    wish: Wish,
    Body(body): Body<CancelBody>,
) -> Result<Response, Problem> {
    checked(&body.selection, Status::Pending)?;
    answer(wish, office, Order::Cancel(body.selection), body.author.into_author()).await
}
