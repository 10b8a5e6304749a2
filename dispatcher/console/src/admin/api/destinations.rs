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
use super::{Answer, Office, Problem};
use crate::configured::destination_named;

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
    State(office): State<Office>,
    Params(which): Params<DestinationQuery>,
) -> Answer<Vec<DestinationEntry>> {
    let DestinationQuery { all, destination } = which;
    Ok(Json(match destination {
        Some(name) => vec![outbox_desk::destination(&office.database, &meant(&office, &name)).await?],
        None => office.database.destinations(all).await?,
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
    State(office): State<Office>,
    Name(name): Name,
    Body(body): Body<PauseBody>,
) -> Answer<Paused> {
    let destination = named(&office, &name)?;
    if body.author.why.is_empty() {
        return Err(Problem::new(Kind::BadRequest, "why is missing: it is what others are told while the pause lasts"));
    }
    let lasting = body.lasting()?;
    Ok(Json(office.database.pause(&destination, lasting, &body.author.into_author()).await?))
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
    State(office): State<Office>,
    Name(name): Name,
    Body(author): Body<Authored>,
) -> Answer<Resumed> {
    let destination = named(&office, &name)?;
    Ok(Json(office.database.resume(&destination, &author.into_author()).await?))
}

/// The destination that is asked about. One of a channel that nobody configured has the name that its rows give.
pub(crate) fn meant(office: &Office, name: &str) -> String {
    destination_named(name, &office.configured.current()).unwrap_or_else(|_| name.to_owned())
}

fn named(office: &Office, name: &str) -> Result<String, Problem> {
    destination_named(name, &office.configured.current())
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
