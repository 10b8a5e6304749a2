//! Delivered messages that are sent again.

use axum::Json;
use axum::extract::State;
use axum::response::Response;
use outbox_schema::Desk;
use outbox_schema::desk::{MessageChange, MessageGroup, MessageSelection, OperationEntry, Order, Replayed};

use super::extract::Body;
use super::followed::{Wish, answer};
use super::problem::checked;
use super::requests::{ByClient, ReplayBody};
use super::{Answer, Office, Problem};

/// Counts the delivered messages of a selection by channel and destination.
///
/// The answer shows what a replay of this selection would send. It changes nothing itself.
#[utoipa::path(post, path = "/api/v1/messages/replay/count", operation_id = "count_delivered_messages", tag = "messages", request_body = MessageSelection, responses(
    (status = 200, description = "The groups", body = [MessageGroup]),
    Problem,
))]
pub(super) async fn count(
    State(office): State<Office>,
    Body(selection): Body<MessageSelection>,
) -> Answer<Vec<MessageGroup>> {
    checked(&selection, MessageChange::Replay)?;
    Ok(Json(office.database.message_groups(MessageChange::Replay, &selection).await?))
}

/// Sends delivered messages again, each by a row of its own that names the message it repeats (`replay_of`).
///
/// The receiver gets the same idempotency key, or with `new_key` another one. With `Accept: application/x-ndjson` the
/// answer is lines while the replay goes on: `{"progress": …}`, and at last `{"done": …}` or `{"problem": …}`.
#[utoipa::path(post, path = "/api/v1/messages/replay", operation_id = "replay_messages", tag = "messages", params(ByClient), request_body = ReplayBody, responses(
    (status = 200, description = "What the replay did. Its `audit_id` names it for an undo", body = Replayed),
    (status = 202, description = "With `Prefer: respond-async`: the operation has begun. `Location` leads to it", body = OperationEntry),
    Problem,
))]
pub(super) async fn replay(
    State(office): State<Office>,
    wish: Wish,
    Body(body): Body<ReplayBody>,
) -> Result<Response, Problem> {
    checked(&body.selection, MessageChange::Replay)?;
    let manner = body.manner();
    answer(wish, office, Order::Replay(body.selection, manner), body.author.into_author()).await
}
