//! The settings in force, without secrets, and where each comes from.

use axum::extract::State;
use axum::response::Response;
use maud::html;

use super::fields::Plain;
use super::frame::Content;
use super::request_context::RequestContext;
use super::{PageState, paths};

pub(super) async fn show(State(page_state): State<PageState>, context: RequestContext, _: Plain) -> Response {
    let (started, read) = (&page_state.api_state.started, page_state.api_state.config.current());
    let waiting = started.needs_restart(&read);
    let body = html! {
        p.lead { "The settings of this replica, as it read them last, each with where it comes from. Secrets are hidden." }
        @if !waiting.is_empty() {
            div.note.warning {
                strong { "These have changed since the start, and wait for a restart." }
                ul { @for key in &waiting { li { code { (key) } } } }
            }
        }
        p { a href=(paths::RETENTION) { "How long the rows of each kind are kept" } ", and what is past its time." }
        pre.settings role="group" tabindex="0" aria-label="Settings" { (read.to_toml()) }
    };
    context.page(&Content::still("Settings in force", body))
}
