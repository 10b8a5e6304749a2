//! The terms: who polled from when to when, why it ended, and how long nobody did.

use std::time::SystemTime;

use axum::extract::State;
use axum::response::Response;
use maud::{Markup, html};
use outbox_schema::Desk;
use outbox_schema::desk::TermEntry;

use super::Reception;
use super::door::Visit;
use super::fields::Plain;
use super::frame::Content;
use super::parts::{Tone, empty, length, nothing, number, state, table, text, time};
use crate::admin::api::Problem;

/// The terms that are shown.
const TERMS: u32 = 200;

pub(super) async fn list(State(reception): State<Reception>, visit: Visit, _: Plain) -> Result<Response, Problem> {
    let terms = reception.office.database.terms(TERMS).await?;
    let rows = terms.iter().enumerate().map(|(place, term)| row(term, &terms[..place]));
    let heading =
        ["Epoch", "Shard", "Replica", "Began", "Lasted", "Ended because", "Gap", "Claimed", "Delivered", "Failed"];
    let body = html! {
        p.lead { "One replica polls at a time, for a term. The gap is the time from the end of a term to the beginning of the next." }
        @if terms.is_empty() { (empty("No replica has ever polled.")) } @else { (table("Terms", heading, rows)) }
    };
    Ok(visit.page(&Content::live("Terms", html! {}, body)))
}

/// `newer` are the terms that began after it, the newest first.
fn row(term: &TermEntry, newer: &[TermEntry]) -> Markup {
    let next = newer.iter().rev().find(|next| next.shard == term.shard);
    let gap = next.and_then(|next| between(term.ended_at.as_deref()?, &next.started_at));
    let lasted = term.ended_at.as_deref().and_then(|ended| between(&term.started_at, ended));
    let count = |count: Option<i64>| html! { @if let Some(count) = count { (number(count)) } @else { (nothing()) } };
    html! {
        th.number scope="row" { (term.epoch) }
        td.number { (term.shard) }
        td title=(term.holder) { (text(term.instance.as_deref().unwrap_or(&term.holder))) }
        td { (time(&term.started_at)) }
        td.number { (length(lasted)) }
        td { (because(term, next.is_some())) }
        td.number { (length(gap)) }
        td.number { (count(term.claimed)) }
        td.number { (count(term.delivered)) }
        td.number { (count(term.failed)) }
    }
}

/// When a term ended, and why.
pub(super) fn ended(term: &TermEntry) -> Markup {
    html! {
        @match &term.ended_at {
            Some(at) => { (time(at)) " " span.hint { (text(term.ended_because.as_deref().unwrap_or_default())) } }
            None => { (nothing()) }
        }
    }
}

fn because(term: &TermEntry, is_over: bool) -> Markup {
    match (&term.ended_because, is_over) {
        (Some(why), _) => {
            let tone = match why.as_str() {
                "interval" | "shutdown" => Tone::Plain,
                _ => Tone::Warning,
            };
            state(why, tone)
        }
        (None, true) => state("nobody noted it", Tone::Warning),
        (None, false) => state("goes on", Tone::Good),
    }
}

/// Milliseconds from one time to another, which may be before it: each is noted by another replica.
fn between(from: &str, to: &str) -> Option<i64> {
    let at = |time: &str| humantime::parse_rfc3339_weak(time).ok();
    let (from, to): (SystemTime, SystemTime) = (at(from)?, at(to)?);
    i64::try_from(to.duration_since(from).unwrap_or_default().as_millis()).ok()
}
