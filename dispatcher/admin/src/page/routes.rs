//! The routes of the page.

use axum::routing::{get, post};
use axum::{Router, middleware};

use super::page_state::PageState;
use super::{
    assets, audit, auth, check, dead_letters, destinations, downloads, edit, edit_many, figures, find, invalid_targets,
    jobs, message, messages, of_waiting, operations, ordering_keys, overview, paths, recurring, redrive, replay,
    retention, settings, sign_in, terms, wake,
};
use crate::access::Role;

/// All routes of the page. `questions`, `changes` and `wake_ups` say how patient the listener is with them.
pub(crate) fn routes(
    page_state: &PageState,
    questions: impl FnOnce(Router<PageState>) -> Router<PageState>,
    changes: impl Fn(Router<PageState>) -> Router<PageState>,
    wake_ups: impl FnOnce(Router<PageState>) -> Router<PageState>,
) -> Router {
    let require = |role: Role| middleware::from_fn_with_state(role, auth::require);
    let shows = questions(shown()).route_layer(require(Role::Read));
    let retries = changes(sent_again()).route_layer(require(Role::Retry));
    let changes = changes(changed()).route_layer(require(Role::Operate)).merge(retries);
    // It asks nothing of the database, and waits behind no change.
    let wake_ups = wake_ups(Router::new().route(paths::WAKE, post(wake::wake)));
    let wake_ups = wake_ups.route_layer(require(Role::Operate));
    let sign_in = Router::new()
        .route(paths::SIGN_IN, get(sign_in::form).post(sign_in::sign_in))
        .route("/sign-out", post(sign_in::sign_out));
    let receives = middleware::from_fn_with_state(page_state.clone(), auth::receive);
    let pages =
        shows.merge(changes).merge(wake_ups).merge(sign_in).route_layer(receives).with_state(page_state.clone());
    pages.merge(assets::routes())
}

/// The pages that change nothing.
pub(super) fn shown() -> Router<PageState> {
    Router::new()
        .route("/", get(overview::show))
        .route("/messages", get(messages::list))
        .route("/messages/find", get(find::find))
        .route("/messages/replay", get(replay::form))
        .route("/messages/cancel", get(of_waiting::cancel_form))
        .route("/messages/retry", get(of_waiting::retry_form))
        .route("/messages/{id}", get(message::show))
        .route("/messages/{id}/edit", get(edit::form))
        .route("/dead-letters", get(dead_letters::list))
        .route("/dead-letters/redrive", get(redrive::redrive_form))
        .route("/dead-letters/purge", get(redrive::purge_form))
        .route("/dead-letters/edit", get(edit_many::form))
        .route("/redrives/{id}/undo", get(redrive::undo_form))
        .route("/ordering-keys", get(ordering_keys::list))
        .route("/destinations", get(destinations::list))
        .route(paths::JOBS, get(jobs::list))
        .route("/jobs/{name}", get(jobs::runs))
        .route("/jobs/{name}/{run}", get(jobs::show))
        .route(paths::RECURRING, get(recurring::list))
        .route("/operations", get(operations::list))
        .route("/operations/{id}", get(operations::show))
        .route("/terms", get(terms::list))
        .route("/figures", get(figures::show))
        .route("/invalid-targets", get(invalid_targets::list))
        .route("/audit", get(audit::list))
        .route(paths::RETENTION, get(retention::show))
        .route("/retention/prune", get(retention::form))
        .route("/settings", get(settings::show))
        .route("/check", get(check::show))
        .route("/audit/download/{format}", get(downloads::audit))
        .route("/invalid-targets/download/{format}", get(downloads::invalid_targets))
}

/// The forms that send again what is there.
fn sent_again() -> Router<PageState> {
    Router::new()
        .route("/messages/{id}/retry", post(message::retry))
        .route("/messages/{id}/redrive", post(message::redrive))
        .route("/messages/replay", post(replay::replay))
        .route("/messages/retry", post(of_waiting::retry))
        .route("/dead-letters/redrive", post(redrive::redrive))
        .route("/operations/{id}/stop", post(operations::stop))
}

/// The other forms that change something.
fn changed() -> Router<PageState> {
    Router::new()
        .route("/messages/{id}/cancel", post(message::cancel))
        .route("/messages/{id}/edit", post(edit::edit))
        .route("/messages/cancel", post(of_waiting::cancel))
        .route("/dead-letters/purge", post(redrive::purge))
        .route("/dead-letters/edit", post(edit_many::edit))
        .route("/redrives/{id}/undo", post(redrive::undo))
        .route("/destinations/pause", post(destinations::pause))
        .route("/destinations/resume", post(destinations::resume))
        .route(paths::JOBS, post(jobs::change))
        .route(paths::RECURRING, post(recurring::change))
        .route("/invalid-targets/clear", post(invalid_targets::clear))
        .route("/retention/prune", post(retention::prune))
}
