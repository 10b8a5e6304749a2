//! A filter that finds nothing, by a channel that the settings do not have or a tag that no message has.

use maud::{Markup, html};
use outbox_desk::tag_names;
use outbox_schema::Tags;

use super::PageState;
use super::fields::Fields;
use super::parts::text;
use crate::api::Problem;
use outbox_console::configured::nearest;

/// Says of each name that is filtered by and not known which may be meant.
pub(super) async fn unknown(page_state: &PageState, path: &str, asked: &Fields) -> Result<Markup, Problem> {
    let tags = if let Some(tags) = asked.get("tags").and_then(|tags| tags.parse::<Tags>().ok()) {
        let known: Vec<_> = tag_names(&page_state.api_state.database).await?.into_iter().collect();
        unknown_tags(&tags, &known)
    } else {
        html! {}
    };
    Ok(html! { (unknown_channel(page_state, path, asked)) (tags) })
}

fn unknown_channel(page_state: &PageState, path: &str, asked: &Fields) -> Markup {
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

fn unknown_tags(tags: &Tags, known: &[String]) -> Markup {
    html! {
        @for (name, _) in tags.iter().filter(|(name, _)| !known.iter().any(|known| known == name)) {
            p.hint {
                "None of the newest messages has a tag " (text(name)) "."
                @if !known.is_empty() { " Their tags are " (text(&known.join(", "))) "." }
            }
        }
    }
}
