//! What a field of a filter suggests: the channels of the settings, the tags of the messages that a list shows.

use std::collections::BTreeSet;

use maud::{Markup, html};
use outbox_schema::Tags;

use super::PageState;
use super::fields::Fields;
use super::parts::filter_field;

/// The field of a channel.
pub(super) fn channel(page_state: &PageState, asked: &Fields) -> Markup {
    let configured = page_state.api_state.configured.current();
    html! {
        (filter_field(asked, "channel", "Channel", "", Some("channels")))
        (words("channels", configured.channels.keys()))
    }
}

/// The field of tags. The list below it has [`tags_of`] its messages.
pub(super) fn tags(asked: &Fields) -> Markup {
    filter_field(asked, "tags", "Tags", "order=4711, customer=7", Some("tags"))
}

/// The tags of the messages that are shown, by their columns.
pub(super) fn tags_of<'a>(columns: impl Iterator<Item = Option<&'a str>>) -> Markup {
    let tags = columns.flatten().filter_map(|column| serde_json::from_str::<Tags>(column).ok());
    let one = |tags: Tags| tags.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>();
    words("tags", &tags.flat_map(one).collect::<BTreeSet<_>>())
}

fn words<'a>(id: &str, words: impl IntoIterator<Item = &'a String>) -> Markup {
    html! { datalist id=(id) { @for word in words { option value=(word); } } }
}
