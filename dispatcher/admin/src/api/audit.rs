//! The audit: what people did by hand.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, Uri};
use outbox_desk::{AuditFilter, AuditPage};

use super::dead_letters::link;
use super::extract::Filtered;
use super::requests::Page;
use super::{ApiState, Problem, Redaction};

/// Lists what people did by hand in pages, the newest first.
///
/// Without a message, one page looks at 100,000 entries at most, those of an operation's messages among them. So a page may
/// hold few entries, or none, and still lead to the next.
#[utoipa::path(get, path = "/api/v1/audit", operation_id = "list_audit", tag = "status", params(AuditFilter, Page), responses(
    (status = 200, description = "A page. `Link` with `rel=\"next\"` leads to the next page", body = AuditPage,
     headers(("link" = String, description = "RFC 8288"))),
    Problem,
))]
pub(super) async fn list(
    State(api_state): State<ApiState>,
    redaction: Redaction,
    uri: Uri,
    Filtered { filter, page }: Filtered<AuditFilter>,
) -> Result<(HeaderMap, Json<AuditPage>), Problem> {
    let audit =
        redaction.of_audit(outbox_desk::audits(&api_state.database, &filter, page.cursor()?, page.size()?).await?);
    Ok((link(&uri, audit.next.as_ref()), Json(audit)))
}
