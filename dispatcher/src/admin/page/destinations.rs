//! Destinations: what holds them up, pausing and resuming.

use axum::Json;
use axum::extract::State;
use axum::response::Response;
use maud::{Markup, html};
use outbox_schema::desk::{DestinationEntry, HeldUp, PausedDestination};
use outbox_schema::{Desk, PauseKind};
use serde::Deserialize;

use super::Reception;
use super::door::Visit;
use super::fields::{AUTHOR, Asked, Fields, Sent};
use super::frame::Content;
use super::parts::{Tone, empty, lead_to, nothing, number, state, table, target, text, text_if, time};
use crate::admin::api::destinations as api;
use crate::admin::api::extract::Body;
use crate::admin::api::{DestinationQuery, PauseBody, Problem};

/// Where the list is.
const PATH: &str = "/destinations";

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Named {
    destination: String,
    /// The length of a pause.
    #[serde(default, rename = "for")]
    lasting: Option<String>,
}

pub(super) async fn list(
    State(reception): State<Reception>,
    visit: Visit,
    Asked(asked): Asked,
) -> Result<Response, Problem> {
    let DestinationQuery { all } = match asked.read() {
        Ok(asked) => asked,
        Err(refused) => return Ok(visit.misunderstood("Destinations", html! {}, &refused)),
    };
    let entries = reception.office.database.destinations(all).await?;
    let above = html! {
        p.lead {
            @if all { "Every destination of which the database keeps something. " a href=(PATH) { "Only those that hold messages up" } }
            @else { "Destinations and channels that hold messages up. " a href=(Fields::default().with("all", "true").at(PATH)) { "All that are known" } }
        }
        @if visit.operates() { div.actions { details { summary.button { "Pause a destination" } (pause_fields(&visit)) } } }
    };
    let mut heading = vec!["Destination", "State", "Until", "Failures", "Waiting", "Why"];
    if visit.operates() {
        heading.push("Change");
    }
    let body = html! {
        @if entries.is_empty() { (empty("Nothing holds messages up.")) } @else {
            (table("Destinations", heading, entries.iter().map(|entry| row(&visit, entry))))
        }
    };
    Ok(visit.page(&Content::live("Destinations", above, body)))
}

fn row(visit: &Visit, entry: &DestinationEntry) -> Markup {
    let (word, tone) = word(&entry.held);
    html! {
        th.target scope="row" {
            a href=(Fields::default().with("destination", &entry.destination).at("/messages")) { (target(&entry.destination)) }
        }
        td { (state(word, tone)) @if let HeldUp::Paused { by: Some(by), .. } = &entry.held { " " span.hint { "by " (text(by)) } } }
        td { (until(&entry.held)) }
        td.number { (number(entry.failures)) }
        td.number { (number(entry.waiting)) }
        td.long { (text_if(entry.reason.as_deref())) }
        @if visit.operates() {
            td {
                @if entry.held != HeldUp::Open || entry.waiting > 0 {
                    form method="post" action={ (PATH) "/resume" } {
                        (visit.token())
                        input type="hidden" name="destination" value=(entry.destination);
                        input type="hidden" name="by" value=(visit.session.name);
                        button type="submit" aria-label={ "Resume " (text(&entry.destination)) } { "Resume" }
                    }
                }
            }
        }
    }
}

fn word(held: &HeldUp) -> (&'static str, Tone) {
    match held {
        HeldUp::Paused { .. } => ("paused", Tone::Warning),
        HeldUp::Broken { remaining_ms: 1.., .. } => ("breaker open", Tone::Bad),
        HeldUp::Broken { .. } => ("being tried", Tone::Warning),
        HeldUp::Asked { .. } => ("asked for a pause", Tone::Warning),
        HeldUp::Aside { .. } => ("rows deferred", Tone::Warning),
        HeldUp::Open => ("takes messages", Tone::Good),
    }
}

/// The word of a pause, and how it looks.
pub(super) fn kind_of_pause(paused: &PausedDestination) -> (&'static str, Tone) {
    match PauseKind::of(paused.pause_kind.as_deref()) {
        PauseKind::Hand => ("paused", Tone::Warning),
        PauseKind::Breaker => ("breaker open", Tone::Bad),
        PauseKind::Asked => ("asked for a pause", Tone::Warning),
        PauseKind::Barred => ("channel may not send", Tone::Bad),
    }
}

fn until(held: &HeldUp) -> Markup {
    match held {
        HeldUp::Paused { until: None, .. } => html! { "somebody resumes it" },
        HeldUp::Paused { until: Some(until), .. }
        | HeldUp::Broken { until, .. }
        | HeldUp::Asked { until, .. }
        | HeldUp::Aside { until, .. } => time(until),
        HeldUp::Open => nothing(),
    }
}

fn pause_fields(visit: &Visit) -> Markup {
    html! {
        form.change method="post" action={ (PATH) "/pause" } {
            (visit.token())
            p { "It takes nothing until the pause ends. Messages in flight go on." }
            label {
                span { "Destination" span.hint { "a URL, or a channel" } }
                input type="text" name="destination" required placeholder="https://shop.example" autocomplete="off" spellcheck="false";
            }
            label {
                span { "For" span.hint { "as 2h; empty: until somebody resumes it" } }
                input type="text" name="for" autocomplete="off";
            }
            (visit.author_fields(true, &Fields::default()))
            button.main type="submit" { "Pause it" }
        }
    }
}

pub(super) async fn pause(State(reception): State<Reception>, Sent(sent): Sent) -> Result<Response, Problem> {
    let Named { destination, lasting } = sent.among(&AUTHOR, false).read()?;
    let body = PauseBody { lasting, author: sent.author() };
    let Json(_) = api::pause(State(reception.office), api::Name(destination.trim().to_owned()), Body(body)).await?;
    Ok(lead_to(PATH))
}

pub(super) async fn resume(State(reception): State<Reception>, Sent(sent): Sent) -> Result<Response, Problem> {
    let Named { destination, .. } = sent.among(&AUTHOR, false).read()?;
    let Json(_) = api::resume(State(reception.office), api::Name(destination), Body(sent.author())).await?;
    Ok(lead_to(PATH))
}
