//! Dead letters, many at a time.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, Uri, header};
use outbox_schema::desk::{DeadGroup, DeadLetterFilter, DeadLetterPage, Purged, Redriven, Selection, Undone};

use outbox_schema::{ByHand, Desk};

use super::problem::Kind;
use super::requests::{Authored, Body, Filtered, Id, Page, Params, PurgeBody, RedriveBody};
use super::{Answer, Office, Problem};

/// Dead letters, the last that died first, in pages.
#[utoipa::path(get, path = "/api/v1/dead-letters", operation_id = "list_dead_letters", tag = "dead letters", params(DeadLetterFilter, Page), responses(
    (status = 200, description = "A page. `Link` with `rel=\"next\"` leads to the next one", body = DeadLetterPage,
     headers(("link" = String, description = "RFC 8288"))),
    Problem,
))]
pub(super) async fn list(
    State(office): State<Office>,
    uri: Uri,
    Filtered { filter, page }: Filtered<DeadLetterFilter>,
) -> Result<(HeaderMap, Json<DeadLetterPage>), Problem> {
    let letters = office.database.dead_letters(&filter, page.cursor()?, page.size()?).await?;
    Ok((link(&uri, letters.next.as_ref()), Json(letters)))
}

/// Dead letters counted by what they have in common, the most first.
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

/// The same, of a selection: what a redrive or a purge of it would mean. Changes nothing.
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

/// Make dead letters due again, with attempts and age starting anew.
#[utoipa::path(post, path = "/api/v1/dead-letters/redrive", operation_id = "redrive_dead_letters", tag = "dead letters", request_body = RedriveBody, responses(
    (status = 200, description = "What was done; `audit_id` names it for an undo", body = Redriven),
    Problem,
))]
pub(super) async fn redrive(State(office): State<Office>, Body(body): Body<RedriveBody>) -> Answer<Redriven> {
    let pace = body.pace();
    Ok(Json(office.database.redrive(&body.selection, pace, &body.author.into_author()).await?))
}

/// Delete dead letters and their attempts. Only the audit remembers them.
#[utoipa::path(post, path = "/api/v1/dead-letters/purge", operation_id = "purge_dead_letters", tag = "dead letters", request_body = PurgeBody, responses(
    (status = 200, description = "What was done", body = Purged),
    Problem,
))]
pub(super) async fn purge(State(office): State<Office>, Body(body): Body<PurgeBody>) -> Answer<Purged> {
    Ok(Json(office.database.purge(&body.selection, &body.author.into_author()).await?))
}

/// Take back what a redrive did to messages that have not been sent since. `id` is its `audit_id`.
#[utoipa::path(post, path = "/api/v1/redrives/{id}/undo", operation_id = "undo_redrive", tag = "dead letters", params(("id" = i64, Path)),
    request_body = Authored, responses(
    (status = 200, description = "What was done", body = Undone),
    Problem,
))]
pub(super) async fn undo(State(office): State<Office>, Id(id): Id, Body(author): Body<Authored>) -> Answer<Undone> {
    let done = office.database.undo(id, &author.into_author()).await?;
    done.map(Json).ok_or_else(|| Problem::new(Kind::NotThere, format!("no redrive has the audit entry {id}")))
}

/// Where the next page is, <https://www.rfc-editor.org/rfc/rfc8288>. Relative, since a proxy may have put all of it
/// elsewhere.
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
