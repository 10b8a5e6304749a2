//! Targets that are known to be gone: the requests about them.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, Uri};
use outbox_desk::{ByHand, Cleared, Desk, InvalidTargetPage, InvalidTargetSelection, Moment};
use serde::{Deserialize, Serialize};
use utoipa::IntoParams;

use super::dead_letters::link;
use super::extract::{Body, Filtered};
use super::requests::{ByClient, ClearBody, CountBody, Page};
use super::{Answer, ApiState, Problem};

/// A filter of targets. A target must meet all conditions that are given.
#[derive(Debug, Clone, Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct InvalidTargetFilter {
    /// The target, spelled as in the messages to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// The channel of the target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
    /// Only targets that were last found to be gone at this moment or earlier.
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

/// Lists targets that are known to be gone in pages, the last recorded first.
#[utoipa::path(get, path = "/api/v1/invalid-targets", operation_id = "list_invalid_targets", tag = "invalid targets",
    params(InvalidTargetFilter, Page), responses(
    (status = 200, description = "A page. `Link` with `rel=\"next\"` leads to the next page", body = InvalidTargetPage,
     headers(("link" = String, description = "RFC 8288"))),
    Problem,
))]
pub(super) async fn list(
    State(api_state): State<ApiState>,
    uri: Uri,
    Filtered { filter, page }: Filtered<InvalidTargetFilter>,
) -> Result<(HeaderMap, Json<InvalidTargetPage>), Problem> {
    let targets = api_state.database.invalid_targets(&filter.into(), page.cursor()?, page.size()?).await?;
    Ok((link(&uri, targets.next.as_ref()), Json(targets)))
}

/// Counts the targets of a selection, and shows a page of them.
///
/// The answer shows what clearing this selection would forget. It changes nothing itself.
#[utoipa::path(post, path = "/api/v1/invalid-targets/count", operation_id = "count_invalid_targets", tag = "invalid targets",
    request_body = CountBody, responses(
    (status = 200, description = "A page of the targets, and the number of all", body = InvalidTargetPage),
    Problem,
))]
pub(super) async fn count(State(api_state): State<ApiState>, Body(body): Body<CountBody>) -> Answer<InvalidTargetPage> {
    let size = Page { after: None, limit: body.limit }.size()?;
    Ok(Json(api_state.database.invalid_targets(&body.selection, body.after, size).await?))
}

/// Forgets targets that are known to be gone. An empty selection means every target.
#[utoipa::path(post, path = "/api/v1/invalid-targets/clear", operation_id = "clear_invalid_targets", tag = "invalid targets",
    params(ByClient), request_body = ClearBody, responses(
    (status = 200, description = "How many targets were forgotten", body = Cleared),
    Problem,
))]
pub(super) async fn clear(State(api_state): State<ApiState>, Body(body): Body<ClearBody>) -> Answer<Cleared> {
    Ok(Json(api_state.database.clear_invalid_targets(&body.selection, &body.author.into_author()).await?))
}
