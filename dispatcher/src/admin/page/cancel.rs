//! Cancelling all messages that wait and meet the filter of the list. The form says first which those are.

use axum::extract::State;
use axum::response::Response;
use maud::{Markup, html};
use outbox_schema::desk::CancelledAll;
use outbox_schema::{ByHand, Desk, Status};

use super::Reception;
use super::door::Visit;
use super::fields::{AUTHOR, Asked, Fields, Sent};
use super::frame::Content;
use super::messages::PATH;
use super::parts::{left, number};
use super::selected::{back, counted, selection, table_of};
use crate::admin::api::Problem;

pub(super) async fn form(
    State(reception): State<Reception>,
    visit: Visit,
    Asked(asked): Asked,
) -> Result<Response, Problem> {
    visit.require_operate()?;
    let meant = asked.filter();
    let selection = selection(&meant, Status::Pending)?;
    let groups = reception.office.database.message_groups(Status::Pending, &selection).await?;
    let body = html! {
        p.lead {
            strong { (counted(&groups)) } " messages that wait would become dead letters, cancelled, and not be sent. Nothing is changed yet."
        }
        @if groups.is_empty() {
            p { "Only what waits can be cancelled." }
        } @else {
            (table_of(&groups, "Messages that wait"))
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
    let done = reception.office.database.cancel_all(&selection, &sent.author().into_author()).await?;
    Ok(visit.page(&Content::still("Cancelled", cancelled(&done, &meant))))
}

fn cancelled(done: &CancelledAll, meant: &Fields) -> Markup {
    html! {
        p.note.good role="status" {
            strong { (number(done.cancelled)) " of " (number(done.meant)) " cancelled." }
            " They are " a href="/dead-letters?reason=cancelled" { "dead letters" } ", and a redrive has them sent after all."
        }
        (left(&done.skipped))
        (back(meant))
    }
}
