//! The audit: what people did by hand, and why.

use axum::extract::State;
use axum::response::Response;
use maud::{Markup, html};
use outbox_schema::Desk;
use outbox_schema::desk::{AuditFilter, ListedAudit};

use super::Reception;
use super::door::Visit;
use super::downloads::links;
use super::fields::{Asked, Fields};
use super::frame::Content;
use super::messages::PAGE;
use super::parts::{empty, filter, filter_text, message, nothing, pages, table, text, text_if, time};
use crate::admin::api::Problem;

/// Where the list is.
const PATH: &str = "/audit";

pub(super) async fn list(
    State(reception): State<Reception>,
    visit: Visit,
    Asked(asked): Asked,
) -> Result<Response, Problem> {
    let above = filter(PATH, &asked, &fields(&asked));
    let meant = match with_id(&reception, &asked).await {
        Ok(meant) => meant,
        Err(problem) => return Ok(visit.misunderstood("Audit", above, &problem)),
    };
    let (filter, after) = match meant.of_list::<AuditFilter, _>() {
        Ok(read) => read,
        Err(problem) => return Ok(visit.misunderstood("Audit", above, &problem)),
    };
    let page = visit.sight.of_audit(reception.office.database.audits(filter, after, PAGE).await?);
    let body = html! {
        @if page.entries.is_empty() { (empty("Nobody has changed anything by hand.")) } @else {
            (table("Audit", ["Entry", "When", "Who", "What", "Message", "Why", "Details"], page.entries.iter().map(|entry| row(&visit, entry))))
        }
        (pages(PATH, &asked, page.next.as_ref()))
        @if !page.entries.is_empty() { (links(PATH, &meant)) }
    };
    Ok(visit.page(&Content::live("Audit", above, body)))
}

/// The fields with the id of the message, where they name it by its idempotency key.
async fn with_id(reception: &Reception, asked: &Fields) -> Result<Fields, Problem> {
    match asked.get("message").map(str::trim) {
        // A message that was purged has left its id here only.
        Some(named) if named.parse::<i64>().is_err() && !named.contains('\0') => {
            let found = reception.office.database.message_by_key(named).await?;
            let id = found.ok_or_else(|| Problem::no_message(named))?.id;
            Ok(asked.with("message", &id.to_string()))
        }
        Some(_) | None => Ok(asked.clone()),
    }
}

fn fields(asked: &Fields) -> Markup {
    html! {
        (filter_text(asked, "message", "Message id or idempotency key", ""))
        (filter_text(asked, "since", "Since", "2h, or 2026-05-01T14:00:00Z"))
    }
}

fn row(visit: &Visit, listed: &ListedAudit) -> Markup {
    let entry = &listed.entry;
    // An undo needs the id of the whole operation.
    let operation = entry.part_of.unwrap_or(entry.id);
    html! {
        th.number scope="row" { (operation) }
        td { (time(&entry.at)) }
        td { (text(&entry.who)) }
        td {
            (text(&entry.action))
            @if visit.operates() && matches!(entry.action.as_str(), "redrive" | "replay") {
                " " a href={ "/redrives/" (operation) "/undo" } { "take back…" }
            }
        }
        td.number { @if let Some(id) = listed.message_id { (message(id)) } @else { (nothing()) } }
        td.long { (text_if(entry.why.as_deref())) }
        td.long { @if let Some(details) = &entry.details { code { (text(details)) } } @else { (nothing()) } }
    }
}
