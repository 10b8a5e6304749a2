//! The way from what words mention to its own page.

use maud::{Markup, html};
use outbox_schema::Tags;

use super::fields::Fields;
use super::parts::{exact, number, target, text};
use super::paths;
use outbox_console::explain::{Mention, Subject};

/// The page of this.
fn address(subject: &Subject) -> String {
    let of = |field: &str, value: &str, path: &str| Fields::default().with(field, value).at(path);
    match subject {
        Subject::Message(id) => format!("{}/{id}", paths::MESSAGES),
        Subject::Destination(name) => of("destination", name, paths::DESTINATIONS),
        Subject::Channel(name) => with("channel", name),
        Subject::OrderingKey(key) => with("ordering_key", key),
        Subject::Tenant(tenant) => with("tenant", tenant),
        Subject::Term(epoch) => of("epoch", &epoch.to_string(), paths::TERMS),
        Subject::Operation(id) => paths::operation(*id),
        Subject::InvalidTarget { channel, target } => {
            Fields::default().with("channel", channel).with("target", target).at("/invalid-targets")
        }
    }
}

/// The list of the messages that have this in common.
pub(super) fn with(field: &str, value: &str) -> String {
    Fields::default().with(field, value).at(paths::MESSAGES)
}

/// The tags of a message, each of which leads to all that have it. What is no tag is shown as it is written.
pub(super) fn tags(column: &str) -> Markup {
    match serde_json::from_str::<Tags>(column) {
        Ok(tags) => html! {
            @for tag in tags.each() {
                a href=(with("tags", &tag.to_string())) { (text(&tag.to_string())) } " "
            }
        },
        Err(_) => text(column),
    }
}

/// What else a customer knows of a message: its tags, its tenant, its ordering key. None where it has none of them.
pub(super) fn about(tags: Option<&str>, tenant: Option<&str>, ordering_key: Option<&str>) -> Option<Markup> {
    let labels = [("tenant", "tenant", tenant), ("ordering_key", "ordering key", ordering_key)];
    let is_any = tags.is_some() || labels.iter().any(|(.., value)| value.is_some());
    is_any.then(|| {
        html! {
            @if let Some(tags) = tags { (self::tags(tags)) }
            @for (field, word, value) in labels {
                @if let Some(value) = value { span.hint { (word) " " } a href=(with(field, value)) { (text(value)) } " " }
            }
        }
    })
}

/// A destination, or a channel that is paused by its name, which leads to its page.
pub(super) fn destination(name: &str) -> Markup {
    html! { a href=(address(&Subject::Destination(name.to_owned()))) { (target(name)) } }
}

/// A term by its epoch.
pub(super) fn term(epoch: i64) -> Markup {
    html! { a href=(term_address(epoch)) { (epoch) } }
}

/// The page of a term.
pub(super) fn term_address(epoch: i64) -> String {
    address(&Subject::Term(epoch))
}

/// Words that lead on from each place that mentions something. The page is that of what the cause or the event names, whatever
/// else the words say.
pub(super) fn linked(words: &str, mentions: &[Mention]) -> Markup {
    let mut rest = words;
    html! {
        @while let Some((place, mention)) = first(rest, mentions) {
            (timed(&rest[..place]))
            a href=(address(&mention.subject)) { (mention.words) }
            @let () = rest = &rest[place + mention.words.len()..];
        }
        (timed(rest))
    }
}

/// Words in which each time to the second is marked as one, so that the script can write it in the zone of the reader.
fn timed(words: &str) -> Markup {
    const SHAPE: &[u8] = b"0000-00-00T00:00:00Z";
    let is = |(byte, shape): (&u8, &u8)| if *shape == b'0' { byte.is_ascii_digit() } else { byte == shape };
    let mut rest = words;
    html! {
        @while let Some(place) = rest.as_bytes().windows(SHAPE.len()).position(|part| part.iter().zip(SHAPE).all(is)) {
            @let (before, from) = rest.split_at(place);
            @let (at, behind) = from.split_at(SHAPE.len());
            (before) (exact(at))
            @let () = rest = behind;
        }
        (rest)
    }
}

/// The first mention in a text, and its place. Of two at one place the longer one.
fn first<'a>(text: &str, mentions: &'a [Mention]) -> Option<(usize, &'a Mention)> {
    let found = mentions.iter().filter_map(|mention| Some((place(text, &mention.words)?, mention)));
    found.min_by_key(|(place, mention)| (*place, std::cmp::Reverse(mention.words.len())))
}

/// Where these words stand in a text, and are not a part of longer ones: `message 1` is none of `message 17`.
fn place(text: &str, words: &str) -> Option<usize> {
    let joins = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    let ends = |place: usize| {
        let (before, after) = (&text[..place], &text[place + words.len()..]);
        !joins(before.chars().next_back()) && !joins(after.chars().next())
    };
    text.match_indices(words).map(|(place, _)| place).find(|place| !words.is_empty() && ends(*place))
}

/// Prose of this program, in which commands and names stand between back-ticks.
pub(super) fn prose(words: &str) -> Markup {
    prose_about(words, &[])
}

/// The same, which leads on from what it mentions. A command leads nowhere: it is copied.
pub(super) fn prose_about(words: &str, mentions: &[Mention]) -> Markup {
    html! {
        @for (place, part) in words.split('`').enumerate() {
            @if place % 2 == 1 { code { (part) } } @else { (linked(part, mentions)) }
        }
    }
}

/// The most rows of a file.
pub(super) const MOST: usize = 10_000;

/// The links to the files of a list, with its filter.
pub(super) fn links(path: &str, asked: &Fields) -> Markup {
    let at = |format: &str| asked.filter().at(&format!("{path}/download/{format}"));
    html! {
        p.hint {
            "As a file, the newest " (number(MOST as u64)) ": " a href=(at("csv")) download { "CSV" } ", " a href=(at("json")) download { "JSON" }
        }
    }
}

#[cfg(test)]
mod tests {
    use outbox_schema::MessageId;

    use super::*;

    fn message(id: i64) -> Mention {
        Mention { words: format!("message {id}"), subject: Subject::Message(MessageId(id)) }
    }

    #[test]
    fn each_mention_leads_to_its_page_and_a_part_of_a_longer_word_does_not() {
        let words = "It waits behind message 1. Of message 17: message 1!";
        let linked = linked(words, &[message(1)]).into_string();
        let one = "<a href=\"/messages/1\">message 1</a>";
        assert_eq!(linked, format!("It waits behind {one}. Of message 17: {one}!"));
    }

    #[test]
    fn a_time_within_words_is_marked_as_one() {
        let linked = linked("It died at 2026-05-01T14:00:00Z, after message 1.", &[message(1)]).into_string();
        let time = "<time datetime=\"2026-05-01T14:00:00Z\">2026-05-01T14:00:00Z</time>";
        assert_eq!(linked, format!("It died at {time}, after <a href=\"/messages/1\">message 1</a>."));
        assert_eq!(super::linked("\u{e4} 2026-05-01", &[]).into_string(), "\u{e4} 2026-05-01");
    }

    #[test]
    fn what_words_do_not_name_is_no_link_and_text_stays_text() {
        let destination =
            |name: &str| Mention { words: name.to_owned(), subject: Subject::Destination(name.to_owned()) };
        let mentions = [destination(""), destination("<b>"), destination("https://a:1")];
        let linked = linked("<i> \u{e4}<b> https://a:10 message 5", &mentions).into_string();
        let link = "<a href=\"/destinations?destination=%3Cb%3E\">&lt;b&gt;</a>";
        assert!(!linked.contains(link), "it joins a word: {linked}");
        assert_eq!(linked, "&lt;i&gt; \u{e4}&lt;b&gt; https://a:10 message 5");
        assert_eq!(super::linked("- <b>", &mentions).into_string(), format!("- {link}"));
    }
}
