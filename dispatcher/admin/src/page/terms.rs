//! The terms: who polled from when to when, why it ended, and how long nobody did.

use axum::extract::State;
use axum::response::Response;
use maud::{Markup, html};
use outbox_desk::{TermEntry, TermFilter};
use outbox_store::TermEnd;

use super::fields::{Asked, Get};
use super::frame::Content;
use super::instead::Instead;
use super::parts::{
    Tone, count, empty, facts, gap, lasted, moment, moment_if, nothing, pages, state, table, text, text_if, time,
};
use super::tables::{PAGE, Row, Shape};
use super::{links, paths};
use outbox_console::explain::named;
use outbox_console::health::replicas::{ReplicaStatus, Replicas};

pub(super) async fn list((State(page_state), context, Asked(asked)): Get) -> Result<Response, Instead> {
    let (filter, after) = context.understood("Terms", &html! {}, asked.of_list::<TermFilter, _>())?;
    let page = outbox_desk::term_page(&page_state.api_state.database, filter, after, PAGE).await?;
    // Without them a gap is bounded by the beginning of its term.
    let replicas = Replicas::of(&page_state.api_state.database).await.unwrap_or_default();
    let replicas = replicas.all();
    let body = html! {
        @if let Some(epoch) = filter.epoch {
            @for term in &page.terms { section { (whole(term, replicas)) } }
            @if page.terms.is_empty() { (empty("The log has no such term. It keeps terms for 30 days, and the last 1,000.")) }
            p { a href=(paths::TERMS) { "All terms" } }
            @if epoch > 1 { p { a href=(links::term_address(epoch - 1)) { "The term before" } } }
        } @else {
            p.lead { "One replica polls at a time, for a term. The gap is the time from the end of a term to the beginning of the next. Where nobody noted the end, as of a poller that was killed, it is at most that from the poller's last sign of life. A message in doubt was sent, or may have been, and no answer is on record." }
            @if page.terms.is_empty() { (empty("No replica has ever polled.")) } @else { (table("Terms", HEADING, page.terms.iter().map(|term| row(term, replicas)))) }
            (pages(paths::TERMS, &asked, page.next.as_ref()))
        }
    };
    let title = filter.epoch.map_or_else(|| "Terms".to_owned(), |epoch| format!("Term {epoch}"));
    Ok(context.page(&Content::live(title, html! {}, body)))
}

const HEADING: [&str; 11] = [
    "Epoch",
    "Shard",
    "Replica",
    "Began",
    "Lasted",
    "Ended because",
    "Gap",
    "Claimed",
    "Delivered",
    "Failed",
    "In doubt",
];

fn row(term: &TermEntry, replicas: &[ReplicaStatus]) -> Row {
    Row::of_shape(Shape::Whole, links::term(term.epoch))
        .shaped(Shape::Whole, term.shard)
        .cell(text(term.instance.as_deref().unwrap_or(&term.holder)))
        .titled(&term.holder)
        .cell(time(&term.started_at))
        .number(lasted(term, replicas))
        .cell(because(term))
        .number(gap(term, replicas))
        .number(count(term.claimed))
        .number(count(term.delivered))
        .number(count(term.failed))
        .number(in_doubt(term))
}

/// All that is known of one term.
fn whole(term: &TermEntry, replicas: &[ReplicaStatus]) -> Markup {
    facts([
        ("Shard", html! { (term.shard) }),
        ("Holder", text(&named(&term.holder, term.instance.as_deref()))),
        ("Version", text_if(term.version.as_deref())),
        ("Database", text_if(term.served_by.as_deref())),
        ("Began", moment(&term.started_at)),
        ("Ended", moment_if(term.ended_at.as_deref())),
        ("Ended because", html! { (because(term)) @if let Some(change) = term.failover() { " " (text(&change)) } }),
        ("Lasted", lasted(term, replicas)),
        ("Next term began", moment_if(term.next_started_at.as_deref())),
        ("Gap", gap(term, replicas)),
        ("Claimed", count(term.claimed)),
        ("Delivered", count(term.delivered)),
        ("Failed", count(term.failed)),
        (
            "In doubt",
            html! { (in_doubt(term)) span.hint { " sent, or perhaps sent, and without an answer on record" } },
        ),
    ])
}

/// How many messages were in doubt, and a way to them.
fn in_doubt(term: &TermEntry) -> Markup {
    let number = count(term.in_doubt);
    match term.in_doubt {
        Some(1..) => html! { a href={ "/messages?in_doubt=" (term.epoch) } { (number) } },
        Some(_) | None => number,
    }
}

/// When a term ended, and why.
pub(super) fn ended(term: &TermEntry) -> Markup {
    html! {
        @match &term.ended_at {
            Some(at) => { (time(at)) " " span.hint { (text(term.ended_because.as_deref().map_or("", why_in_words))) } }
            None => { (nothing()) }
        }
    }
}

/// Why a term ended. A word that this release does not know is shown as it is.
fn why_in_words(why: &str) -> &str {
    match TermEnd::ALL.into_iter().find(|end| end.as_str() == why) {
        Some(TermEnd::Interval) => "its time was up",
        Some(TermEnd::Lost) => "lost its lease",
        Some(TermEnd::RenewalFailed) => "could not renew its lease",
        Some(TermEnd::Wedged) => "stood still",
        Some(TermEnd::Shutdown) => "shut down",
        Some(TermEnd::Fenced) => "a later term had begun",
        Some(TermEnd::DatabaseChanged) => "the database failed over",
        None => why,
    }
}

pub(super) fn because(term: &TermEntry) -> Markup {
    if term.failover().is_some() {
        return state(why_in_words(TermEnd::DatabaseChanged.as_str()), Tone::Warning);
    }
    match (&term.ended_because, &term.next_started_at) {
        (Some(why), _) => {
            let tone = match why.as_str() {
                "interval" | "shutdown" => Tone::Plain,
                _ => Tone::Warning,
            };
            state(why_in_words(why), tone)
        }
        (None, Some(_)) => state("nobody noted it", Tone::Warning),
        (None, None) => state("goes on", Tone::Good),
    }
}
