//! The audit: what people did by hand, and why.

use std::collections::HashSet;

use axum::extract::State;
use axum::response::Response;
use maud::{Markup, html};
use outbox_desk::{AuditAction, AuditEntry, AuditFilter, Desk, LOOKED_AT, ListedAudit, OperationStatus};

use super::details::details;
use super::fields::{Asked, Fields, Get};
use super::frame::Content;
use super::instead::Instead;
use super::links::{destination, links};
use super::parts::{
    TIMES, empty, filter, filter_choice, filter_text, message, more_filters, nothing, number, pages, stacked, text,
    text_if, time,
};
use super::request_context::RequestContext;
use super::tables::{PAGE, Row, Shape};
use super::{PageState, paths};
use crate::api::Problem;

/// Where the list is.
const PATH: &str = "/audit";

pub(super) async fn list((State(page_state), context, Asked(asked)): Get) -> Result<Response, Instead> {
    let above = filter(PATH, &asked, &fields(&asked));
    let meant = context.understood("Audit", &above, with_id(&page_state, &asked).await)?;
    let (filter, after) = context.understood("Audit", &above, meant.of_list::<AuditFilter, _>())?;
    let page =
        context.redaction.of_audit(outbox_desk::audits(&page_state.api_state.database, &filter, after, PAGE).await?);
    let spent = Spent::of(&page_state, &page.entries).await;
    let body = html! {
        @if page.entries.is_empty() {
            (empty(if asked.filter().is_empty() { "Nobody has changed anything by hand." } else { "No entry meets the filter." }))
        } @else {
            (stacked("Audit", ["Entry", "When", "Who", "What", "Of", "Why", "Details"], page.entries.iter().map(|entry| row(&context, entry, &spent))))
        }
        @if page.next.is_some() && page.entries.len() < PAGE as usize {
            p.hint { (number(LOOKED_AT)) " entries were looked at, with those of each message of a change, and there are more." }
        }
        (pages(PATH, &asked, page.next.as_ref()))
        @if !page.entries.is_empty() { (links(PATH, &meant)) }
    };
    Ok(context.page(&Content::live("Audit", above, body)))
}

/// The fields with the id of the message, where they name it by its idempotency key.
async fn with_id(page_state: &PageState, asked: &Fields) -> Result<Fields, Problem> {
    match asked.get("message").map(str::trim) {
        // A message that was purged has left its id here only.
        Some(named) if named.parse::<i64>().is_err() && !named.contains('\0') => {
            let found = page_state.api_state.database.message_by_key(named).await?;
            let id = found.ok_or_else(|| Problem::no_message(named))?.id;
            Ok(asked.with("message", &id.to_string()))
        }
        Some(_) | None => Ok(asked.clone()),
    }
}

fn fields(asked: &Fields) -> Markup {
    let times = html! { (filter_text(asked, "since", "Since", TIMES)) (filter_text(asked, "until", "Until", "10m")) };
    html! {
        (filter_text(asked, "message", "Message", "its id, or its idempotency key"))
        (filter_text(asked, "who", "Who begins with", "ada"))
        (filter_choice(asked, "action", "What", &AuditAction::ALL.map(|action| (action.as_str(), action.as_str()))))
        (more_filters(asked, &["since", "until"], &times))
    }
}

/// The operations of a page of the audit in which nothing can be taken back.
struct Spent {
    /// The operations that changed nothing.
    idle: HashSet<i64>,
    /// The operations that were taken back, as far as the page says.
    undone: HashSet<i64>,
}

impl Spent {
    async fn of(page_state: &PageState, entries: &[ListedAudit]) -> Self {
        let undone = entries.iter().filter(|listed| listed.entry.action == "undo");
        let undone = undone.filter_map(|listed| other_operation(&listed.entry)).collect();
        // Each operation has an entry of its own, so a page of operations goes back as far as a page of entries.
        let newest = entries.iter().map(|listed| listed.entry.part_of.unwrap_or(listed.entry.id)).max();
        let operations = match newest {
            Some(newest) => {
                outbox_desk::operations(&page_state.api_state.database, Some(newest.saturating_add(1)), PAGE).await
            }
            None => return Self { idle: HashSet::new(), undone },
        };
        // Where they cannot be read, the undo itself says that there is nothing.
        let operations = operations.map(|page| page.operations).unwrap_or_default();
        let idle =
            operations.iter().filter(|operation| operation.changed == 0 && operation.status != OperationStatus::Open);
        Self { idle: idle.map(|operation| operation.id).collect(), undone }
    }

    /// Whether something may be left to take back.
    fn leaves(&self, action: &str, operation: i64) -> bool {
        matches!(action, "redrive" | "replay") && !self.idle.contains(&operation) && !self.undone.contains(&operation)
    }
}

/// Whether the entry is of a change of many messages, or of a part of one: it has a page of its own.
fn is_of_many(listed: &ListedAudit) -> bool {
    let changes_messages = !matches!(
        listed.entry.action.as_str(),
        "stop" | "pause" | "resume" | "clear" | "failover" | "fire" | "release"
    );
    changes_messages && (listed.entry.part_of.is_some() || listed.message_id.is_none())
}

/// What the entry is about: a message, another operation or a destination.
fn about(listed: &ListedAudit) -> Markup {
    let entry = &listed.entry;
    let paused = || named_in(entry, "destination").and_then(|name| name.as_str().map(destination));
    html! {
        @if let Some(id) = listed.message_id { (message(id)) }
        @else if let Some(id) = other_operation(entry) { "operation " a href=(paths::operation(id)) { (id) } }
        @else if let Some(name) = named_in(entry, "recurring") { "recurring." (text(name.as_str().unwrap_or_default())) }
        @else if let Some(name) = named_in(entry, "job") { "job " (text(name.as_str().unwrap_or_default())) }
        @else if let Some(lost) = lost_below(entry) { a href={ (PATH) "?part_of=" (entry.id) } { (lost) " lost" } }
        @else { (paused().unwrap_or_else(nothing)) }
    }
}

/// How many messages a failover lost, each a part of its entry.
fn lost_below(entry: &AuditEntry) -> Option<u64> {
    named_in(entry, "lost")?.as_u64().filter(|lost| entry.action == "failover" && *lost > 0)
}

/// The operation that somebody stopped, or took back.
fn other_operation(entry: &AuditEntry) -> Option<i64> {
    if entry.part_of.is_some() {
        return None;
    }
    match entry.action.as_str() {
        "stop" => named_in(entry, "operation")?.as_i64(),
        "undo" => named_in(entry, "redrive").or_else(|| named_in(entry, "replay"))?.as_i64(),
        _ => None,
    }
}

/// A field of the details.
fn named_in(entry: &AuditEntry, field: &str) -> Option<serde_json::Value> {
    let mut details: serde_json::Value = serde_json::from_str(entry.details.as_deref()?).ok()?;
    details.get_mut(field).map(serde_json::Value::take)
}

fn row(context: &RequestContext, listed: &ListedAudit, spent: &Spent) -> Row {
    let entry = &listed.entry;
    // An undo needs the id of the whole operation.
    let operation = entry.part_of.unwrap_or(entry.id);
    let id =
        html! { @if is_of_many(listed) { a href=(paths::operation(operation)) { (operation) } } @else { (operation) } };
    let what = html! {
        (text(&entry.action))
        @if context.operates() && spent.leaves(&entry.action, operation) {
            " " a href={ "/redrives/" (operation) "/undo" } { "take back…" }
        }
    };
    Row::of_shape(Shape::Whole, id)
        .cell(time(&entry.at))
        .cell(text(&entry.who))
        .cell(what)
        .shaped(Shape::Target, about(listed))
        .shaped(Shape::Long, text_if(entry.why.as_deref()))
        .shaped(Shape::Long, details(entry))
}
