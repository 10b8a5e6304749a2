//! Messages that wait, and are not to be sent, or at once.

use axum::Json;
use axum::extract::State;
use axum::response::Response;
use outbox_schema::Desk;
use outbox_schema::desk::{
    CancelledAll, MessageChange, MessageGroup, MessageSelection, OperationEntry, Order, Retried,
};

use super::extract::Body;
use super::followed::{Wish, answer};
use super::problem::checked;
use super::requests::{ByClient, WaitingBody};
use super::{Answer, Office, Problem};

/// Counts the messages of a selection that wait, by channel and destination.
///
/// The answer shows what a cancellation of this selection would take back. It changes nothing itself.
#[utoipa::path(post, path = "/api/v1/messages/cancel/count", operation_id = "count_waiting_messages", tag = "messages", request_body = MessageSelection, responses(
    (status = 200, description = "The groups", body = [MessageGroup]),
    Problem,
))]
pub(super) async fn count_cancel(
    State(office): State<Office>,
    Body(selection): Body<MessageSelection>,
) -> Answer<Vec<MessageGroup>> {
    checked(&selection, MessageChange::Cancel)?;
    Ok(Json(office.database.message_groups(MessageChange::Cancel, &selection).await?))
}

/// Cancels messages that wait: they become dead letters with the reason `cancelled`. What may be in flight is left as it is.
///
/// With `Accept: application/x-ndjson` the answer is lines while the cancellation goes on: `{"progress": …}`, and at last
/// `{"done": …}` or `{"problem": …}`.
#[utoipa::path(post, path = "/api/v1/messages/cancel", operation_id = "cancel_messages", tag = "messages", params(ByClient), request_body = WaitingBody, responses(
    (status = 200, description = "What the cancellation did", body = CancelledAll),
    (status = 202, description = "With `Prefer: respond-async`: the operation has begun. `Location` leads to it", body = OperationEntry),
    Problem,
))]
pub(super) async fn cancel(
    State(office): State<Office>,
    wish: Wish,
    Body(body): Body<WaitingBody>,
) -> Result<Response, Problem> {
    checked(&body.selection, MessageChange::Cancel)?;
    answer(wish, office, Order::Cancel(body.selection), body.author.into_author()).await
}

/// Counts the messages that a retry of a selection means, by channel and destination.
///
/// The answer shows what a retry of this selection would make due. It changes nothing itself.
#[utoipa::path(post, path = "/api/v1/messages/retry/count", operation_id = "count_messages_to_retry", tag = "messages", request_body = MessageSelection, responses(
    (status = 200, description = "The groups", body = [MessageGroup]),
    Problem,
))]
pub(super) async fn count_retry(
    State(office): State<Office>,
    Body(selection): Body<MessageSelection>,
) -> Answer<Vec<MessageGroup>> {
    checked(&selection, MessageChange::Retry)?;
    Ok(Json(office.database.message_groups(MessageChange::Retry, &selection).await?))
}

/// Makes messages due now that wait for another attempt. Attempts and age go on.
///
/// A filter means only messages that were tried. By its id a message is made due also where it was never tried, and is scheduled
/// for later. What is deferred, due already or in flight is left as it is. Lines with `Accept: application/x-ndjson`, as of a
/// cancellation.
#[utoipa::path(post, path = "/api/v1/messages/retry", operation_id = "retry_messages", tag = "messages", params(ByClient), request_body = WaitingBody, responses(
    (status = 200, description = "What the retry did", body = Retried),
    (status = 202, description = "With `Prefer: respond-async`: the operation has begun. `Location` leads to it", body = OperationEntry),
    Problem,
))]
pub(super) async fn retry(
    State(office): State<Office>,
    wish: Wish,
    Body(body): Body<WaitingBody>,
) -> Result<Response, Problem> {
    checked(&body.selection, MessageChange::Retry)?;
    answer(wish, office, Order::Retry(body.selection), body.author.into_author()).await
}
