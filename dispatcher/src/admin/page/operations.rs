//! Changes of many messages: how far each is, what it did, and stopping it.

use std::time::Duration;

use axum::extract::State;
use axum::response::Response;
use maud::{Markup, html};
use outbox_schema::ByHand;
use outbox_schema::desk::{
    EditedAll, OperationEntry, OperationResult, OperationStatus, Order, Ordered, Undoable, Undone,
};

use super::Reception;
use super::door::Visit;
use super::fields::{Asked, Fields, NoFields, Plain, Sent};
use super::frame::Content;
use super::messages::PAGE;
use super::parts::{
    NAMED, Tone, empty, facts, lead_to, left, length, message, moment, moment_if, number, pages, stacked, state, text,
    text_if, time,
};
use super::retention::counted_messages;
use super::tables::{Row, Shape};
use super::went::how_they_went;
use crate::admin::api::extract::Id;
use crate::admin::api::{Kind, Problem};

/// Where the list is.
pub(super) const PATH: &str = "/operations";

/// How long a form waits for the end of its change. Then the poller goes on, and the browser is led to the operation.
const PATIENCE: Duration = Duration::from_secs(2);

/// Orders a change, and waits a moment for its end. Where it has not ended by then, its page tells of it.
pub(super) async fn ordered(
    reception: &Reception,
    order: Order,
    sent: &Fields,
) -> Result<Ordered<OperationResult>, Problem> {
    let database = &reception.office.database;
    let ordered = database.order(order, &sent.author().into_author(), PATIENCE).await?;
    let not_there = || Problem::new(Kind::NotThere, "no redrive or replay has that audit entry");
    match ordered.ok_or_else(not_there)? {
        Ordered::Begun(id) => match database.operation(id).await? {
            Some(OperationEntry { status: OperationStatus::Done, result: Some(result), .. }) => {
                Ok(Ordered::Over(result))
            }
            Some(_) | None => Ok(Ordered::Begun(id)),
        },
        over @ Ordered::Over(_) => Ok(over),
    }
}

/// Leads to the page of a change that goes on.
pub(super) fn elsewhere(ordered: &Ordered<OperationResult>) -> Response {
    match ordered {
        Ordered::Begun(id) => lead_to(&address(*id)),
        Ordered::Over(_) => lead_to(PATH),
    }
}

pub(super) fn address(id: i64) -> String {
    format!("{PATH}/{id}")
}

pub(super) async fn list(
    State(reception): State<Reception>,
    visit: Visit,
    Asked(asked): Asked,
) -> Result<Response, Problem> {
    let after = match asked.of_list::<NoFields, i64>() {
        Ok((NoFields {}, after)) => after,
        Err(refused) => return Ok(visit.misunderstood("Operations", html! {}, &refused)),
    };
    let page = reception.office.database.operations(after, PAGE).await?;
    let body = html! {
        @if page.operations.is_empty() {
            (empty("Nobody has changed many messages at once in the last 30 days."))
        } @else {
            (table_of(&page.operations, "Operations"))
        }
        (pages(PATH, &asked, page.next.as_ref()))
    };
    Ok(visit.page(&Content::live("Operations", html! {}, body)))
}

/// Operations as a table of this name.
pub(super) fn table_of(operations: &[OperationEntry], name: &str) -> Markup {
    let heading = ["Operation", "What", "State", "Done", "Changed", "Left", "Who", "Why", "Began"];
    stacked(name, heading, operations.iter().map(row))
}

fn row(operation: &OperationEntry) -> Row {
    Row::of_shape(Shape::Whole, html! { a href=(address(operation.id)) { (operation.id) } })
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
    State(reception): State<Reception>,
    visit: Visit,
    Id(id): Id,
    _: Plain,
) -> Result<Response, Problem> {
    let found = reception.office.database.operation(id).await?;
    let operation = visit.sight.of_operation(found.ok_or_else(|| Problem::no_operation(id))?);
    let title = format!("Operation {id}: {}", operation.action);
    // An open one is asked for as a whole.
    let is_over = operation.status != OperationStatus::Open;
    let went = how_they_went(&reception, operation.result.as_ref(), is_over).await?;
    let body = shown(&visit, &operation, &went);
    Ok(visit.page(&match operation.status {
        OperationStatus::Open => Content::live(title, html! {}, body),
        _ => Content::still(title, body),
    }))
}

fn shown(visit: &Visit, operation: &OperationEntry, went: &Markup) -> Markup {
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
            @if visit.operates() {
                form.actions method="post" action={ (address(operation.id)) "/stop" } {
                    (visit.token())
                    input type="hidden" name="by" value=(visit.session.name);
                    button.danger type="submit" { "Stop it" }
                }
            }
        }
        @if let Some(failure) = &operation.failure {
            p.note.bad role="alert" { strong { "It failed." } " The database refused a batch: " (text(failure)) ". What was changed before stays changed." }
        }
        @if let Some(result) = &operation.result { (told(result)) }
        (went)
        @if let (false, Some(OperationResult::Redrive(_) | OperationResult::Replay(_)), 1..) = (open, &operation.result, operation.changed) {
            @if visit.operates() { p { a href={ "/redrives/" (operation.id) "/undo" } { "Take it back…" } } }
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
        p { a href=(PATH) { "All operations" } }
    }
}

pub(super) async fn stop(
    State(reception): State<Reception>,
    Id(id): Id,
    Sent(sent): Sent,
) -> Result<Response, Problem> {
    let stopped = reception.office.database.stop(id, &sent.author().into_author()).await?;
    stopped.ok_or_else(|| Problem::no_operation(id))?;
    Ok(lead_to(&address(id)))
}

/// The result of an operation, or what it has done so far.
pub(super) fn told(result: &OperationResult) -> Markup {
    match result {
        OperationResult::Redrive(done) => html! {
            (counted((done.redriven, done.meant), "redriven", done.messages.first().map(|id| id.0)))
            (left(&done.skipped, done.skipped.count()))
        },
        OperationResult::Replay(done) => html! {
            (counted((done.replayed, done.meant), "replayed", done.replays.first().map(|replay| replay.id)))
            (left(&done.skipped, done.skipped.count()))
        },
        OperationResult::Cancel(done) => html! {
            p.note.good role="status" {
                strong { (number(done.cancelled)) " of " (number(done.meant)) " cancelled." }
                " They are " a href="/dead-letters?reason=cancelled" { "dead letters" } ", and a redrive has them sent after all."
            }
            (left(&done.skipped, done.skipped.count()))
        },
        OperationResult::Retry(done) => html! {
            p.note.good role="status" {
                strong { (number(done.retried)) " of " (number(done.meant)) " retried." }
                " What was retried is due now."
                @if done.untried > 0 { " Never tried before, and scheduled for later: " (number(done.untried)) "." }
            }
            (left(&done.skipped, done.skipped.count()))
        },
        OperationResult::Edit(done) => html! {
            p.note.good role="status" {
                strong { (number(done.edited)) " of " (number(done.meant)) " edited." } " They are dead letters still."
            }
            (unedited(done))
        },
        OperationResult::Undo(done) => undone(done),
        OperationResult::Purge(done) => html! {
            @let tone = if done.purged == 0 { Tone::Warning } else { Tone::Good };
            p class={ "note " (tone.class()) } role="status" { strong { (number(done.purged)) " of " (number(done.meant)) " deleted." } }
            (left(&done.skipped, done.skipped.count()))
        },
        OperationResult::Prune(done) => html! {
            p.note.good role="status" { strong { (counted_messages(*done)) " removed." } }
        },
    }
}

fn counted((changed, meant): (u64, u64), word: &str, example: Option<i64>) -> Markup {
    html! {
        p.note.good role="status" {
            strong { (number(changed)) " of " (number(meant)) " " (word) "." }
            @if let Some(example) = example { " Look at one: message " (message(example)) "." }
        }
    }
}

fn left_of(operation: &OperationEntry) -> Option<i64> {
    operation.left_ms().and_then(|left| left.try_into().ok())
}

/// The dead letters that an edit left as they are.
pub(super) fn unedited(done: &EditedAll) -> Markup {
    html! {
        @if done.unchanged > 0 { p { (number(done.unchanged)) " are like that already." } }
        @if !done.left.is_empty() {
            h2 { "Left as they are" }
            ul {
                @for left in done.left.iter().take(NAMED) { li { (message(left.id)) ": " (left.because) } }
                @let others = done.left_count.max(done.left.len() as u64).saturating_sub(NAMED as u64);
                @if others > 0 { li { "and " (number(others)) " others" } }
            }
        }
    }
}

fn undone(done: &Undone) -> Markup {
    let taken_back = match done.undone {
        Undoable::Redrive => "returned to the dead letters.",
        Undoable::Replay => "are not sent again, and their rows removed.",
    };
    html! {
        p.note.good role="status" { strong { (number(done.returned)) " " (taken_back) } }
        ul {
            @for (count, what) in [
                (done.delivered, "delivered already"),
                (done.under_way, "in flight, or attempted or changed since: left as they are"),
                (done.dead_again, "dead letters already"),
                (done.gone, "not there any more"),
            ] {
                @if count > 0 { li { (number(count)) " " (what) } }
            }
        }
    }
}
