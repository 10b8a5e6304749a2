//! Ordering keys that a dead letter halts, and the way to that dead letter.

use axum::extract::State;
use axum::response::Response;
use maud::{Markup, html};
use outbox_desk::{Desk, HaltedKey, KeyCursor};
use serde::{Deserialize, Serialize};

use super::fields::{Asked, Fields, Get};
use super::frame::Content;
use super::instead::Instead;
use super::parts::{empty, filter, message, number, pages, table, text, text_if, time};
use super::suggested;
use super::tables::{PAGE, Row, Shape};

/// Where the list is.
const PATH: &str = "/ordering-keys";

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Filter {
    channel: Option<String>,
}

pub(super) async fn list((State(page_state), context, Asked(asked)): Get) -> Result<Response, Instead> {
    let above = html! {
        p.lead { "A dead letter of a channel with " code { "on_dead_ordered = \"halt\"" } " halts its ordering key. The messages behind "
            "it wait until it is redriven or purged." }
        (filter(PATH, &asked, &suggested::channel(&page_state, &asked)))
    };
    let (filter, after) = context.understood("Halted keys", &above, asked.of_list::<Filter, KeyCursor>())?;
    let api_state = &page_state.api_state;
    let halting = api_state.configured.current().halting();
    let page = api_state.database.halted_keys(&halting, filter.channel.as_deref(), after.as_ref(), PAGE).await?;
    let heading = ["Ordering key", "Channel", "Dead letter", "Reason", "Died", "First that waits", "Waiting"];
    let body = html! {
        @if page.keys.is_empty() { (nothing_halted(&asked, page.next.as_ref())) } @else {
            (table("Halted keys", heading, page.keys.iter().map(row)))
        }
        (pages(PATH, &asked, page.next.as_ref()))
    };
    Ok(context.page(&Content::live("Halted keys", above, body)))
}

/// A page ends early where many dead letters halt few keys.
fn nothing_halted(asked: &Fields, next: Option<&KeyCursor>) -> Markup {
    empty(match next {
        Some(_) => "No ordering key is halted up to here, and there are more dead letters.",
        None if asked.has("after") => "No other ordering key is halted.",
        None => "No ordering key is halted.",
    })
}

fn row(key: &HaltedKey) -> Row {
    Row::of_shape(Shape::Name, text(&key.ordering_key))
        .cell(text(&key.channel))
        .shaped(Shape::Whole, message(key.dead_letter))
        .cell(text_if(key.dead_reason.as_deref()))
        .cell(time(&key.dead_at))
        .shaped(Shape::Whole, message(key.first_waiting))
        .number(html! { (number(key.waiting)) @if key.waiting >= HaltedKey::COUNTED { " or more" } })
}
