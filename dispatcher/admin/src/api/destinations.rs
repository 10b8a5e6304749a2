//! Destinations: what holds them up, pausing and resuming.

use axum::Json;
use axum::extract::{FromRequestParts, Path, State};
use axum::http::request::Parts;
use outbox_desk::{ByHand, Desk, DestinationEntry, Paused, Resumed};
use serde::{Deserialize, Serialize};
use utoipa::IntoParams;

use super::extract::{Body, Params};
use super::problem::Kind;
use super::requests::{Authored, ByClient, PauseBody};
use super::{Answer, ApiState, Problem};
use outbox_console::configured::destination_named;

/// The query of a list of destinations.
#[derive(Debug, Clone, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct DestinationQuery {
    /// True: list every destination that the outbox remembers. False: only those that hold messages up.
    #[serde(default)]
    pub all: bool,
    /// Only this channel, or the destination of this URL, whatever the outbox remembers of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destination: Option<String>,
}

/// Lists the destinations and channels that hold messages up, by name.
#[utoipa::path(get, path = "/api/v1/destinations", operation_id = "list_destinations", tag = "destinations",
    params(DestinationQuery), responses(
    (status = 200, description = "The destinations, and what holds messages up at each", body = [DestinationEntry]),
    Problem,
))]
pub(super) async fn list(
    State(api_state): State<ApiState>,
    Params(which): Params<DestinationQuery>,
) -> Answer<Vec<DestinationEntry>> {
    let DestinationQuery { all, destination } = which;
    Ok(Json(match destination {
        Some(name) => vec![outbox_desk::destination(&api_state.database, &meant(&api_state, &name)).await?],
        None => api_state.database.destinations(all).await?,
    }))
}

/// Pauses a destination, or a whole channel. Messages in flight go on.
#[utoipa::path(post, path = "/api/v1/destinations/{id}/pause", operation_id = "pause_destination", tag = "destinations",
    params(("id" = String, Path, description = "A channel, or the URL of a destination, percent-encoded"), ByClient),
    request_body = PauseBody, responses(
    (status = 200, description = "The destination is paused", body = Paused),
    Problem,
))]
pub(crate) async fn pause(
    State(api_state): State<ApiState>,
    Name(name): Name,
    Body(body): Body<PauseBody>,
) -> Answer<Paused> {
    let destination = named(&api_state, &name)?;
    if body.author.why.is_empty() {
        return Err(Problem::new(Kind::BadRequest, "why is missing: it is what others are told while the pause lasts"));
    }
    let lasting = body.lasting()?;
    Ok(Json(api_state.database.pause(&destination, lasting, &body.author.into_author()).await?))
}

/// Ends every pause of a destination or of a channel.
///
/// Rows that were deferred are due again at their own times.
#[utoipa::path(post, path = "/api/v1/destinations/{id}/resume", operation_id = "resume_destination", tag = "destinations",
    params(("id" = String, Path, description = "A channel, or the URL of a destination, percent-encoded"), ByClient),
    request_body = Authored, responses(
    (status = 200, description = "The destination takes messages again", body = Resumed),
    Problem,
))]
pub(crate) async fn resume(
    State(api_state): State<ApiState>,
    Name(name): Name,
    Body(author): Body<Authored>,
) -> Answer<Resumed> {
    let destination = named(&api_state, &name)?;
    Ok(Json(api_state.database.resume(&destination, &author.into_author()).await?))
}

/// The destination that is asked about. One of a channel that nobody configured has the name that its rows give.
pub(crate) fn meant(api_state: &ApiState, name: &str) -> String {
    destination_named(name, &api_state.configured.current()).unwrap_or_else(|_| name.to_owned())
}

fn named(api_state: &ApiState, name: &str) -> Result<String, Problem> {
    destination_named(name, &api_state.configured.current())
        .map_err(|error| Problem::new(Kind::NotThere, error.to_string()))
}

/// The destination or channel in the path.
pub(crate) struct Name(pub(crate) String);

impl<S: Send + Sync> FromRequestParts<S> for Name {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let Path(name) = Path::<String>::from_request_parts(parts, state).await?;
        Ok(Self(name))
    }
}
