//! Dead letters, many at a time.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, Uri, header};
use axum::response::Response;
use outbox_schema::desk::{
    ContentEdit, DeadGroup, DeadLetterFilter, DeadLetterPage, EditedAll, OperationEntry, Order, Purged, Redriven,
    Selection, Undone,
};

use outbox_schema::Desk;

use super::extract::{Body, Filtered, Id, Params};
use super::followed::{Wish, answer};
use super::problem::Kind;
use super::requests::{Authored, ByClient, EditAllBody, Page, PurgeBody, RedriveBody};
use super::{Answer, Office, Problem};
use crate::edit::Wanted;

/// Lists dead letters in pages, the most recently dead first.
#[utoipa::path(get, path = "/api/v1/dead-letters", operation_id = "list_dead_letters", tag = "dead letters", params(DeadLetterFilter, Page), responses(
    (status = 200, description = "A page. `Link` with `rel=\"next\"` leads to the next page", body = DeadLetterPage,
     headers(("link" = String, description = "RFC 8288"))),
    Problem,
))]
pub(super) async fn list(
    State(office): State<Office>,
    uri: Uri,
    Filtered { filter, page }: Filtered<DeadLetterFilter>,
) -> Result<(HeaderMap, Json<DeadLetterPage>), Problem> {
    let halting = office.configured.current().halting();
    let letters = office.database.dead_letters(&filter, &halting, page.cursor()?, page.size()?).await?;
    Ok((link(&uri, letters.next.as_ref()), Json(letters)))
}

/// Counts dead letters in groups that have channel, reason, status code and error in common. The largest group comes
/// first.
#[utoipa::path(get, path = "/api/v1/dead-letters/groups", operation_id = "count_dead_letters", tag = "dead letters", params(DeadLetterFilter), responses(
    (status = 200, description = "The groups", body = [DeadGroup]),
    Problem,
))]
pub(super) async fn groups(
    State(office): State<Office>,
    Params(filter): Params<DeadLetterFilter>,
) -> Answer<Vec<DeadGroup>> {
    Ok(Json(office.database.dead_groups(&Selection::Filter(filter)).await?))
}

/// Counts the dead letters of a selection in the same groups.
///
/// The answer shows what a redrive or a purge of this selection would change. It changes nothing itself.
#[utoipa::path(post, path = "/api/v1/dead-letters/groups", operation_id = "count_selected_dead_letters", tag = "dead letters", request_body = Selection, responses(
    (status = 200, description = "The groups", body = [DeadGroup]),
    Problem,
))]
pub(super) async fn groups_of(
    State(office): State<Office>,
    Body(selection): Body<Selection>,
) -> Answer<Vec<DeadGroup>> {
    Ok(Json(office.database.dead_groups(&selection).await?))
}

/// Makes dead letters due again. Their attempts and their age start anew.
///
/// With `Accept: application/x-ndjson` the answer is lines while the redrive goes on: `{"progress": …}`, and at last
/// `{"done": …}` or `{"problem": …}`.
#[utoipa::path(post, path = "/api/v1/dead-letters/redrive", operation_id = "redrive_dead_letters", tag = "dead letters", params(ByClient), request_body = RedriveBody, responses(
    (status = 200, description = "What the redrive did. Its `audit_id` names it for an undo", body = Redriven),
    (status = 202, description = "With `Prefer: respond-async`: the operation has begun. `Location` leads to it", body = OperationEntry),
    Problem,
))]
pub(super) async fn redrive(
    State(office): State<Office>,
    wish: Wish,
    Body(body): Body<RedriveBody>,
) -> Result<Response, Problem> {
    let pace = body.pace();
    answer(wish, office, Order::Redrive(body.selection, pace), body.author.into_author()).await
}

/// Makes the same change to dead letters: another target, other headers. Each gets a new idempotency key, or keeps its own
/// with `keep_key`.
///
/// With `Accept: application/x-ndjson` the answer is lines while the edit goes on: `{"progress": …}`, and at last
/// `{"done": …}` or `{"problem": …}`.
#[utoipa::path(post, path = "/api/v1/dead-letters/edit", operation_id = "edit_dead_letters", tag = "dead letters", params(ByClient), request_body = EditAllBody, responses(
    (status = 200, description = "What the edit did", body = EditedAll),
    (status = 202, description = "With `Prefer: respond-async`: the operation has begun. `Location` leads to it", body = OperationEntry),
    Problem,
))]
pub(super) async fn edit(
    State(office): State<Office>,
    wish: Wish,
    Body(body): Body<EditAllBody>,
) -> Result<Response, Problem> {
    examined(&office, &body.selection, &body.change).await?;
    answer(wish, office, Order::Edit(body.selection, body.change), body.author.into_author()).await
}

/// Refuses a change after which a channel would make dead letters of the messages at once.
pub(crate) async fn examined(office: &Office, selection: &Selection, change: &ContentEdit) -> Result<(), Problem> {
    examined_in(office, &office.database.dead_groups(selection).await?, change).await
}

/// The same of groups that were counted already.
pub(crate) async fn examined_in(office: &Office, groups: &[DeadGroup], change: &ContentEdit) -> Result<(), Problem> {
    let wanted = Wanted { payload: None, of_any: change.clone() };
    match wanted.refusal(&office.config.current(), &office.database, groups).await? {
        Some(why) => Err(Problem::new(Kind::InvalidMessage, why)),
        None => Ok(()),
    }
}

/// Deletes dead letters and their attempts. Only the audit remembers them.
///
/// With `Accept: application/x-ndjson` the answer is lines while the purge goes on: `{"progress": …}`, and at last
/// `{"done": …}` or `{"problem": …}`.
#[utoipa::path(post, path = "/api/v1/dead-letters/purge", operation_id = "purge_dead_letters", tag = "dead letters", params(ByClient), request_body = PurgeBody, responses(
    (status = 200, description = "What the purge did", body = Purged),
    (status = 202, description = "With `Prefer: respond-async`: the operation has begun. `Location` leads to it", body = OperationEntry),
    Problem,
))]
pub(super) async fn purge(
    State(office): State<Office>,
    wish: Wish,
    Body(body): Body<PurgeBody>,
) -> Result<Response, Problem> {
    answer(wish, office, Order::Purge(body.selection), body.author.into_author()).await
}

/// Undoes a redrive or a replay, for the messages that have not been claimed or attempted since.
///
/// After a redrive they are dead letters again. The rows of a replay are removed. `id` is the `audit_id` of either. With
/// `Accept: application/x-ndjson` the answer is lines while the undo goes on: `{"progress": …}`, and at last `{"done": …}` or
/// `{"problem": …}`.
#[utoipa::path(post, path = "/api/v1/redrives/{id}/undo", operation_id = "undo_redrive", tag = "dead letters", params(("id" = i64, Path), ByClient),
    request_body = Authored, responses(
    (status = 200, description = "What the undo did", body = Undone),
    (status = 202, description = "With `Prefer: respond-async`: the operation has begun. `Location` leads to it", body = OperationEntry),
    Problem,
))]
pub(super) async fn undo(
    State(office): State<Office>,
    Id(id): Id,
    wish: Wish,
    Body(author): Body<Authored>,
) -> Result<Response, Problem> {
    answer(wish, office, Order::Undo(id), author.into_author()).await
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
