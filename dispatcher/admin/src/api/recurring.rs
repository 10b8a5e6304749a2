//! Recurring messages: when each is due, pausing, resuming and firing.

use axum::Json;
use axum::extract::{Path, State};
use outbox_desk::{ByHand, Desk, RecurringAction, RecurringDone, RecurringEntry};

use super::extract::Body;
use super::problem::Kind;
use super::requests::{Authored, ByClient};
use super::{Answer, ApiState, Problem};

/// Lists the recurring messages that a poller knows, by name.
#[utoipa::path(get, path = "/api/v1/recurring", operation_id = "list_recurring", tag = "recurring", responses(
    (status = 200, description = "The recurring messages, and when each is due", body = [RecurringEntry]),
    Problem,
))]
pub(super) async fn list(State(api_state): State<ApiState>) -> Answer<Vec<RecurringEntry>> {
    Ok(Json(api_state.database.recurring().await?))
}

/// Pauses a recurring message. Times that pass meanwhile are not made up for.
#[utoipa::path(post, path = "/api/v1/recurring/{name}/pause", operation_id = "pause_recurring", tag = "recurring",
    params(("name" = String, Path, description = "The name of the recurring message"), ByClient),
    request_body = Authored, responses(
    (status = 200, description = "The recurring message is paused", body = RecurringDone),
    Problem,
))]
pub(super) async fn pause(
    State(api_state): State<ApiState>,
    Path(name): Path<String>,
    Body(author): Body<Authored>,
) -> Answer<RecurringDone> {
    change(&api_state, &name, author, RecurringAction::Pause).await
}

/// Resumes a recurring message: its next time has a message again.
#[utoipa::path(post, path = "/api/v1/recurring/{name}/resume", operation_id = "resume_recurring", tag = "recurring",
    params(("name" = String, Path, description = "The name of the recurring message"), ByClient),
    request_body = Authored, responses(
    (status = 200, description = "The recurring message goes on", body = RecurringDone),
    Problem,
))]
pub(super) async fn resume(
    State(api_state): State<ApiState>,
    Path(name): Path<String>,
    Body(author): Body<Authored>,
) -> Answer<RecurringDone> {
    change(&api_state, &name, author, RecurringAction::Resume).await
}

/// Has a recurring message written at once, also while it is paused. The poller does it within a second.
#[utoipa::path(post, path = "/api/v1/recurring/{name}/fire", operation_id = "fire_recurring", tag = "recurring",
    params(("name" = String, Path, description = "The name of the recurring message"), ByClient),
    request_body = Authored, responses(
    (status = 200, description = "The poller writes the message", body = RecurringDone),
    Problem,
))]
pub(super) async fn fire(
    State(api_state): State<ApiState>,
    Path(name): Path<String>,
    Body(author): Body<Authored>,
) -> Answer<RecurringDone> {
    change(&api_state, &name, author, RecurringAction::Fire).await
}

pub(crate) async fn change(
    api_state: &ApiState,
    name: &str,
    author: Authored,
    action: RecurringAction,
) -> Answer<RecurringDone> {
    let done = api_state.database.change_recurring(name, action, &author.into_author()).await?;
    let unknown = || Problem::new(Kind::NotThere, format!("no poller has known a recurring message {name:?}"));
    done.map(Json).ok_or_else(unknown)
}
