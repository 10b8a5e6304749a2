//! How the messages went that a redrive or a replay sent: the first of them, as they are now.

use maud::{Markup, html};
use outbox_desk::{MessageSummary, Outcome};
use outbox_schema::MessageId;
use outbox_store::Status;

use super::parts::{Tone, message, state};
use super::{PageState, paths};
use crate::api::Problem;

/// The most messages that are named.
const NAMED: usize = 10;

/// The section with the first messages that the operation sent, as they are now. It asks for itself again, where a script runs.
/// Nothing where the operation sent none.
pub(super) async fn how_they_went(
    page_state: &PageState,
    done: Option<&Outcome>,
    keeps_up: bool,
) -> Result<Markup, Problem> {
    let Some(done) = done else { return Ok(html! {}) };
    let ids: Vec<_> = done.first.iter().map(|sent| sent.id).take(NAMED).collect();
    let Some(operation) = done.audit_id.filter(|_| !ids.is_empty()) else { return Ok(html! {}) };
    let database = &page_state.api_state.database;
    let now = outbox_desk::summaries(database, &ids).await?;
    // Without a row there is no page to ask.
    let keeps_up = keeps_up && outbox_desk::operation(database, operation).await?.is_some();
    let asks = |value: &'static str| keeps_up.then_some(value);
    let found = |id: &MessageId| now.iter().find(|message| message.id == id.0);
    Ok(html! {
        section #sent hx-get=[keeps_up.then(|| paths::operation(operation))] hx-trigger=[asks("every 5s")] hx-select=[asks("#sent")]
            hx-swap=[asks("outerMorph")] {
            h2 { "How they went" }
            ul { @for id in &ids { li { (message(id)) ": " (went(found(id))) } } }
        }
    })
}

fn went(found: Option<&MessageSummary>) -> Markup {
    let Some(found) = found else { return html! { "not there any more" } };
    let status = Status::ALL.into_iter().find(|status| status.as_str() == found.status);
    html! {
        @match status {
            Some(Status::Success) => (state("delivered", Tone::Good)),
            Some(Status::Dead) => {
                (state(if found.replay_of.is_some() { "dead" } else { "dead again" }, Tone::Bad))
                @if let Some(code) = found.last_status_code { ", " (code) }
            }
            Some(Status::Pending) => {
                (state("waits", Tone::Plain))
                @if found.attempts > 0 { ", attempted " (found.attempts) @if found.attempts == 1 { " time" } @else { " times" } }
            }
            // An application wrote it.
            None => (state(&found.status, Tone::Warning)),
        }
    }
}
