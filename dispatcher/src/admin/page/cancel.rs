//! Cancelling all messages that wait and meet the filter of the list. The form says first which those are.

use axum::extract::State;
use axum::response::Response;
use maud::html;
use outbox_schema::Status;
use outbox_schema::desk::{OperationResult, Order, Ordered};

use super::Reception;
use super::door::Visit;
use super::fields::{AUTHOR, Asked, Fields, Sent};
use super::frame::Content;
use super::messages::PATH;
use super::operations::{elsewhere, ordered, told};
use super::selected::{back, counted, meant, selection, table_of, uncounted, would};
use crate::admin::api::Problem;

pub(super) async fn form(
    State(reception): State<Reception>,
    visit: Visit,
    Asked(asked): Asked,
) -> Result<Response, Problem> {
    visit.require_operate()?;
    let meant = meant(&asked)?;
    let counted = counted(&reception, &meant, Status::Pending).await?;
    let body = html! {
        @if let Some((found, _)) = &counted {
            p.lead { (would(found, "waiting", "would be cancelled, and not be sent.")) }
        } @else { (uncounted(&meant, "cancel")) }
        @if let Some(counted) = &counted { (table_of(counted, "Messages that wait")) }
        @if counted.as_ref().is_some_and(|(found, _)| found.is_none()) {
            p { "Only what waits can be cancelled." }
        } @else {
            form.change method="post" action={ (PATH) "/cancel" } {
                (visit.token())
                (meant.hidden())
                (visit.author_fields(false, &Fields::default()))
                button.main type="submit" { "Cancel them" }
            }
        }
        (back(&meant))
    };
    Ok(visit.page(&Content::still("Cancel messages", body)))
}

pub(super) async fn cancel(
    State(reception): State<Reception>,
    visit: Visit,
    Sent(sent): Sent,
) -> Result<Response, Problem> {
    let meant = sent.among(&AUTHOR, false);
    let selection = selection(&meant, Status::Pending)?;
    let done = match ordered(&reception, Order::Cancel(selection), &sent).await? {
        Ordered::Over(done @ OperationResult::Cancel(_)) => done,
        other => return Ok(elsewhere(&other)),
    };
    let body = html! { (told(&done)) (back(&meant)) };
    Ok(visit.page(&Content::still("Cancelled", body)))
}
