//! Waking the poller, which the overview offers beside who polls.

use axum::Json;
use axum::extract::State;
use axum::response::Response;
use maud::{Markup, html};

use super::fields::{NoFields, Post, Sent};
use super::frame::Content;
use super::parts::Tone;
use super::paths;
use super::request_context::RequestContext;
use crate::api::wake::{WhoWoke, Woken};
use crate::api::{Problem, wake as api};

/// The form that wakes the poller.
pub(super) fn poll_now(context: &RequestContext) -> Markup {
    html! {
        form method="post" action=(paths::WAKE) {
            (context.token())
            button type="submit" { "Poll now" }
        }
    }
}

pub(super) async fn wake((State(page_state), context, Sent(sent)): Post) -> Result<Response, Problem> {
    let NoFields {} = sent.among(&["by"], false).read()?;
    let Json(Woken { woken }) = api::wake(State(page_state.api_state)).await?;
    let (tone, words) = said(woken);
    let body = html! {
        p class={ "note " (tone.class()) } role="status" { (words) }
        p { a href="/" { "To the overview" } }
    };
    Ok(context.page(&Content::still("Poll now", body)))
}

/// What came of it, in words.
fn said(woken: WhoWoke) -> (Tone, &'static str) {
    match woken {
        WhoWoke::ThisReplica => (Tone::Good, "This replica polls, and now looks for what is due."),
        WhoWoke::Poller => (Tone::Good, "This replica told the poller, which now looks for what is due."),
        WhoWoke::Nobody => (Tone::Warning, "No replica polls at the moment. The next poller begins with a poll."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_where_nobody_polls_there_is_something_to_be_looked_at() {
        for (woken, tone, words) in [
            (WhoWoke::ThisReplica, Tone::Good, "This replica polls"),
            (WhoWoke::Poller, Tone::Good, "told the poller"),
            (WhoWoke::Nobody, Tone::Warning, "No replica polls"),
        ] {
            let (its, said) = said(woken);
            assert!(its == tone && said.contains(words), "{said}");
        }
    }
}
