//! Dead letters, many at a time.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, Uri, header};
use outbox_desk::{ContentEdit, DeadGroup, DeadLetterFilter, DeadLetterPage, Desk, Selection};

use super::extract::{Body, Filtered, Params};
use super::problem::Kind;
use super::requests::Page;
use super::{Answer, ApiState, Problem};
use outbox_console::edit::Wanted;

/// Lists dead letters in pages, the most recently dead first.
#[utoipa::path(get, path = "/api/v1/dead-letters", operation_id = "list_dead_letters", tag = "dead letters", params(DeadLetterFilter, Page), responses(
    (status = 200, description = "A page. `Link` with `rel=\"next\"` leads to the next page", body = DeadLetterPage,
     headers(("link" = String, description = "RFC 8288"))),
    Problem,
))]
pub(super) async fn list(
    State(api_state): State<ApiState>,
    uri: Uri,
    Filtered { filter, page }: Filtered<DeadLetterFilter>,
) -> Result<(HeaderMap, Json<DeadLetterPage>), Problem> {
    let halting = api_state.configured.current().halting();
    let letters = api_state.database.dead_letters(&filter, &halting, page.cursor()?, page.size()?).await?;
    Ok((link(&uri, letters.next.as_ref()), Json(letters)))
}

/// Counts dead letters in groups that have channel, reason, status code and error in common. The largest group comes
/// first.
#[utoipa::path(get, path = "/api/v1/dead-letters/groups", operation_id = "count_dead_letters", tag = "dead letters", params(DeadLetterFilter), responses(
    (status = 200, description = "The groups", body = [DeadGroup]),
    Problem,
))]
pub(super) async fn groups(
    State(api_state): State<ApiState>,
    Params(filter): Params<DeadLetterFilter>,
) -> Answer<Vec<DeadGroup>> {
    Ok(Json(api_state.database.dead_groups(&Selection::Filter(filter)).await?))
}

/// Counts the dead letters of a selection in the same groups.
///
/// The answer shows what a redrive or a purge of this selection would change. It changes nothing itself.
#[utoipa::path(post, path = "/api/v1/dead-letters/groups", operation_id = "count_selected_dead_letters", tag = "dead letters", request_body = Selection, responses(
    (status = 200, description = "The groups", body = [DeadGroup]),
    Problem,
))]
pub(super) async fn groups_of(
    State(api_state): State<ApiState>,
    Body(selection): Body<Selection>,
) -> Answer<Vec<DeadGroup>> {
    Ok(Json(api_state.database.dead_groups(&selection).await?))
}

/// Refuses a change after which a channel would make dead letters of the messages at once.
pub(crate) async fn examined(api_state: &ApiState, selection: &Selection, change: &ContentEdit) -> Result<(), Problem> {
    examined_in(api_state, &api_state.database.dead_groups(selection).await?, change).await
}

/// The same of groups that were counted already.
pub(crate) async fn examined_in(
    api_state: &ApiState,
    groups: &[DeadGroup],
    change: &ContentEdit,
) -> Result<(), Problem> {
    let wanted = Wanted { payload: None, of_any: change.clone() };
    match wanted.refusal(&api_state.config.current(), &api_state.database, groups).await? {
        Some(why) => Err(Problem::new(Kind::InvalidMessage, why)),
        None => Ok(()),
    }
}

/// The header that leads to the next page, <https://www.rfc-editor.org/rfc/rfc8288>. The address in it is relative,
/// since a proxy may serve the API under another one.
pub(super) fn link(uri: &Uri, next: Option<&impl ToString>) -> HeaderMap {
    let mut headers = HeaderMap::new();
    let Some(next) = next else { return headers };
    let asked = url::form_urlencoded::parse(uri.query().unwrap_or("").as_bytes());
    let query = url::form_urlencoded::Serializer::new(String::new())
        .extend_pairs(asked.filter(|(name, _)| name != "after"))
        .append_pair("after", &next.to_string())
        .finish();
    if let Ok(value) = HeaderValue::try_from(format!("<?{query}>; rel=\"next\"")) {
        headers.insert(header::LINK, value);
    }
    headers
}
