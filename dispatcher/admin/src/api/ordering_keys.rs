//! Ordering keys: the requests about them.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, Uri};
use outbox_desk::{Desk, HaltedKeyPage};
use serde::{Deserialize, Serialize};
use utoipa::IntoParams;

use super::dead_letters::link;
use super::extract::Filtered;
use super::problem::Kind;
use super::requests::Page;
use super::{ApiState, Problem};

/// A filter of ordering keys.
#[derive(Debug, Clone, Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct OrderingKeyFilter {
    /// `true`: the keys that a dead letter halts. No other keys can be listed.
    pub halted: bool,
    /// The channel of the keys.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
}

/// Lists the ordering keys that a dead letter halts in pages, by channel and key.
///
/// Which channels halt at dead letters, the settings of the replica say. One page looks at 100,000 dead letters at most.
#[utoipa::path(get, path = "/api/v1/ordering-keys", operation_id = "list_ordering_keys", tag = "ordering keys",
    params(OrderingKeyFilter, Page), responses(
    (status = 200, description = "A page. `Link` with `rel=\"next\"` leads to the next page", body = HaltedKeyPage,
     headers(("link" = String, description = "RFC 8288"))),
    Problem,
))]
pub(super) async fn list(
    State(api_state): State<ApiState>,
    uri: Uri,
    Filtered { filter, page }: Filtered<OrderingKeyFilter>,
) -> Result<(HeaderMap, Json<HaltedKeyPage>), Problem> {
    if !filter.halted {
        return Err(Problem::new(Kind::BadRequest, "halted = false: only halted keys can be listed".to_owned()));
    }
    let (halting, after) = (api_state.configured.current().halting(), page.cursor()?);
    let keys =
        api_state.database.halted_keys(&halting, filter.channel.as_deref(), after.as_ref(), page.size()?).await?;
    Ok((link(&uri, keys.next.as_ref()), Json(keys)))
}
