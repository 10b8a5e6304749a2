//! A change that a form orders: its end, or the page where it goes on, and what it did.

use std::time::Duration;

use axum::response::Response;
use maud::{Markup, html};
use outbox_schema::desk::{
    EditedAll, OperationEntry, OperationResult, OperationStatus, Order, Ordered, Undoable, Undone,
};
use outbox_schema::retention::Pruned;

use super::fields::Fields;
use super::parts::{NAMED, Tone, lead_to, left, message, number};
use super::{Reception, paths};
use crate::admin::api::{Kind, Problem};

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
        Ordered::Begun(id) => lead_to(&paths::operation(*id)),
        Ordered::Over(_) => lead_to(paths::OPERATIONS),
    }
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

/// Messages that are past their time, with their nouns.
pub(super) fn counted_messages(Pruned { success, dead }: Pruned) -> String {
    let plural = |count: u64| if count == 1 { "" } else { "s" };
    let (delivered, letters) = (number(success), number(dead));
    format!("{delivered} delivered message{} and {letters} dead letter{}", plural(success), plural(dead))
}
