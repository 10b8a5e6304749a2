//! Wake-ups of an application that it has committed a message.

use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Answer, ApiState, Kind, Problem};
use crate::wake_endpoint::HeardBy;

/// What became of a wake-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct Woken {
    /// Who got the wake-up.
    pub(crate) woken: WhoWoke,
}

/// Who got a wake-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum WhoWoke {
    /// The replica that got the request: it polls.
    ThisReplica,
    /// The poller. This replica passed the wake-up on to it.
    Poller,
    /// No replica polls at the moment. The next poller begins with a poll.
    Nobody,
}

/// Wakes the poller after a commit, where the database does not.
///
/// Polling alone always suffices: a message whose wake-up is lost goes out within `dispatch.poll_interval`.
#[utoipa::path(post, path = "/api/v1/wake", operation_id = "wake", tag = "status", responses(
    (status = 200, description = "Who got the wake-up", body = Woken),
    (status = 409, description = "This replica does not poll, and has no Redis to pass the wake-up on", body = Problem,
     content_type = "application/problem+json"),
    Problem,
))]
pub(crate) async fn wake(State(api_state): State<ApiState>) -> Answer<Woken> {
    let woken = match api_state.wake_endpoint.wake().await {
        Ok(HeardBy::ThisReplica) => WhoWoke::ThisReplica,
        Ok(HeardBy::Poller) => WhoWoke::Poller,
        Ok(HeardBy::Nobody) => WhoWoke::Nobody,
        Ok(HeardBy::NotPassedOn) => return Err(Problem::new(Kind::NotThePoller, NOT_PASSED_ON)),
        Err(error) => return Err(Problem::new(Kind::LeaseStore, format!("{error}. {FOUND_ANYWAY}"))),
    };
    Ok(Json(Woken { woken }))
}

const NOT_PASSED_ON: &str = "this replica does not poll, and only with dispatch.wakeup = \"redis\" does it pass a wake-up on: ask \
                             all replicas, and the poller takes it. The poller finds the message at its next poll at the latest";

const FOUND_ANYWAY: &str = "The poller finds the message at its next poll at the latest";
