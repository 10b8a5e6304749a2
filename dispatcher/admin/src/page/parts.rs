//! The parts that pages are made of: times, numbers, states, lists.

use std::time::{Duration, SystemTime};

use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use outbox_desk::{Length, Outcome, TermEntry};
use outbox_store::Status;

use super::fields::Fields;
pub(super) use super::tables::{nothing, stacked, table};
use outbox_console::health::replicas::{ReplicaStatus, seen_at};
use outbox_console::text::{grouped, in_one_line, relative, span, to_the_second};

/// The most messages that are named where many were left as they are.
pub(super) const NAMED: usize = 20;

/// The colour of a state: what it means for an operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tone {
    Good,
    Warning,
    Bad,
    Plain,
}

impl Tone {
    pub(super) fn class(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Warning => "warning",
            Self::Bad => "bad",
            Self::Plain => "plain",
        }
    }
}

/// A time: how long ago, or in how long, and exactly where somebody points at it.
pub(super) fn time(at: &str) -> Markup {
    html! { time datetime=(at) title=(to_the_second(at)) { (relative(at, SystemTime::now())) } }
}

/// A time in full, where there is room: how long ago, and exactly when for those who cannot point at it.
pub(super) fn moment(at: &str) -> Markup {
    let is_long_ago = relative(at, SystemTime::now()) == to_the_second(at);
    html! { (time(at)) @if !is_long_ago { " " span.hint { (exact(at)) } } }
}

/// A time as it is written: in UTC, and by the script in the zone of the reader.
pub(super) fn exact(at: &str) -> Markup {
    html! { time datetime=(at) { (to_the_second(at)) } }
}

/// A time of day, with its day where the others beside it are of other days. The script writes it in the zone of the reader.
pub(super) fn clock(at: &str, with_day: bool) -> Markup {
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let part = |from: usize, to: usize| at.get(from..to).unwrap_or_default();
    let month = part(5, 7).parse().ok().and_then(|month: usize| MONTHS.get(month.checked_sub(1)?));
    let day = part(8, 10).trim_start_matches('0');
    html! {
        time datetime=(at) {
            @if let (true, Some(month)) = (with_day, month) { (day) " " (month) ", " }
            (part(11, 16)) " UTC"
        }
    }
}

/// The same, where there is a time.
pub(super) fn moment_if(at: Option<&str>) -> Markup {
    html! { @if let Some(at) = at { (moment(at)) } @else { (nothing()) } }
}

/// A time in a list, where there is one.
pub(super) fn time_if(at: Option<&str>) -> Markup {
    html! { @if let Some(at) = at { (time(at)) } @else { (nothing()) } }
}

/// A number with its digits in groups.
pub(super) fn number(number: impl TryInto<u64>) -> String {
    grouped(number.try_into().unwrap_or(0))
}

/// A number, where it is known.
pub(super) fn count(count: Option<impl TryInto<u64>>) -> Markup {
    html! { @if let Some(count) = count { (number(count)) } @else { (nothing()) } }
}

/// A number that leads to its list. Nothing leads to an empty one.
pub(super) fn leading(count: i64, address: &str) -> Markup {
    html! { @if count > 0 { a href=(address) { (number(count)) } } @else { span.none { "0" } } }
}

/// A length of time in milliseconds.
pub(super) fn length(ms: Option<i64>) -> Markup {
    html! { @if let Some(ms) = ms { (span(ms)) } @else { (nothing()) } }
}

/// How long nobody led a shard behind a term, in words.
pub(super) fn gap(term: &TermEntry, replicas: &[ReplicaStatus]) -> Markup {
    bounded(term.gap(seen_at(term, replicas)), "at most ")
}

/// How long a term lasted, in words.
pub(super) fn lasted(term: &TermEntry, replicas: &[ReplicaStatus]) -> Markup {
    bounded(term.lasted(seen_at(term, replicas)), "at least ")
}

fn bounded(length: Option<Length>, bound: &str) -> Markup {
    let shown = |Length { ms, is_exact }| html! { @if !is_exact { (bound) } (span(ms)) };
    length.map_or_else(nothing, shown)
}

/// How long ago something was, as times say it.
pub(super) fn ago(ms: i64) -> String {
    let then = SystemTime::now() - Duration::from_millis(ms.try_into().unwrap_or(0));
    relative(&humantime::format_rfc3339_millis(then).to_string(), SystemTime::now())
}

/// Says how long ago very many rows were looked at. Nothing where that was just now.
pub(super) fn looked_before(age: Duration) -> Markup {
    html! {
        @if age >= Duration::from_secs(1) {
            p.hint { "As it was " (length(age.as_millis().try_into().ok())) " ago: so many rows are looked at behind the page, which shows the new state when it is there." }
        }
    }
}

/// A text of a row, in one line.
pub(super) fn text(text: &str) -> Markup {
    html! { (in_one_line(text)) }
}

/// A target or a destination of a row, in one line that breaks behind a slash before it breaks within a word.
pub(super) fn target(target: &str) -> Markup {
    html! { @for part in in_one_line(target).split_inclusive('/') { (part) @if part.ends_with('/') { wbr; } } }
}

/// A button that copies the text of the element with this id. It is there where the browser runs the script.
pub(super) fn copy(id: &str, what: &str) -> Markup {
    html! { button.copy.quiet type="button" data-of=(id) aria-label={ "Copy " (what) } { "Copy" } }
}

/// A text of a row, where there is one.
pub(super) fn text_if(said: Option<&str>) -> Markup {
    html! { @if let Some(said) = said { (text(said)) } @else { (nothing()) } }
}

/// A word of a state, in its colour.
pub(super) fn state(word: &str, tone: Tone) -> Markup {
    html! { span class={ "state " (tone.class()) } { (word) } }
}

/// The state of a message.
pub(super) fn status(status: &str, dead_reason: Option<&str>) -> Markup {
    let tone = match Status::ALL.into_iter().find(|known| known.as_str() == status) {
        Some(Status::Success) => Tone::Good,
        Some(Status::Dead) => Tone::Bad,
        Some(Status::Pending) => Tone::Plain,
        // An application wrote it.
        None => Tone::Warning,
    };
    html! { (state(status, tone)) @if let Some(reason) = dead_reason { " " span.hint { (reason) } } }
}

/// A message by its number.
pub(super) fn message(id: impl std::fmt::Display) -> Markup {
    html! { a href={ "/messages/" (id) } { (id) } }
}

/// Names and their values.
pub(super) fn facts<'a>(facts: impl IntoIterator<Item = (&'a str, Markup)>) -> Markup {
    html! {
        dl.facts {
            @for (name, value) in facts {
                div { dt { (name) } dd { (value) } }
            }
        }
    }
}

/// What stands in the place of an empty list.
pub(super) fn empty(words: &str) -> Markup {
    html! { p.empty { (words) } }
}

/// The way to the next page of a list, and back to the first.
pub(super) fn pages(path: &str, asked: &Fields, next: Option<&impl ToString>) -> Markup {
    html! {
        nav.pages aria-label="Pages of the list" {
            @if asked.has("after") { a href=(asked.filter().at(path)) { "« First page" } }
            @if let Some(next) = next {
                a rel="next" href=(asked.filter().with("after", &next.to_string()).at(path)) { "Next page »" }
            }
        }
    }
}

/// A field of a filter. The hint below it says what can be written.
pub(super) fn filter_text(asked: &Fields, name: &str, label: &str, hint: &str) -> Markup {
    filter_field(asked, name, label, hint, None)
}

/// The same, which suggests words: those of the list of this id.
pub(super) fn filter_field(asked: &Fields, name: &str, label: &str, hint: &str, words: Option<&str>) -> Markup {
    let hint_id = format!("hint-{name}");
    let described = (!hint.is_empty()).then_some(&hint_id);
    html! {
        div {
            label {
                span { (label) }
                input type="text" name=(name) value=[asked.get(name)] list=[words] aria-describedby=[described] autocomplete="off";
            }
            @if !hint.is_empty() { span.hint id=(hint_id) { (hint) } }
        }
    }
}

/// The examples of a time that a filter takes.
pub(super) const TIMES: &str = "2h, or 2026-05-01T14:00:00Z";

/// A choice of a filter.
pub(super) fn filter_choice(asked: &Fields, name: &str, label: &str, choices: &[(&str, &str)]) -> Markup {
    html! {
        label {
            span { (label) }
            select name=(name) {
                option value="" { "any" }
                @for (value, word) in choices {
                    option value=(value) selected[asked.get(name).is_some_and(|asked| asked.eq_ignore_ascii_case(value))] { (word) }
                }
            }
        }
    }
}

/// The fields of a filter that are used seldom. They are folded up, but for where one of these is in use.
pub(super) fn more_filters(asked: &Fields, names: &[&str], fields: &Markup) -> Markup {
    html! {
        details open[names.iter().any(|name| asked.has(name))] {
            summary { "More filters" }
            div.filter { (fields) }
        }
    }
}

/// The form of a filter: its fields are the address.
pub(super) fn filter(path: &str, asked: &Fields, fields: &Markup) -> Markup {
    html! {
        form.filter method="get" action=(path) {
            (fields)
            div.buttons {
                button type="submit" { "Show" }
                @if !asked.filter().is_empty() { a href=(path) { "Show all" } }
            }
        }
    }
}

/// The messages that a change left as they are: the first of them, and how many there are.
pub(super) fn left(done: &Outcome) -> Markup {
    let others = done.left_count.saturating_sub(NAMED as u64);
    html! {
        @if !done.left.is_empty() {
            h2 { "Left as they are" }
            ul {
                @for one in done.left.iter().take(NAMED) { li { (message(one.id)) ": " (one.because) } }
                @if others > 0 { li { "and " (number(others)) " others" } }
            }
        }
    }
}

/// A difference in lines.
pub(super) fn difference(lines: &str) -> Markup {
    let class = |line: &str| match line.as_bytes().first() {
        Some(b'+') if !line.starts_with("+++") => "added",
        Some(b'-') if !line.starts_with("---") => "removed",
        _ => "same",
    };
    html! {
        pre.difference role="group" tabindex="0" aria-label="What would be different" {
            @for line in lines.lines() { span class=(class(line)) { (line) "\n" } }
        }
    }
}

/// Leads a browser on after a form, so that loading the page again sends nothing twice.
pub(super) fn lead_to(address: &str) -> Response {
    Redirect::to(address).into_response()
}
