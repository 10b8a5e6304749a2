//! Destinations: what holds them up, pausing and resuming.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use axum::response::Response;
use maud::{Markup, html};
use outbox_desk::{Desk, DestinationEntry, HeldUp, PausedDestination};
use outbox_store::PauseKind;
use serde::Deserialize;

use super::fields::{AUTHOR, Asked, Fields, Get, NoFields, Sent};
use super::frame::Content;
use super::instead::Instead;
use super::links::destination;
use super::parts::{
    Tone, count, empty, facts, lead_to, length, moment, nothing, number, pages, state, table, text, text_if, time,
};
use super::request_context::RequestContext;
use super::tables::{Row, Shape};
use super::{PageState, paths};
use crate::api::extract::Body;
use crate::api::{PauseBody, Problem, destinations as api};
use outbox_console::explain::availability;
use outbox_console::text::in_one_line;
use outbox_dispatcher::destinations::DestinationNow;
use outbox_dispatcher::schedule::WhyNot;

/// The field that names the one destination that is shown.
const NAME: &str = "destination";

/// The name of the pauses that followed failures, one after the other.
const PAUSES: &str = "Pauses in a row";

/// The most destinations on one page of the list.
const MOST: usize = 100;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Named {
    destination: String,
    /// The length of a pause.
    #[serde(default, rename = "for")]
    lasting: Option<String>,
}

/// The parameters of the list of destinations.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Listed {
    /// Every destination that is known, also those that nothing holds up.
    #[serde(default)]
    all: bool,
}

pub(super) async fn list((State(page_state), context, Asked(asked)): Get) -> Result<Response, Instead> {
    if let Some(name) = asked.get(NAME) {
        let NoFields {} = context.understood("Destination", &html! {}, asked.among(&[NAME], false).read())?;
        return Ok(one(&page_state, &context, &api::meant(&page_state.api_state, name.trim())).await?);
    }
    // How many destinations the pages before had: a destination may leave the list meanwhile.
    let (Listed { all }, before) = context.understood("Destinations", &html! {}, asked.of_list::<Listed, usize>())?;
    let entries = page_state.api_state.database.destinations(all).await?;
    let seen = page_state.shown.destinations.seen();
    let above = html! {
        p.lead {
            @if all { "Every destination of which the database keeps something, and those in use. " a href=(paths::DESTINATIONS) { "Only those that hold messages up" } }
            @else { "Destinations and channels that hold messages up. " a href=(Fields::default().with("all", "true").at(paths::DESTINATIONS)) { "All that are known" } }
        }
        @if context.operates() { div.actions { details { summary.button { "Pause a destination" } (pause_fields(&context, None)) } } }
    };
    let rows = rows(entries, seen.as_deref(), all);
    let body = html! {
        (table_of(&context, &asked, &rows, before.unwrap_or_default()))
        (who_knows(seen.is_some()))
    };
    Ok(context.page(&Content::live("Destinations", above, body)))
}

/// A destination, as the database and its poller know it.
struct Line {
    /// What the database knows. None where it keeps nothing of it.
    entry: Option<DestinationEntry>,
    now: Option<DestinationNow>,
}

impl Line {
    fn held(&self) -> &HeldUp {
        self.entry.as_ref().map_or(&HeldUp::Open, |entry| &entry.held)
    }

    /// Where the row stands in the list: what a person paused comes first, then what fails.
    fn place(&self) -> u8 {
        match self.held() {
            HeldUp::Paused { .. } => 0,
            HeldUp::Broken { .. } => 1,
            HeldUp::Asked { .. } => 2,
            HeldUp::Aside { .. } => 3,
            HeldUp::Open => 4,
        }
    }
}

/// The rows of the list by name. With `all`, also destinations that only the poller knows.
fn rows(entries: Vec<DestinationEntry>, seen: Option<&[DestinationNow]>, all: bool) -> BTreeMap<String, Line> {
    let mut rows = BTreeMap::new();
    for entry in entries {
        rows.insert(entry.destination.clone(), Line { entry: Some(entry), now: None });
    }
    for now in seen.unwrap_or_default() {
        match rows.get_mut(&now.destination) {
            Some(row) => row.now = Some(now.clone()),
            None if all => drop(rows.insert(now.destination.clone(), Line { entry: None, now: Some(now.clone()) })),
            None => {}
        }
    }
    rows
}

fn table_of(context: &RequestContext, asked: &Fields, rows: &BTreeMap<String, Line>, before: usize) -> Markup {
    let mut heading = vec![
        "Destination",
        "State",
        "Until, or next try",
        "In flight",
        "Rate",
        PAUSES,
        "Due",
        "Deferred",
        "Oldest",
        "Why",
    ];
    if context.operates() {
        heading.push("Change");
    }
    let next = before.saturating_add(MOST);
    let mut listed: Vec<_> = rows.iter().collect();
    listed.sort_by_key(|(_, it)| it.place());
    html! {
        @if rows.is_empty() { (empty("Nothing holds messages up.")) } @else {
            (table("Destinations", heading, listed.into_iter().skip(before).take(MOST).map(|(name, it)| row(context, name, it))))
        }
        @if rows.len() > MOST { p.hint { (number(rows.len())) " in all." } }
        (pages(paths::DESTINATIONS, asked, (next < rows.len()).then_some(&next)))
    }
}

fn row(context: &RequestContext, name: &str, it: &Line) -> Row {
    let (Line { entry, now }, held) = (it, it.held());
    let number_of = |of: fn(&DestinationEntry) -> i64| count(entry.as_ref().map(of));
    let row = Row::of_shape(Shape::Name, destination(name))
        .cell(standing(held))
        .cell(html! { @if let HeldUp::Paused { until: None, .. } = held { "it is resumed" } @else { (until(held)) } })
        .number(html! { @if let Some(now) = now { (now.in_flight) " of " (now.window) } @else { (nothing()) } })
        .number(html! { @if let Some(now) = now { (rate(now)) } @else { (nothing()) } })
        .number(number_of(|entry| entry.failures.into()))
        .number(due(entry.as_ref()))
        .number(number_of(|entry| entry.waiting))
        .number(length(entry.as_ref().and_then(|entry| entry.oldest_ms)))
        .shaped(Shape::Long, text_if(entry.as_ref().and_then(|entry| entry.reason.as_deref())));
    if context.operates() { row.cell(resume_form(context, entry.as_ref())) } else { row }
}

/// The state in words, and who made it so.
fn standing(held: &HeldUp) -> Markup {
    let (word, tone) = word(held);
    html! {
        (state(word, tone))
        @if let HeldUp::Paused { by: Some(by), .. } = held { " " span.hint { "by " (text(by)) } }
    }
}

/// How many messages are due, as far as they were looked at.
fn due(entry: Option<&DestinationEntry>) -> Markup {
    html! {
        @if let Some(entry) = entry { (number(entry.due)) @if entry.due_more { " or more" } } @else { (nothing()) }
    }
}

/// How many messages a second it may have.
fn rate(now: &DestinationNow) -> Markup {
    html! { @if let Some(rate) = now.rate { (format!("{rate:.1}")) " a second" } @else { "no limit" } }
}

/// Says where the numbers of the poller are to be seen.
fn who_knows(polls: bool) -> Markup {
    html! {
        @if !polls { p.hint { "What is in flight, and the window and the rate, are shown by the replica that polls. The overview says which one that is." } }
    }
}

fn resume_form(context: &RequestContext, entry: Option<&DestinationEntry>) -> Markup {
    let held = entry.filter(|entry| entry.held != HeldUp::Open || entry.waiting > 0);
    html! {
        @if let Some(entry) = held {
            form method="post" action={ (paths::DESTINATIONS) "/resume" } {
                (context.token())
                input type="hidden" name="destination" value=(entry.destination);
                input type="hidden" name="by" value=(context.session.name);
                button type="submit" aria-label={ "Resume " (text(&entry.destination)) } { "Resume" }
            }
        }
    }
}

/// The page of one destination or channel.
async fn one(page_state: &PageState, context: &RequestContext, name: &str) -> Result<Response, Problem> {
    let entry = outbox_desk::destination(&page_state.api_state.database, name).await?;
    let (polls, now) = (page_state.shown.destinations.polls(), page_state.shown.destinations.of(name));
    let of = name.to_owned();
    let waiting = page_state.api_state.schedule.ask(move |schedule| schedule.waiting_for(&of)).await;
    let above = html! {
        @if context.operates() {
            div.actions {
                (resume_form(context, Some(&entry)))
                details { summary.button { "Pause it" } (pause_fields(context, Some(name))) }
            }
        }
    };
    let is_channel = page_state.api_state.configured.current().channels.contains_key(name);
    let messages = |status: &str| {
        let of = Fields::default().with(if is_channel { "channel" } else { "destination" }, name);
        of.with("status", status).at(paths::MESSAGES)
    };
    let body = html! {
        (known_of(&entry, now.as_ref(), waiting))
        (who_knows(polls))
        p { a href=(messages("PENDING")) { "Its messages that wait" } " · " a href=(messages("DEAD")) { "Its dead letters" } " · " a href=(paths::DESTINATIONS) { "All destinations" } }
    };
    Ok(context.page(&Content::live(format!("Destination {}", in_one_line(name)), above, body)))
}

fn known_of(
    entry: &DestinationEntry,
    now: Option<&DestinationNow>,
    waiting: Option<BTreeMap<WhyNot, usize>>,
) -> Markup {
    let (word, tone) = word(&entry.held);
    let by = match &entry.held {
        HeldUp::Paused { by, .. } => by.as_deref(),
        HeldUp::Broken { .. } | HeldUp::Asked { .. } | HeldUp::Aside { .. } | HeldUp::Open => None,
    };
    let seen =
        |of: fn(&DestinationNow) -> Markup| html! { @if let Some(now) = now { (of(now)) } @else { (nothing()) } };
    facts([
        ("State", state(word, tone)),
        ("Until", moment_until(&entry.held)),
        ("By", text_if(by)),
        ("Why", text_if(entry.reason.as_deref())),
        (PAUSES, html! { (number(entry.failures)) }),
        ("Due", due(Some(entry))),
        ("Deferred", html! { (number(entry.waiting)) }),
        ("Oldest", html! { (length(entry.oldest_ms)) @if entry.due_more { " or more" } }),
        ("For its poller", seen(|now| html! { (availability(now)) })),
        ("In flight", seen(|now| html! { (now.in_flight) })),
        ("Window", seen(|now| html! { (now.window) span.hint { " messages may be in flight" } })),
        ("Rate", seen(rate)),
        ("Read, and waiting", html! { @if let Some(why) = waiting { (waiting_in_words(&why)) } @else { (nothing()) } }),
    ])
}

/// How many messages the poller has read, by what they wait for.
fn waiting_in_words(waiting: &BTreeMap<WhyNot, usize>) -> String {
    let counts: Vec<_> = waiting.iter().map(|(why, count)| format!("{} {count}", why.as_str())).collect();
    if counts.is_empty() { "none".to_owned() } else { counts.join(", ") }
}

/// The end of what holds messages up, in full.
fn moment_until(held: &HeldUp) -> Markup {
    match held {
        HeldUp::Broken { remaining_ms: 1.., until } => {
            html! { (moment(until)) span.hint { ", when a few messages try it" } }
        }
        HeldUp::Paused { until: Some(until), .. } | HeldUp::Asked { until, .. } | HeldUp::Aside { until, .. } => {
            moment(until)
        }
        HeldUp::Paused { until: None, .. } | HeldUp::Broken { .. } | HeldUp::Open => self::until(held),
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
        PauseKind::Manual => ("paused", Tone::Warning),
        PauseKind::Breaker => ("breaker open", Tone::Bad),
        PauseKind::RetryAfter => ("asked for a pause", Tone::Warning),
        PauseKind::Credential => ("channel may not send", Tone::Bad),
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

/// `named` is the destination, where the form is on its page.
fn pause_fields(context: &RequestContext, named: Option<&str>) -> Markup {
    html! {
        form.change method="post" action={ (paths::DESTINATIONS) "/pause" } {
            (context.token())
            p { "It takes nothing until the pause ends. Messages in flight go on." }
            label {
                span { "Destination" span.hint { "a URL, or a channel" } }
                input type="text" name="destination" value=[named] required placeholder="https://shop.example" autocomplete="off" spellcheck="false";
            }
            label {
                span { "For" span.hint { "as 2h; empty: until somebody resumes it" } }
                input type="text" name="for" autocomplete="off";
            }
            (context.author_fields(true, &Fields::default()))
            button.main type="submit" { "Pause it" }
        }
    }
}

pub(super) async fn pause(State(page_state): State<PageState>, Sent(sent): Sent) -> Result<Response, Problem> {
    let Named { destination, lasting } = sent.among(&AUTHOR, false).read()?;
    let body = PauseBody { lasting, author: sent.author() };
    let Json(_) = api::pause(State(page_state.api_state), api::Name(destination.trim().to_owned()), Body(body)).await?;
    Ok(lead_to(paths::DESTINATIONS))
}

pub(super) async fn resume(State(page_state): State<PageState>, Sent(sent): Sent) -> Result<Response, Problem> {
    let Named { destination, .. } = sent.among(&AUTHOR, false).read()?;
    let Json(_) = api::resume(State(page_state.api_state), api::Name(destination), Body(sent.author())).await?;
    Ok(lead_to(paths::DESTINATIONS))
}
