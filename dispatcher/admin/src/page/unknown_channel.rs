//! A filter by a channel that the settings do not have.

use maud::{Markup, html};

use super::PageState;
use super::fields::Fields;
use super::parts::text;
use outbox_console::configured::nearest;

/// Says where the settings have no channel of the name that is filtered by, and which name may be meant.
pub(super) fn unknown_channel(page_state: &PageState, path: &str, asked: &Fields) -> Markup {
    let configured = page_state.api_state.configured.current();
    let unknown = asked.get("channel").filter(|name| !configured.channels.contains_key(*name));
    let meant = unknown.and_then(|name| nearest(name, configured.channels.keys().map(String::as_str)));
    html! {
        @if let Some(name) = unknown {
            p.hint {
                "The settings have no channel " (text(name)) "."
                @if let Some(meant) = meant {
                    " Did you mean " a href=(asked.filter().with("channel", meant).at(path)) { (text(meant)) } "?"
                }
            }
        }
    }
}
