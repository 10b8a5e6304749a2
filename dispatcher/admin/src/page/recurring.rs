//! Recurring messages: when each is due, pausing, resuming and firing.

use axum::Json;
use axum::extract::State;
use axum::response::Response;
use maud::{Markup, html};
use outbox_desk::{Desk, RecurringAction, RecurringEntry};

use super::fields::{AUTHOR, Asked, Get, Named, NoFields, Sent};
use super::frame::Content;
use super::instead::Instead;
use super::parts::{Tone, empty, lead_to, state, table, text, time_if};
use super::request_context::RequestContext;
use super::tables::{Row, Shape};
use super::{PageState, paths};
use crate::api::{Problem, recurring as api};

pub(super) async fn list((State(page_state), context, Asked(asked)): Get) -> Result<Response, Instead> {
    let NoFields {} = context.understood("Recurring", &html! {}, asked.read())?;
    let entries = page_state.api_state.database.recurring().await?;
    let above = html! { p.lead { "Messages that the poller writes at the times of a cron pattern, by " code { "[recurring.NAME]" } "." } };
    let mut heading = vec!["Name", "Cron", "Time zone", "State", "Last", "Next"];
    if context.operates() {
        heading.push("Change");
    }
    let body = html! {
        @if entries.is_empty() { (empty("No poller has known a recurring message.")) } @else {
            (table("Recurring", heading, entries.iter().map(|entry| row(&context, entry))))
        }
    };
    Ok(context.page(&Content::live("Recurring", above, body)))
}

fn row(context: &RequestContext, entry: &RecurringEntry) -> Row {
    let row = Row::of_shape(Shape::Name, text(&entry.name))
        .cell(html! { code { (text(&entry.cron)) } })
        .cell(text(&entry.timezone))
        .cell(standing(entry))
        .cell(time_if(entry.fired_for.as_deref()))
        .cell(time_if(entry.next_at.as_deref()));
    if context.operates() { row.cell(changes(context, entry)) } else { row }
}

fn standing(entry: &RecurringEntry) -> Markup {
    html! {
        @if entry.paused_at.is_none() { (state("on", Tone::Good)) } @else {
            (state("paused", Tone::Warning))
            @if let Some(by) = &entry.paused_by { " " span.hint { "by " (text(by)) } }
        }
    }
}

fn changes(context: &RequestContext, entry: &RecurringEntry) -> Markup {
    let act = |action: RecurringAction, word| context.act(paths::RECURRING, &entry.name, action.as_str(), word);
    html! {
        @if entry.paused_at.is_some() { (act(RecurringAction::Resume, "Resume")) } @else {
            (act(RecurringAction::Pause, "Pause"))
        }
        @if entry.asked_at.is_none() { (act(RecurringAction::Fire, "Fire")) }
    }
}

pub(super) async fn change(State(page_state): State<PageState>, Sent(sent): Sent) -> Result<Response, Problem> {
    let Named::<RecurringAction> { name, action } = sent.among(&AUTHOR, false).read()?;
    let Json(_) = api::change(&page_state.api_state, &name, sent.author(), action).await?;
    Ok(lead_to(paths::RECURRING))
}
