//! Operations: changes of many messages, how far they are, and stopping them.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, Uri};
use outbox_desk::{ByHand, OperationEntry, OperationPage, Stopped};

use super::dead_letters::link;
use super::extract::{Body, Id, Params};
use super::requests::{Authored, ByClient, Page};
use super::{Answer, ApiState, Problem, Redaction};

/// Lists operations in pages, the newest first. What has ended is listed for 30 days; the audit keeps it for ever.
#[utoipa::path(get, path = "/api/v1/operations", operation_id = "list_operations", tag = "operations", params(Page), responses(
    (status = 200, description = "A page. `Link` with `rel=\"next\"` leads to the next page", body = OperationPage,
     headers(("link" = String, description = "RFC 8288"))),
    Problem,
))]
pub(super) async fn list(
    State(api_state): State<ApiState>,
    redaction: Redaction,
    uri: Uri,
    Params(page): Params<Page>,
) -> Result<(HeaderMap, Json<OperationPage>), Problem> {
    let OperationPage { operations, next } =
        outbox_desk::operations(&api_state.database, page.cursor()?, page.size()?).await?;
    let seen = operations.into_iter().map(|operation| redaction.of_operation(operation));
    let operations = OperationPage { operations: seen.collect(), next };
    Ok((link(&uri, operations.next.as_ref()), Json(operations)))
}

/// Shows an operation: how far it is, and what it did or has done so far.
#[utoipa::path(get, path = "/api/v1/operations/{id}", operation_id = "show_operation", tag = "operations", params(("id" = i64, Path)), responses(
    (status = 200, description = "The operation", body = OperationEntry),
    Problem,
))]
pub(super) async fn show(
    State(api_state): State<ApiState>,
    redaction: Redaction,
    Id(id): Id,
) -> Answer<OperationEntry> {
    let found = outbox_desk::operation(&api_state.database, id).await?.ok_or_else(|| Problem::no_operation(id))?;
    Ok(Json(redaction.of_operation(found)))
}

/// Stops an operation after its present batch, whoever carries it out. What it has changed stays changed.
#[utoipa::path(post, path = "/api/v1/operations/{id}/stop", operation_id = "stop_operation", tag = "operations",
    params(("id" = i64, Path), ByClient), request_body = Authored, responses(
    (status = 200, description = "Whether it was open until now", body = Stopped),
    Problem,
))]
pub(super) async fn stop(
    State(api_state): State<ApiState>,
    Id(id): Id,
    Body(author): Body<Authored>,
) -> Answer<Stopped> {
    api_state.database.stop(id, &author.into_author()).await?.map(Json).ok_or_else(|| Problem::no_operation(id))
}
