//! Targets that are known to be gone.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, Uri};
use outbox_schema::desk::{Cleared, InvalidTargetPage, InvalidTargetSelection, Moment};
use outbox_schema::{ByHand, Desk};
use serde::{Deserialize, Serialize};
use utoipa::IntoParams;

use super::dead_letters::link;
use super::requests::{Body, ClearBody, CountBody, Filtered, Page};
use super::{Answer, Office, Problem};

/// Which targets: those to which all that is said applies.
#[derive(Debug, Clone, Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct InvalidTargetFilter {
    /// This one, as messages say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// Of this channel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
    /// Last found to be gone at this moment, or an earlier one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(value_type = Option<String>, example = "90d")]
    pub older_than: Option<Moment>,
}

impl From<InvalidTargetFilter> for InvalidTargetSelection {
    fn from(filter: InvalidTargetFilter) -> Self {
        let InvalidTargetFilter { target, channel, older_than } = filter;
        Self { targets: target.into_iter().collect(), channel, older_than }
    }
}

/// Targets that are known to be gone, the last recorded first, in pages.
#[utoipa::path(get, path = "/api/v1/invalid-targets", operation_id = "list_invalid_targets", tag = "invalid targets",
    params(InvalidTargetFilter, Page), responses(
    (status = 200, description = "A page. `Link` with `rel=\"next\"` leads to the next one", body = InvalidTargetPage,
     headers(("link" = String, description = "RFC 8288"))),
    Problem,
))]
pub(super) async fn list(
    State(office): State<Office>,
    uri: Uri,
    Filtered { filter, page }: Filtered<InvalidTargetFilter>,
) -> Result<(HeaderMap, Json<InvalidTargetPage>), Problem> {
    let targets = office.database.invalid_targets(&filter.into(), page.cursor()?, page.size()?).await?;
    Ok((link(&uri, targets.next.as_ref()), Json(targets)))
}

/// The same, of a selection: what clearing it would mean. Changes nothing.
#[utoipa::path(post, path = "/api/v1/invalid-targets/count", operation_id = "count_invalid_targets", tag = "invalid targets",
    request_body = CountBody, responses(
    (status = 200, description = "A page of them, and how many there are", body = InvalidTargetPage),
    Problem,
))]
pub(super) async fn count(State(office): State<Office>, Body(body): Body<CountBody>) -> Answer<InvalidTargetPage> {
    let size = Page { after: None, limit: body.limit }.size()?;
    Ok(Json(office.database.invalid_targets(&body.selection, body.after, size).await?))
}

/// Forget targets that are known to be gone. An empty selection means every one.
#[utoipa::path(post, path = "/api/v1/invalid-targets/clear", operation_id = "clear_invalid_targets", tag = "invalid targets",
    request_body = ClearBody, responses(
    (status = 200, description = "What was forgotten", body = Cleared),
    Problem,
))]
pub(super) async fn clear(State(office): State<Office>, Body(body): Body<ClearBody>) -> Answer<Cleared> {
    Ok(Json(office.database.clear_invalid_targets(&body.selection, &body.author.into_author()).await?))
}
