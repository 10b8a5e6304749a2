//! Targets that are known to be gone, and forgetting them.

use axum::extract::State;
use axum::response::Response;
use maud::{Markup, html};
use outbox_desk::{ByHand, Desk, InvalidTarget, InvalidTargetSelection};

use super::dead_letters::{ALL, meant};
use super::fields::{AUTHOR, Asked, Fields, Get, Sent};
use super::frame::Content;
use super::instead::Instead;
use super::links::links;
use super::parts::{self, empty, filter, filter_text, lead_to, number, pages, text, text_if, time};
use super::request_context::RequestContext;
use super::selected::{Boxes, SELECTED, to_select};
use super::tables::{PAGE, Row, Shape};
use super::{PageState, suggested};
use crate::api::{InvalidTargetFilter, Kind, Problem};

/// Where the list is.
const PATH: &str = "/invalid-targets";

/// The boxes of the list. They stand for the filter of the same name, which may name several.
const TARGETS: Boxes = Boxes { field: "target", noun: "target" };

/// The targets that these fields mean.
pub(super) fn selection(asked: &Fields) -> Result<InvalidTargetSelection, Problem> {
    let filter: InvalidTargetFilter = asked.among(&[TARGETS.field], false).read()?;
    let targets = asked.all(TARGETS.field).map(str::to_owned).collect();
    Ok(InvalidTargetSelection { targets, ..filter.into() })
}

pub(super) async fn list((State(page_state), context, Asked(asked)): Get) -> Result<Response, Instead> {
    let above = html! {
        p.lead { "Messages to these targets become dead letters without an attempt, until the target is forgotten." }
        (filter(PATH, &asked, &fields(&page_state, &asked)))
    };
    let after = asked.after();
    let read = TARGETS.selected(&asked).and_then(|filter| Ok((selection(&filter)?, after?, filter)));
    let (selection, after, meant) = context.understood("Invalid targets", &above, read)?;
    let asked = asked.among(&[SELECTED], false);
    let page = page_state.api_state.database.invalid_targets(&selection, after, PAGE).await?;
    let above = html! {
        (above)
        @if context.operates() && page.total > 0 { (clear_fields(&context, &meant, page.total)) }
    };
    let body = html! {
        @if page.targets.is_empty() { (empty("No target is known to be gone.")) } @else {
            (table_of(&page.targets, &meant, context.operates()))
            p.hint { (number(page.total)) " in all." }
        }
        (pages(PATH, &asked, page.next.as_ref()))
        @if !page.targets.is_empty() { (links(PATH, &meant)) }
    };
    Ok(context.page(&Content::live("Invalid targets", above, body)))
}

fn fields(page_state: &PageState, asked: &Fields) -> Markup {
    html! {
        (suggested::channel(page_state, asked))
        (filter_text(asked, "target", "Target", ""))
        (filter_text(asked, "older_than", "Last found before", "90d"))
    }
}

/// The targets of a page. Who may forget them can select some.
fn table_of(targets: &[InvalidTarget], meant: &Fields, operates: bool) -> Markup {
    let heading = ["Target", "Channel", "What the receiver said", "Last found"];
    let choices: Option<&[_]> = operates.then_some(&[(PATH, "Show only the selected")]);
    let rows = targets.iter().map(|target| (target.target.clone(), row(target)));
    to_select("Invalid targets", &TARGETS, choices, &meant.among(&[TARGETS.field], false), heading, rows)
}

fn row(target: &InvalidTarget) -> Row {
    Row::of_shape(Shape::Target, parts::target(&target.target))
        .cell(text(&target.channel))
        .shaped(Shape::Long, text_if(target.reason.as_deref()))
        .cell(time(&target.observed_at))
}

fn clear_fields(context: &RequestContext, filter: &Fields, total: i64) -> Markup {
    html! {
        div.actions {
            details {
                summary.button { "Forget " (number(total)) @if total == 1 { " target…" } @else { " targets…" } }
                form.change method="post" action={ (PATH) "/clear" } {
                    (context.token())
                    (meant(filter))
                    p { "New messages to them are sent again. Dead letters stay until somebody redrives them." }
                    (context.author_fields(false, &Fields::default()))
                    button.main type="submit" { "Forget them" }
                }
            }
        }
    }
}

pub(super) async fn clear(State(page_state): State<PageState>, Sent(sent): Sent) -> Result<Response, Problem> {
    let selection = selection(&sent.among(&AUTHOR, false).among(&[ALL], false))?;
    if selection == InvalidTargetSelection::default() && !sent.has(ALL) {
        return Err(Problem::new(
            Kind::BadRequest,
            "the form has no filter, and does not say that it means every target",
        ));
    }
    page_state.api_state.database.clear_invalid_targets(&selection, &sent.author().into_author()).await?;
    Ok(lead_to(PATH))
}
