//! Where the outcomes of a channel are told: another channel, and a target with places for what the message says of itself.
//!
//! The texts of a row are written by strangers. So no text changes where a target leads: a place stands behind the origin alone,
//! and a text fills it as one piece of a path or a query, percent-encoded.

use std::fmt;
use std::sync::Arc;

use outbox_schema::MessageId;
use url::form_urlencoded::byte_serialize;

use crate::Status;

/// The longest target that an outcome may have, in bytes. It is half of what a column of MySQL and the URL of a request take, so
/// that there is room for a `base_url`. A longer one is refused with the settings: it could not be written with the mark.
const LONGEST: usize = 32_768;

/// The characters of a text that are taken. No column takes more, but for those of an old SQLite file.
const CHARACTERS: usize = 255;

/// The bytes of a character in a URL, at most: four of UTF-8, of three each.
const ENCODED: usize = 12;

/// Where the outcomes of a channel are told: each by a message of its own, written by the transaction that ends the row.
#[derive(Clone, PartialEq, Eq)]
pub struct OutcomeTarget {
    /// The channel of that message. It has no such target itself.
    pub channel: String,
    /// The target of that message.
    pub target: TargetTemplate,
}

impl fmt::Debug for OutcomeTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OutcomeTarget").field("channel", &self.channel).finish_non_exhaustive()
    }
}

/// A target with places for texts of a message. It has no `Debug` of its text: it may hold a secret, as the URLs of chat rooms do.
#[derive(Clone, PartialEq, Eq)]
pub struct TargetTemplate {
    parts: Arc<[Part]>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Text(String),
    Place(Place),
}

/// What a message says of itself in the target of its outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Id,
    Key,
    Channel,
    Status,
    Tenant,
}

/// What a template is filled with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Texts<'a> {
    pub(crate) id: MessageId,
    pub(crate) idempotency_key: &'a str,
    pub(crate) channel: &'a str,
    pub(crate) status: &'a str,
    pub(crate) tenant: Option<&'a str>,
}

/// A target that is no template. The words follow the name of a setting, and repeat no part of the target, which may be a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// A name in braces that is no placeholder.
    #[error(
        "has a placeholder that does not exist: there are {{id}}, {{idempotency_key}}, {{channel}}, {{status}} and {{tenant}}"
    )]
    Unknown,
    /// A brace that neither begins nor ends a placeholder.
    #[error("has a single brace: write {{{{ or }}}} for a brace, or a placeholder like {{id}}")]
    Brace,
    /// A placeholder before the path, or behind a `#`.
    #[error(
        "has {{{0}}} in a place where it may not stand: placeholders stand in the path or the query, behind the first / or ? after the \
         host and the port"
    )]
    Misplaced(&'static str),
    /// A target that may become longer than allowed.
    #[error("may become {0} bytes long, with the longest texts that a message can have: {longest} are allowed", longest = LONGEST)]
    TooLong(usize),
}

impl Place {
    const ALL: [Self; 5] = [Self::Id, Self::Key, Self::Channel, Self::Status, Self::Tenant];

    fn name(self) -> &'static str {
        match self {
            Self::Id => "id",
            Self::Key => "idempotency_key",
            Self::Channel => "channel",
            Self::Status => "status",
            Self::Tenant => "tenant",
        }
    }

    /// The most bytes that it is filled with.
    fn longest(self) -> usize {
        match self {
            Self::Id => i64::MIN.to_string().len(),
            Self::Status => Status::ALL.map(|status| status.as_str().len()).into_iter().max().unwrap_or_default(),
            Self::Key | Self::Channel | Self::Tenant => CHARACTERS * ENCODED,
        }
    }

    fn text(self, texts: &Texts<'_>) -> String {
        match self {
            Self::Id => texts.id.to_string(),
            Self::Status => texts.status.to_owned(),
            Self::Key => encoded(texts.idempotency_key),
            Self::Channel => encoded(texts.channel),
            Self::Tenant => encoded(texts.tenant.unwrap_or_default()),
        }
    }
}

impl TargetTemplate {
    /// Reads a target: `{id}` and the like are places, `{{` and `}}` are braces.
    ///
    /// # Errors
    /// Says what is wrong without a part of the target.
    pub fn parse(text: &str) -> Result<Self, TemplateError> {
        let (mut parts, mut plain, mut rest) = (Vec::new(), String::new(), text);
        while let Some(at) = rest.find(['{', '}']) {
            let (before, from) = rest.split_at(at);
            plain.push_str(before);
            if let Some(behind) = from.strip_prefix("{{").or_else(|| from.strip_prefix("}}")) {
                plain.extend(from.chars().next());
                rest = behind;
                continue;
            }
            let (name, behind) =
                from.strip_prefix('{').and_then(|from| from.split_once('}')).ok_or(TemplateError::Brace)?;
            let place = Place::ALL.into_iter().find(|place| place.name() == name).ok_or(TemplateError::Unknown)?;
            parts.push(Part::Text(std::mem::take(&mut plain)));
            parts.push(Part::Place(place));
            rest = behind;
        }
        parts.push(Part::Text(plain + rest));
        let template = Self { parts: parts.into() };
        let longest = template.longest();
        if longest > LONGEST { Err(TemplateError::TooLong(longest)) } else { Ok(template) }
    }

    /// Whether the target has a place for a text of the message.
    pub fn has_places(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, Part::Place(_)))
    }

    /// Whether the target begins with a scheme of HTTP. Otherwise it is a path below a `base_url`, or no target of HTTP.
    pub fn is_url(&self) -> bool {
        let Some(Part::Text(text)) = self.parts.first() else { return false };
        ["http://", "https://"].iter().any(|scheme| text.starts_with(scheme))
    }

    /// Checks that each place stands in the path or the query: the texts of a row must not say where the target leads.
    ///
    /// # Errors
    /// Names the first place that stands elsewhere.
    pub fn check_places(&self) -> Result<(), TemplateError> {
        let mut before = String::new();
        for part in &*self.parts {
            match part {
                Part::Text(text) => before.push_str(text),
                Part::Place(place) if is_behind_the_origin(&before) => before.push_str(place.name()),
                Part::Place(place) => return Err(TemplateError::Misplaced(place.name())),
            }
        }
        Ok(())
    }

    fn longest(&self) -> usize {
        let longest = |part: &Part| match part {
            Part::Text(text) => text.len(),
            Part::Place(place) => place.longest(),
        };
        self.parts.iter().map(longest).sum()
    }

    /// The target of the outcome of a message.
    pub(crate) fn filled(&self, texts: &Texts<'_>) -> String {
        let (mut target, mut segment) = (String::new(), Segment::default());
        for part in &*self.parts {
            match part {
                Part::Text(text) => {
                    for c in text.chars() {
                        if matches!(c, '/' | '\\' | '?' | '#') {
                            segment.end(&mut target);
                        }
                        target.push(c);
                        if matches!(c, '/' | '\\' | '?' | '#') {
                            segment =
                                Segment { begins: target.len(), is_filled: false, is_of_path: segment.goes_on(c) };
                        }
                    }
                }
                Part::Place(place) => {
                    segment.is_filled = true;
                    target.push_str(&place.text(texts));
                }
            }
        }
        segment.end(&mut target);
        target
    }
}

/// A piece between two slashes of a target that is being filled.
#[derive(Debug, Clone, Copy)]
struct Segment {
    begins: usize,
    /// Whether a text of the row is in it.
    is_filled: bool,
    is_of_path: bool,
}

impl Default for Segment {
    fn default() -> Self {
        Self { begins: 0, is_filled: false, is_of_path: true }
    }
}

impl Segment {
    /// Whether the piece behind this separator is one of the path.
    fn goes_on(self, separator: char) -> bool {
        self.is_of_path && matches!(separator, '/' | '\\')
    }

    /// Whoever reads a URL takes `.` and `..` for steps, in any spelling. A text that would be one gets a `_` in front.
    fn end(self, target: &mut String) {
        let is_step = |segment: &str| matches!(segment.to_ascii_lowercase().replace("%2e", ".").as_str(), "." | "..");
        if self.is_filled && self.is_of_path && target.get(self.begins..).is_some_and(is_step) {
            target.insert(self.begins, '_');
        }
    }
}

/// Whether what follows this beginning of a target is a part of its path or its query.
fn is_behind_the_origin(before: &str) -> bool {
    let is_http = |scheme: &str| scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https");
    let rest = before.split_once("://").filter(|(scheme, _)| is_http(scheme)).map_or(before, |(_, rest)| rest);
    rest.contains(['/', '?']) && !rest.contains('#')
}

/// The text, where all but letters, digits and `*-._` is percent-encoded: it is one piece of a path, and one value of a query.
fn encoded(text: &str) -> String {
    let end = text.char_indices().nth(CHARACTERS).map_or(text.len(), |(at, _)| at);
    // A plus is a space in a form alone.
    byte_serialize(&text.as_bytes()[..end]).collect::<String>().replace('+', "%20")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

    use proptest::prelude::*;
    use url::Url;

    use super::*;

    fn texts<'a>(key: &'a str, channel: &'a str, tenant: Option<&'a str>) -> Texts<'a> {
        Texts { id: MessageId(7), idempotency_key: key, channel, status: "DEAD", tenant }
    }

    fn filled(template: &str, texts: &Texts<'_>) -> String {
        let template = TargetTemplate::parse(template).unwrap();
        template.check_places().unwrap();
        template.filled(texts)
    }

    #[test]
    fn a_template_is_filled_with_what_the_message_says_of_itself() {
        let acme = texts("order 47/11", "http", Some("acme&co"));
        for (template, target) in [
            ("https://ops.example/hook", "https://ops.example/hook"),
            ("/{status}/{id}", "/DEAD/7"),
            ("/o/{idempotency_key}?t={tenant}&c={channel}", "/o/order%2047%2F11?t=acme%26co&c=http"),
            ("https://ops.example?id={id}", "https://ops.example?id=7"),
            ("/a/{{id}}/{id}", "/a/{id}/7"),
        ] {
            assert_eq!(filled(template, &acme), target, "{template}");
        }
        assert_eq!(filled("/{tenant}/x?t={tenant}", &texts("k", "http", None)), "//x?t=");
    }

    #[test]
    fn a_text_that_is_a_step_of_a_path_is_none_in_any_spelling() {
        let of = |template: &str, tenant: &str| filled(template, &texts("k", "http", Some(tenant)));
        for (template, tenant, target) in [
            ("/a/{tenant}/b", "..", "/a/_../b"),
            ("/a/{tenant}/b", ".", "/a/_./b"),
            ("/a/.{tenant}", ".", "/a/_.."),
            ("/a/.{tenant}", "", "/a/_."),
            ("/a/%2E{tenant}/b", ".", "/a/_%2E./b"),
            ("/a/{tenant}{tenant}", ".", "/a/_.."),
            ("/a/{tenant}?x=1", "..", "/a/_..?x=1"),
            ("/a?x={tenant}", "..", "/a?x=.."),
            ("/a?x=/{tenant}", "..", "/a?x=/.."),
            ("/a/{tenant}", "...", "/a/..."),
        ] {
            assert_eq!(of(template, tenant), target, "{template} of {tenant}");
        }
    }

    #[test]
    fn a_placeholder_that_does_not_exist_and_a_single_brace_are_refused() {
        for (template, why) in [
            ("/{s3cret}", TemplateError::Unknown),
            ("/{}", TemplateError::Unknown),
            ("/{Id}", TemplateError::Unknown),
            ("/{id", TemplateError::Brace),
            ("/id}", TemplateError::Brace),
            ("/{id}}", TemplateError::Brace),
        ] {
            let refused = TargetTemplate::parse(template).err();
            assert_eq!(refused, Some(why), "{template}");
            assert!(!refused.unwrap().to_string().contains("s3cret"), "{template}");
        }
    }

    #[test]
    fn a_placeholder_stands_in_the_path_or_the_query() {
        for template in [
            "{tenant}",
            "{tenant}://ops.example/",
            "http{tenant}://ops.example/",
            "https://{tenant}/x",
            "https://ops.example{tenant}/x",
            "https://{tenant}@ops.example/x",
            "HTTPS://ops.example:{id}/x",
            "https://ops.example:80{id}?x",
            "outcomes-{id}",
            "https://ops.example/x#{id}",
            "/x?y#{id}",
        ] {
            let refused = TargetTemplate::parse(template).unwrap().check_places();
            assert!(matches!(refused, Err(TemplateError::Misplaced(_))), "{template}: {refused:?}");
        }
        for template in ["https://x/{id}", "https://x?{id}", "/{id}", "?{id}", "a/{id}", "/r?to=https://x/{id}"] {
            TargetTemplate::parse(template).unwrap().check_places().unwrap();
        }
    }

    #[test]
    fn a_target_that_might_become_too_long_is_refused_beforehand() {
        TargetTemplate::parse(&format!("/{}", "{tenant}".repeat(10))).unwrap();
        let eleven = TargetTemplate::parse(&format!("/{}", "{tenant}".repeat(11)));
        assert_eq!(eleven.err(), Some(TemplateError::TooLong(1 + 11 * 3_060)));
        assert!(TargetTemplate::parse(&"x".repeat(LONGEST)).is_ok());
        assert!(TargetTemplate::parse(&"x".repeat(LONGEST + 1)).is_err());
    }

    /// Pieces of which a hostile text is made.
    fn piece() -> impl Strategy<Value = String> {
        let pieces = [
            "/",
            "//",
            "\\",
            "?",
            "#",
            "&",
            "=",
            ";",
            ":",
            "@",
            ".",
            "..",
            "%2e",
            "%2f",
            "%",
            "+",
            " ",
            "\t",
            "\n",
            "\r\n",
            "\0",
            "http://",
            "https://evil.example/",
            "[::1]",
            "{id}",
            "{",
            "}",
            "\u{ff0f}",
            "\u{3002}",
            "\u{202e}",
            "\u{1f600}",
            "b\u{fc}cher",
        ];
        prop_oneof![
            6 => prop::sample::select(pieces.to_vec()).prop_map(str::to_owned),
            2 => any::<char>().prop_map(String::from),
            1 => Just("\u{1f600}".repeat(CHARACTERS + 20)),
        ]
    }

    fn text() -> impl Strategy<Value = String> {
        prop::collection::vec(piece(), 0..6).prop_map(|pieces| pieces.concat())
    }

    fn template() -> impl Strategy<Value = &'static str> {
        prop::sample::select(vec![
            "https://ops.example:8443/{tenant}",
            "https://ops.example/a/{tenant}/b-{idempotency_key}.json?c={channel}&t={tenant}&id={id}",
            "https://ops.example?{tenant}={idempotency_key}",
            "https://ops.example/.{tenant}/%2e{channel}/{tenant}{idempotency_key}/{status}",
            "http://127.0.0.1/{channel}/",
        ])
    }

    proptest! {
        /// Whatever strangers write, the target leads where its template leads, in as many steps.
        #[test]
        fn no_text_of_a_row_changes_where_a_target_leads(
            template in template(), key in text(), channel in text(), tenant in prop::option::of(text())
        ) {
            let target = filled(template, &texts(&key, &channel, tenant.as_deref()));
            let (made, plain) = (Url::parse(&target).unwrap(), Url::parse(&filled(template, &texts("k", "c", Some("t")))).unwrap());
            prop_assert_eq!(made.origin(), plain.origin());
            prop_assert_eq!(outbox_schema::origin::column(&target), outbox_schema::origin::column(template));
            prop_assert!(outbox_schema::origin::check_plain(&made, outbox_schema::origin::column(&target).as_deref()).is_ok());
            prop_assert_eq!(made.path_segments().unwrap().count(), plain.path_segments().unwrap().count());
            prop_assert_eq!(made.query_pairs().count(), plain.query_pairs().count());
            prop_assert_eq!((made.fragment(), made.username(), made.password()), (None, "", None));
            prop_assert!(target.bytes().all(|byte| byte.is_ascii_graphic()) && target.len() <= LONGEST);
            // The URL is the text: nothing of it was dropped, or read otherwise.
            prop_assert!(target == made.as_str() || target.replacen(".example?", ".example/?", 1) == made.as_str(), "{}", target);
        }

        /// A receiver reads the text that the row has.
        #[test]
        fn a_receiver_reads_what_the_row_says(tenant in text()) {
            let target = filled("https://ops.example/?t={tenant}", &texts("k", "c", Some(&tenant)));
            let read = Url::parse(&target).unwrap().query_pairs().next().unwrap().1.into_owned();
            prop_assert_eq!(read, tenant.chars().take(CHARACTERS).collect::<String>());
        }
    }
}
