//! The routes of the API, and what describes them.

use axum::routing::{get, post};
use axum::{Json, Router};
use outbox_desk::{Preview, Progress};
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityScheme};
use utoipa::{Modify, OpenApi};

use super::api_state::ApiState;
use super::change::{AnyChange, Described};
use super::problem::Problem;
use super::requests::MessageCountBody;
use super::{
    audit, change, check, dead_letters, destinations, figures, invalid_targets, jobs, messages, operations,
    ordering_keys, overview, prune, recurring, wake,
};
use crate::access::Role;

#[derive(OpenApi)]
#[openapi(
    info(
        title = "outbox",
        description = "Shows the state of a transactional outbox, and changes it by hand. A bearer token with the role \
                       `read` may ask questions, one with the role `retry` may send messages again as well, and one with the role \
                       `operate` may make every change. Lists come in \
                       pages: pass the `next` of a page as `after` to get the following page. Every change is audited."
    ),
    paths(
        overview::status, overview::replicas, overview::terms, check::check, figures::figures, audit::list, wake::wake,
        messages::list, messages::show, messages::explain, messages::by_key, messages::cancel, messages::retry, messages::edit,
        messages::redrive, dead_letters::list, dead_letters::groups, dead_letters::groups_of, prune::count,
        destinations::list, destinations::pause, destinations::resume,
        jobs::list, jobs::runs, jobs::show, jobs::pause, jobs::resume, jobs::release,
        recurring::list, recurring::pause, recurring::resume, recurring::fire,
        invalid_targets::list, invalid_targets::count, invalid_targets::clear,
        ordering_keys::list, operations::list, operations::show, operations::stop,
    ),
    components(schemas(Problem, Progress, AnyChange, Preview, MessageCountBody)),
    modifiers(&Bearer, &Described),
    security(("token" = []))
)]
struct Description;

struct Bearer;

impl Modify for Bearer {
    fn modify(&self, openapi: &mut utoipa::openapi::OpenApi) {
        let components = openapi.components.get_or_insert_default();
        let bearer = SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer));
        components.security_schemes.insert("token".to_owned(), bearer);
    }
}

/// The requests that change nothing.
pub(crate) fn questions() -> Router<ApiState> {
    Router::new()
        .route("/status", get(overview::status))
        .route("/replicas", get(overview::replicas))
        .route("/terms", get(overview::terms))
        .route("/check", get(check::check))
        .route("/figures", get(figures::figures))
        .route("/audit", get(audit::list))
        .route("/messages", get(messages::list))
        .route("/messages/{id}/explain", get(messages::explain))
        .route("/messages/by-key", get(messages::by_key))
        .route("/messages/{id}", get(messages::show))
        .route("/dead-letters", get(dead_letters::list))
        .route("/dead-letters/groups", get(dead_letters::groups).post(dead_letters::groups_of))
        .route("/prune/count", post(prune::count))
        .route("/destinations", get(destinations::list))
        .route("/jobs", get(jobs::list))
        .route("/jobs/{name}/runs", get(jobs::runs))
        .route("/jobs/{name}/runs/{run}", get(jobs::show))
        .route("/recurring", get(recurring::list))
        .route("/ordering-keys", get(ordering_keys::list))
        .route("/operations", get(operations::list))
        .route("/operations/{id}", get(operations::show))
        .route("/invalid-targets", get(invalid_targets::list))
        .route("/invalid-targets/count", post(invalid_targets::count))
        .route("/openapi.json", get(async || Json(description())))
        .merge(change::counts())
}

/// The requests that send again what is there. Any change is asked at `/changes`, which looks at the role itself.
pub(crate) fn retries() -> Router<ApiState> {
    change::paths(Role::Retry)
        .route("/changes", post(change::change))
        .route("/messages/{id}/retry", post(messages::retry))
        .route("/messages/{id}/redrive", post(messages::redrive))
        .route("/operations/{id}/stop", post(operations::stop))
}

/// The other requests that change something.
pub(crate) fn changes() -> Router<ApiState> {
    change::paths(Role::Operate)
        .route("/messages/{id}/cancel", post(messages::cancel))
        .route("/messages/{id}/edit", post(messages::edit))
        .route("/destinations/{id}/pause", post(destinations::pause))
        .route("/destinations/{id}/resume", post(destinations::resume))
        .route("/jobs/{name}/pause", post(jobs::pause))
        .route("/jobs/{name}/resume", post(jobs::resume))
        .route("/jobs/{name}/release", post(jobs::release))
        .route("/recurring/{name}/pause", post(recurring::pause))
        .route("/recurring/{name}/resume", post(recurring::resume))
        .route("/recurring/{name}/fire", post(recurring::fire))
        .route("/invalid-targets/clear", post(invalid_targets::clear))
}

/// Wake-ups. They ask nothing of the database, and wait behind no change.
pub(crate) fn wake_ups() -> Router<ApiState> {
    Router::new().route("/wake", post(wake::wake))
}

/// The OpenAPI description.
pub(crate) fn description() -> utoipa::openapi::OpenApi {
    Description::openapi()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::Value;

    use super::*;

    /// All values of a key, wherever it stands.
    fn values<'a>(key: &str, value: &'a Value, found: &mut Vec<&'a str>) {
        match value {
            Value::Object(fields) => {
                found.extend(fields.get(key).and_then(Value::as_str));
                fields.values().for_each(|value| values(key, value, found));
            }
            Value::Array(items) => items.iter().for_each(|value| values(key, value, found)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    #[test]
    fn what_the_description_refers_to_is_in_it_and_operations_have_names_of_their_own() {
        let description = serde_json::to_value(description()).unwrap();
        let (mut references, mut operations) = (Vec::new(), Vec::new());
        values("$ref", &description, &mut references);
        values("operationId", &description, &mut operations);
        assert!(references.len() > 10 && operations.len() > 10, "{description}");
        for reference in references {
            let there = description.pointer(reference.strip_prefix('#').unwrap());
            assert!(there.is_some(), "{reference} is not there");
        }
        assert_eq!(operations.iter().collect::<BTreeSet<_>>().len(), operations.len(), "{operations:?}");
    }
}
