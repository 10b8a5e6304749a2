//! Jobs that run once in a fleet: how each stands, its runs, pausing and resuming.

use axum::Json;
use axum::extract::{Path, State};
use axum::response::Response;
use maud::{Markup, html};
use outbox_desk::{Desk, JobAction, JobEntry, JobRunEntry};

use super::fields::{AUTHOR, Asked, Get, Named, NoFields, Plain, Sent};
use super::frame::Content;
use super::instead::Instead;
use super::parts::{
    Tone, empty, facts, lead_to, length, moment, moment_if, number, pages, state, table, text, text_if, time, time_if,
};
use super::request_context::RequestContext;
use super::tables::{PAGE, Row, Shape};
use super::{PageState, paths};
use crate::api::{Problem, jobs as api};

pub(super) async fn list((State(page_state), context, Asked(asked)): Get) -> Result<Response, Instead> {
    let NoFields {} = context.understood("Jobs", &html! {}, asked.read())?;
    let entries = page_state.api_state.database.jobs().await?;
    let above =
        html! { p.lead { "Commands of which one runs in the whole fleet, by " code { "outbox exclusive" } "." } };
    let mut heading = vec!["Name", "State", "Last run", "Took", "Host", "Last success", "Skips"];
    if context.operates() {
        heading.push("Change");
    }
    let body = html! {
        @if entries.is_empty() { (empty("No job has run.")) } @else {
            (table("Jobs", heading, entries.iter().map(|entry| row(&context, entry))))
        }
    };
    Ok(context.page(&Content::live("Jobs", above, body)))
}

fn row(context: &RequestContext, entry: &JobEntry) -> Row {
    let row = Row::of_shape(Shape::Name, html! { a href=(paths::job(&entry.name)) { (text(&entry.name)) } })
        .cell(standing(entry))
        .cell(time_if(entry.started_at.as_deref()))
        .number(length(entry.took_ms))
        .shaped(Shape::Name, text_if(entry.host.as_deref()))
        .cell(time_if(entry.last_success_at.as_deref()))
        .number(number(entry.skips));
    if context.operates() { row.cell(button(context, entry)) } else { row }
}

fn standing(entry: &JobEntry) -> Markup {
    html! {
        @match entry.state.as_str() {
            "completed" => (state("completed", Tone::Good)),
            "failed" => (state(entry.ended_because.as_deref().unwrap_or("failed"), Tone::Bad)),
            word => (state(word, Tone::Plain)),
        }
        @if let (Some(by), true) = (&entry.paused_by, entry.state == "paused") { " " span.hint { "by " (text(by)) } }
        @if entry.late { " " (state("late", Tone::Warning)) }
    }
}

fn button(context: &RequestContext, entry: &JobEntry) -> Markup {
    let (action, word) = match entry.paused_at {
        Some(_) => (JobAction::Resume, "Resume"),
        None => (JobAction::Pause, "Pause"),
    };
    context.act(paths::JOBS, &entry.name, action.as_str(), word)
}

pub(super) async fn change(State(page_state): State<PageState>, Sent(sent): Sent) -> Result<Response, Problem> {
    let Named::<JobAction> { name, action } = sent.among(&AUTHOR, false).read()?;
    let Json(_) = api::change(&page_state.api_state, &name, sent.author(), action).await?;
    Ok(lead_to(paths::JOBS))
}

pub(super) async fn runs(
    Path(name): Path<String>,
    (State(page_state), context, Asked(asked)): Get,
) -> Result<Response, Instead> {
    let title = format!("Job {name}");
    let (NoFields {}, after) = context.understood(&title, &html! {}, asked.of_list::<NoFields, i64>())?;
    let found = page_state.api_state.database.job_runs(&name, after, PAGE).await?;
    let page = found.ok_or_else(|| Problem::no_job(&name))?;
    let heading = ["Run", "End", "Began", "Took", "Host", "Command"];
    let body = html! {
        @if page.runs.is_empty() { (empty("No run of it is kept.")) } @else {
            (table("Runs", heading, page.runs.iter().map(|run| run_row(&name, run))))
        }
        (pages(&paths::job(&name), &asked, page.next.as_ref()))
        p { a href=(paths::JOBS) { "All jobs" } }
    };
    Ok(context.page(&Content::live(title, html! {}, body)))
}

fn run_row(name: &str, run: &JobRunEntry) -> Row {
    Row::of_shape(Shape::Whole, html! { a href={ (paths::job(name)) "/" (run.token) } { (run.token) } })
        .cell(ended(run))
        .cell(time(&run.started_at))
        .number(length(run.took_ms))
        .shaped(Shape::Name, text(&run.host))
        .shaped(Shape::Long, text(&run.command))
}

fn ended(run: &JobRunEntry) -> Markup {
    html! {
        @match run.ended_because.as_deref() {
            None => (state("running", Tone::Plain)),
            Some("finished") => (state("finished", Tone::Good)),
            Some(why) => (state(why, Tone::Bad)),
        }
        @match (run.exit_code, run.signal) {
            (Some(1..), _) => { " " span.hint { "exit code " (run.exit_code.unwrap_or_default()) } }
            (_, Some(signal)) => { " " span.hint { "signal " (signal) } }
            _ => {}
        }
    }
}

pub(super) async fn show(
    State(page_state): State<PageState>,
    context: RequestContext,
    Path((name, token)): Path<(String, String)>,
    _: Plain,
) -> Result<Response, Problem> {
    let run = api::run(&page_state.api_state, context.redaction, &name, &token).await?;
    let body = html! {
        (facts([
            ("End", ended(&run)),
            ("Began", moment(&run.started_at)),
            ("Last seen", moment(&run.seen_at)),
            ("Ended", moment_if(run.ended_at.as_deref())),
            ("Took", length(run.took_ms)),
            ("Host", html! { (text(&run.host)) ", process " (run.pid) }),
            ("Holder", text(&run.holder)),
            ("Command", html! { code { (text(&run.command)) } }),
        ]))
        @if let Some(tail) = &run.tail { h2 { "The last that it wrote" } pre { (tail) } }
        p { a href=(paths::job(&name)) { "All runs" } }
    };
    Ok(context.page(&Content::still(format!("Job {name}, run {}", run.token), body)))
}
