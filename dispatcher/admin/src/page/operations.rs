//! Changes of many messages: how far each is, what it did, and stopping it.

use axum::extract::State;
use axum::response::Response;
use maud::{Markup, html};
use outbox_desk::{Action, ByHand, OperationEntry, OperationStatus};

use super::fields::{Asked, Get, NoFields, Plain, Sent};
use super::frame::Content;
use super::instead::Instead;
use super::ordered::told;
use super::parts::{
    Tone, empty, facts, lead_to, length, moment, moment_if, number, pages, stacked, state, text, text_if, time,
};
use super::request_context::RequestContext;
use super::tables::{PAGE, Row, Shape};
use super::went::how_they_went;
use super::{PageState, paths};
use crate::api::Problem;
use crate::api::extract::Id;

pub(super) async fn list((State(page_state), context, Asked(asked)): Get) -> Result<Response, Instead> {
    let (NoFields {}, after) = context.understood("Operations", &html! {}, asked.of_list::<NoFields, i64>())?;
    let page = outbox_desk::operations(&page_state.api_state.database, after, PAGE).await?;
    let body = html! {
        @if page.operations.is_empty() {
            (empty("Nobody has changed many messages at once in the last 30 days."))
        } @else {
            (table_of(&page.operations, "Operations"))
        }
        (pages(paths::OPERATIONS, &asked, page.next.as_ref()))
    };
    Ok(context.page(&Content::live("Operations", html! {}, body)))
}

/// Operations as a table of this name.
pub(super) fn table_of(operations: &[OperationEntry], name: &str) -> Markup {
    let heading = ["Operation", "What", "State", "Done", "Changed", "Left", "Who", "Why", "Began"];
    stacked(name, heading, operations.iter().map(row))
}

fn row(operation: &OperationEntry) -> Row {
    Row::of_shape(Shape::Whole, html! { a href=(paths::operation(operation.id)) { (operation.id) } })
        .cell(text(&operation.action))
        .cell(standing(operation))
        .number(html! { (number(operation.done)) @if let Some(meant) = operation.meant { " of " (number(meant)) } })
        .number(number(operation.changed))
        .number(length(left_of(operation)))
        .cell(text_if(operation.who.as_deref()))
        .shaped(Shape::Long, text_if(operation.why.as_deref()))
        .cell(time(&operation.began_at))
}

fn standing(operation: &OperationEntry) -> Markup {
    match operation.status {
        OperationStatus::Open if operation.waits => state("waits for the poller", Tone::Warning),
        OperationStatus::Open => state("goes on", Tone::Plain),
        OperationStatus::Done => state("done", Tone::Good),
        OperationStatus::Stopped => state("stopped", Tone::Warning),
        OperationStatus::Failed => state("failed", Tone::Bad),
    }
}

pub(super) async fn show(
    State(page_state): State<PageState>,
    context: RequestContext,
    Id(id): Id,
    _: Plain,
) -> Result<Response, Problem> {
    let found = outbox_desk::operation(&page_state.api_state.database, id).await?;
    let operation = context.redaction.of_operation(found.ok_or_else(|| Problem::no_operation(id))?);
    let title = format!("Operation {id}: {}", operation.action);
    // An open one is asked for as a whole.
    let is_over = operation.status != OperationStatus::Open;
    let went = how_they_went(&page_state, operation.result.as_ref(), is_over).await?;
    let body = shown(&context, &operation, &went);
    Ok(context.page(&match operation.status {
        OperationStatus::Open => Content::live(title, html! {}, body),
        _ => Content::still(title, body),
    }))
}

fn shown(context: &RequestContext, operation: &OperationEntry, went: &Markup) -> Markup {
    let open = operation.status == OperationStatus::Open;
    html! {
        @if open {
            div.note.plain role="status" {
                strong {
                    (number(operation.done))
                    @if let Some(meant) = operation.meant { " of " (number(meant)) }
                    " done."
                }
                @if let Some(rate) = operation.rate() { " " (number(rate)) " a second." }
                @if operation.left_ms().is_some() { " " (length(left_of(operation))) " left." }
                " It goes on when this page is closed."
                @if let Some(meant) = operation.meant {
                    progress max=(meant) value=(operation.done) aria-label="Messages that the operation has come to" {}
                }
            }
            @if operation.waits {
                p.note.warning { "It waits for the poller, which takes it within seconds. Where no replica polls, nothing goes on." }
            }
            @if context.retries() {
                form.actions method="post" action={ (paths::operation(operation.id)) "/stop" } {
                    (context.token())
                    input type="hidden" name="by" value=(context.session.name);
                    button.danger type="submit" { "Stop it" }
                }
            }
        }
        @if let Some(failure) = &operation.failure {
            p.note.bad role="alert" { strong { "It failed." } " The database refused a batch: " (text(failure)) ". What was changed before stays changed." }
        }
        @if let Some(result) = &operation.result { (told(result)) }
        (went)
        @if let (false, Some(Action::Redrive | Action::Replay), 1..) = (open, operation.result.as_ref().map(|done| done.action), operation.changed) {
            @if context.operates() { p { a href={ "/redrives/" (operation.id) "/undo" } { "Take it back…" } } }
        }
        (facts([
            ("State", standing(operation)),
            ("Order", text_if(operation.order_in_words().as_deref())),
            ("Ordered by", text_if(operation.who.as_deref())),
            ("Why", text_if(operation.why.as_deref())),
            ("Began", moment(&operation.began_at)),
            ("Ended", moment_if(operation.ended_at.as_deref())),
            ("Lasted", length(i64::try_from(operation.lasted_ms).ok())),
        ]))
        p { a href=(paths::OPERATIONS) { "All operations" } }
    }
}

pub(super) async fn stop(
    State(page_state): State<PageState>,
    Id(id): Id,
    Sent(sent): Sent,
) -> Result<Response, Problem> {
    let stopped = page_state.api_state.database.stop(id, &sent.author().into_author()).await?;
    stopped.ok_or_else(|| Problem::no_operation(id))?;
    Ok(lead_to(&paths::operation(id)))
}

fn left_of(operation: &OperationEntry) -> Option<i64> {
    operation.left_ms().and_then(|left| left.try_into().ok())
}
