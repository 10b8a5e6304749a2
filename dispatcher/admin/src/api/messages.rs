//! Messages: their lists, their history, and changes to one of them.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, Uri};
use outbox_desk::{
    ByHand, Cancelled, Change, Desk, Edited, MessageFilter, MessagePage, MessageRecord, MessageSelection, Outcome,
    Pace, Revised, Selection, UNWATCHED,
};
use outbox_schema::MessageId;

use super::dead_letters::link;
use super::extract::{Body, Filtered, Id, Params};
use super::problem::Kind;
use super::requests::{Authored, ByClient, ByKey, EditBody, Page};
use super::{Answer, ApiState, Problem, Redaction};
use outbox_console::examine::refusal;
use outbox_console::explain::{self, Explanation};

/// Lists messages without their bodies in pages, the newest first.
///
/// One page looks at 100,000 rows at most.
#[utoipa::path(get, path = "/api/v1/messages", operation_id = "list_messages", tag = "messages",
    params(MessageFilter, Page), responses(
    (status = 200, description = "A page. `Link` with `rel=\"next\"` leads to the next page", body = MessagePage,
     headers(("link" = String, description = "RFC 8288"))),
    Problem,
))]
pub(super) async fn list(
    State(api_state): State<ApiState>,
    uri: Uri,
    Filtered { filter, page }: Filtered<MessageFilter>,
) -> Result<(HeaderMap, Json<MessagePage>), Problem> {
    let messages = api_state.database.messages(&filter, page.cursor::<i64>()?.map(MessageId), page.size()?).await?;
    Ok((link(&uri, messages.next.as_ref()), Json(messages)))
}

/// Explains why a message has not been sent, and why it was sent twice.
#[utoipa::path(get, path = "/api/v1/messages/{id}/explain", operation_id = "explain_message", tag = "messages",
    params(("id" = i64, Path)), responses(
    (status = 200, description = "The causes, each with its fields and a sentence", body = Explanation),
    Problem,
))]
pub(super) async fn explain(State(api_state): State<ApiState>, Id(id): Id) -> Answer<Explanation> {
    let configured = api_state.configured.current();
    let explained = explain::explain(&api_state.database, &configured, &api_state.schedule, MessageId(id)).await?;
    explained.map(Json).ok_or_else(|| Problem::no_message(id))
}

/// Shows a message with its attempts and with the changes that operators made to it.
#[utoipa::path(get, path = "/api/v1/messages/{id}", operation_id = "show_message", tag = "messages", params(("id" = i64, Path)), responses(
    (status = 200, description = "The message", body = MessageRecord),
    Problem,
))]
pub(super) async fn show(State(api_state): State<ApiState>, redaction: Redaction, Id(id): Id) -> Answer<MessageRecord> {
    let message = api_state.database.message(MessageId(id)).await?.ok_or_else(|| Problem::no_message(id))?;
    Ok(Json(redaction.of_message(message)))
}

/// Shows the message that has an idempotency key.
#[utoipa::path(get, path = "/api/v1/messages/by-key", operation_id = "show_message_by_key", tag = "messages", params(ByKey), responses(
    (status = 200, description = "The message", body = MessageRecord),
    Problem,
))]
pub(super) async fn by_key(
    State(api_state): State<ApiState>,
    redaction: Redaction,
    Params(by): Params<ByKey>,
) -> Answer<MessageRecord> {
    let message = api_state.database.message_by_key(&by.key).await?.ok_or_else(|| Problem::no_message(&by.key))?;
    Ok(Json(redaction.of_message(message)))
}

/// Cancels a pending message: it becomes a dead letter with the reason `cancelled`.
#[utoipa::path(post, path = "/api/v1/messages/{id}/cancel", operation_id = "cancel_message", tag = "messages", params(("id" = i64, Path), ByClient),
    request_body = Authored, responses(
    (status = 200, description = "The message will not be sent", body = Cancelled),
    Problem,
))]
pub(crate) async fn cancel(
    State(api_state): State<ApiState>,
    Id(id): Id,
    Body(author): Body<Authored>,
) -> Answer<Cancelled> {
    match api_state.database.cancel(MessageId(id), &author.into_author()).await? {
        done @ Cancelled::Done { .. } => Ok(Json(done)),
        Cancelled::Refused(refused) => Err(Problem::refused(refused)),
    }
}

/// Makes a pending message due now, also where it was never tried and is scheduled for later. Attempts and age go on.
#[utoipa::path(post, path = "/api/v1/messages/{id}/retry", operation_id = "retry_message", tag = "messages", params(("id" = i64, Path), ByClient),
    request_body = Authored, responses(
    (status = 200, description = "The message is due", body = ref("#/components/schemas/Retried")),
    Problem,
))]
pub(crate) async fn retry(
    State(api_state): State<ApiState>,
    Id(id): Id,
    Body(author): Body<Authored>,
) -> Answer<Outcome> {
    let selection = MessageSelection::Ids(vec![MessageId(id)]);
    to_one(&api_state, Change::Retry { selection }, author).await
}

/// Gives a dead letter another payload, target and headers, and a new idempotency key unless it is to be kept. It stays a
/// dead letter.
#[utoipa::path(post, path = "/api/v1/messages/{id}/edit", operation_id = "edit_dead_letter", tag = "messages", params(("id" = i64, Path), ByClient),
    request_body = EditBody, responses(
    (status = 200, description = "The edit is written", body = Edited),
    Problem,
))]
pub(super) async fn edit(State(api_state): State<ApiState>, Id(id): Id, Body(body): Body<EditBody>) -> Answer<Edited> {
    let id = MessageId(id);
    let message = api_state.database.message(id).await?.ok_or_else(|| Problem::no_message(id))?;
    let revised =
        Revised::new(&message.channel, &body.target, body.payload.get(), body.headers)?.keeping_key(body.keep_key);
    if let Some(why) = refusal(&api_state.config.current(), &message.channel, &revised) {
        return Err(Problem::new(Kind::InvalidMessage, why));
    }
    match api_state.database.edit(id, body.revision, &revised, &body.author.into_author()).await? {
        done @ Edited::Done { .. } => Ok(Json(done)),
        Edited::Refused(refused) => Err(Problem::refused(refused)),
    }
}

/// Makes one dead letter due again. Its attempts and its age start anew.
#[utoipa::path(post, path = "/api/v1/messages/{id}/redrive", operation_id = "redrive_dead_letter", tag = "messages", params(("id" = i64, Path), ByClient),
    request_body = Authored, responses(
    (status = 200, description = "The message is due", body = ref("#/components/schemas/Redriven")),
    Problem,
))]
pub(crate) async fn redrive(
    State(api_state): State<ApiState>,
    Id(id): Id,
    Body(author): Body<Authored>,
) -> Answer<Outcome> {
    let selection = Selection::Ids(vec![MessageId(id)]);
    to_one(&api_state, Change::Redrive { selection, pace: Pace::default() }, author).await
}

/// Makes a change to one message, which may be refused.
async fn to_one(api_state: &ApiState, change: Change, author: Authored) -> Answer<Outcome> {
    let done = api_state.database.apply(&change, &author.into_author(), UNWATCHED).await?;
    match done.refused() {
        None => Ok(Json(done)),
        Some(refused) => Err(Problem::refused(refused)),
    }
}
