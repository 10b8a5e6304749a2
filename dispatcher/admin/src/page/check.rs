//! What `outbox check` says of this replica.

use axum::extract::State;
use axum::response::Response;
use maud::{Markup, html};

use super::fields::{Asked, Get};
use super::frame::Content;
use super::instead::Instead;
use super::links::prose;
use super::parts::{Tone, stacked, state, text};
use super::tables::Row;
use crate::api::CheckQuery;
use outbox_console::check::{CheckReport, Finding, FindingVerdict};

/// The address of the page.
const PATH: &str = "/check";

/// The same, and what a strict installation would not leave so.
const STRICT: &str = "/check?strict=true";

pub(super) async fn show((State(page_state), context, Asked(asked)): Get) -> Result<Response, Instead> {
    let CheckQuery { strict } = context.understood("Check", &html! {}, asked.read())?;
    let report = page_state.api_state.check(strict).await;
    let body = html! {
        p.lead {
            "What this replica can use of all that its settings name, as " code { "outbox check" } " says it. Nothing is sent. "
            @if strict { a href=(PATH) { "Only what can be used" } }
            @else { a href=(STRICT) { "Also what a strict installation would not leave so" } }
        }
        (result(&report))
        (stacked("Findings", ["What", "State", "Found: what it is, and what to do"], report.findings.iter().map(row)))
        p { (report.crash.in_words()) }
        p { a href=(if strict { STRICT } else { PATH }) { "Check again" } span.hint { " A check is reused for ten seconds." } }
    };
    Ok(context.page(&Content::still("Check", body)))
}

/// The result as a line above the findings.
fn result(report: &CheckReport) -> Markup {
    let count = |verdict| report.findings.iter().filter(|finding| finding.verdict == verdict).count();
    match (count(FindingVerdict::Failed), count(FindingVerdict::Warning)) {
        (0, 0) => html! { p.note.good { strong { "All can be used." } } },
        (0, warnings) => html! { div.note.warning { strong { "All can be used." } " Warnings: " (warnings) "." } },
        (failed, _) => {
            html! { div.note.bad role="alert" { strong { "Something cannot be used." } " Failed: " (failed) "." } }
        }
    }
}

fn row(finding: &Finding) -> Row {
    let (word, tone) = match finding.verdict {
        FindingVerdict::Ok => ("ok", Tone::Good),
        FindingVerdict::Warning => ("warning", Tone::Warning),
        FindingVerdict::Failed => ("failed", Tone::Bad),
    };
    Row::of(text(&finding.subject)).cell(state(word, tone)).cell(prose(&finding.text))
}
