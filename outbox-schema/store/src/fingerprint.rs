//! The pattern of an error. Two messages that failed for the same cause have the same pattern, though their ids, times
//! and addresses differ.

/// The longest pattern, in characters.
pub const PATTERN_CHARS: usize = 200;

/// The sign for a part that varies: a number, a UUID, a time, a token.
const VARIABLE: &str = "#";

/// A run of this many letters and digits is a token: no language has such a word.
const TOKEN_CHARS: usize = 32;

/// A run of this many hexadecimal digits is more likely a hash than a word.
const HEX_CHARS: usize = 8;

/// The lengths of the groups of a UUID.
const UUID_GROUPS: [usize; 5] = [8, 4, 4, 4, 12];

/// Words of dates, which change from day to day.
const CALENDAR: [&str; 19] = [
    "Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun", "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep",
    "Oct", "Nov", "Dec",
];

/// The error without its variable parts. Numbers, UUIDs, hexadecimal digits, times and tokens become `#`. Text in
/// quotes becomes `…`, and of a URL only its origin is left. The pattern is one line of at most [`PATTERN_CHARS`]
/// characters. The pattern of a pattern is itself.
///
/// ```
/// # use outbox_store::fingerprint::pattern;
/// let error = r#"https://shop.example/orders/4711 answered 422: no field "qty" in order 4711"#;
/// assert_eq!(pattern(error), r#"https://shop.example/… answered #: no field "…" in order #"#);
/// ```
pub fn pattern(error: &str) -> String {
    let mut pattern = Pattern::default();
    let mut rest = error.trim_start();
    while let Some(piece) = Piece::first_of(rest, pattern.last_is_word) {
        if !pattern.push(&piece.shown, piece.is_word) {
            break;
        }
        rest = &rest[piece.bytes..];
    }
    pattern.finish()
}

/// The hash of an error's pattern, for `outbox.error_hash`. It is the same on every machine and in every release
/// (FNV-1a, 48 of its bits). It need not resist an attacker: two errors with the same hash help no one.
pub fn error_hash(error: &str) -> String {
    format!("{:012x}", fnv(&pattern(error)) >> 16)
}

/// FNV-1a in 64 bits: <https://datatracker.ietf.org/doc/html/draft-eastlake-fnv>.
pub fn fnv(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// The beginning of a text, which goes into the pattern as one piece.
struct Piece<'a> {
    bytes: usize,
    shown: std::borrow::Cow<'a, str>,
    is_word: bool,
}

impl<'a> Piece<'a> {
    fn first_of(text: &'a str, after_word: bool) -> Option<Self> {
        let first = text.chars().next()?;
        if !after_word && let Some(piece) = Self::url(text) {
            return Some(piece);
        }
        if first.is_alphanumeric() {
            return Some(Self::word(text));
        }
        if text.starts_with(VARIABLE) {
            return Some(Self { bytes: VARIABLE.len(), shown: VARIABLE.into(), is_word: true });
        }
        let quoted = match first {
            '"' | '`' => Self::quoted(text, first),
            // An apostrophe within a word is not a quote.
            '\'' if !after_word => Self::quoted(text, first),
            _ => None,
        };
        Some(quoted.unwrap_or_else(|| {
            let blank = first.is_whitespace() || first.is_control();
            let bytes = first.len_utf8();
            Self { bytes, shown: if blank { " " } else { &text[..bytes] }.into(), is_word: false }
        }))
    }

    fn url(text: &'a str) -> Option<Self> {
        let scheme = ["https://", "http://"].into_iter().find(|scheme| text.starts_with(scheme))?;
        let ends = |c: char| c.is_whitespace() || c.is_control() || "\"'`<>()[]{},;".contains(c);
        let length = text[scheme.len()..].find(ends).map_or(text.len(), |end| scheme.len() + end);
        // A character that ends the sentence does not belong to the URL.
        let url = text[..length].trim_end_matches(['.', ':', '!', '?']);
        let authority = url.get(scheme.len()..).filter(|rest| !rest.is_empty())?;
        let host = authority.split(['/', '?']).next().unwrap_or_default();
        let more = if host.len() < authority.len() { "/…" } else { "" };
        let shown = format!("{scheme}{}{more}", pattern(host));
        Some(Self { bytes: url.len(), shown: shown.into(), is_word: true })
    }

    fn quoted(text: &'a str, quote: char) -> Option<Self> {
        let length = text[1..].find(quote)?;
        Some(Self { bytes: length + 2, shown: format!("{quote}…{quote}").into(), is_word: false })
    }

    fn word(text: &'a str) -> Self {
        if let Some(bytes) = uuid(text) {
            return Self { bytes, shown: VARIABLE.into(), is_word: true };
        }
        let bytes = text.find(|c: char| !c.is_alphanumeric()).unwrap_or(text.len());
        let word = &text[..bytes];
        Self { bytes, shown: if varies(word) { VARIABLE } else { word }.into(), is_word: true }
    }
}

/// The length of the UUID that the text begins with.
fn uuid(text: &str) -> Option<usize> {
    let mut rest = text;
    for (place, length) in UUID_GROUPS.into_iter().enumerate() {
        if place > 0 {
            rest = rest.strip_prefix('-')?;
        }
        let group = rest.get(..length)?;
        if !group.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        rest = &rest[length..];
    }
    let ended = !rest.starts_with(char::is_alphanumeric);
    ended.then_some(text.len() - rest.len())
}

fn varies(word: &str) -> bool {
    word.chars().any(char::is_numeric)
        || CALENDAR.contains(&word)
        || word.len() >= TOKEN_CHARS
        || (word.len() >= HEX_CHARS && word.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// A pattern as it grows, piece by piece.
#[derive(Default)]
struct Pattern {
    text: String,
    chars: usize,
    /// Where the last variable part ended, while only characters that join numbers have followed.
    joined: Option<usize>,
    last_is_word: bool,
}

impl Pattern {
    /// Adds a piece. Returns whether there was room.
    fn push(&mut self, shown: &str, is_word: bool) -> bool {
        if shown == VARIABLE {
            // `2026-05-01T12:00:00`, `1, 2, 3` and `-5` vary as a whole.
            match self.joined {
                Some(end) => self.text.truncate(end),
                None => self.drop_sign(),
            }
        }
        let again = (shown == " " && self.text.ends_with(' ')) || (shown == VARIABLE && self.joined.is_some());
        if !again {
            self.text.push_str(shown);
        }
        self.chars = self.text.chars().count();
        self.last_is_word = is_word;
        if self.chars > PATTERN_CHARS {
            self.text.truncate(self.text.len() - shown.len());
            return false;
        }
        if shown == VARIABLE {
            self.joined = Some(self.text.len());
        } else if !(shown.len() == 1 && " ,-.:_/+".contains(shown)) {
            self.joined = None;
        }
        true
    }

    /// Drops the sign of a number with the number. A hyphen after a word stays.
    fn drop_sign(&mut self) {
        let before = self.text.trim_end_matches(['-', '+']);
        if before.is_empty() || before.ends_with([' ', '(', '[', '=', ':']) {
            self.text.truncate(before.len());
        }
    }

    fn finish(mut self) -> String {
        self.text.truncate(self.text.trim_end().len());
        self.text
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_varies_is_taken_out_and_the_words_stay() {
        for (error, expected) in [
            ("", ""),
            ("it failed", "it failed"),
            ("https://shop.example/a/17?x=y answered 503: it failed", "https://shop.example/… answered #: it failed"),
            ("http://127.0.0.1:8081 answered 500: it failed", "http://# answered #: it failed"),
            ("no answer within 15s", "no answer within #"),
            ("order 3f2a9c1b-77d0-4e11-8a2b-aabbccddeeff is gone", "order # is gone"),
            ("order aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee is gone", "order # is gone"),
            ("hash deadbeefcafe differs", "hash # differs"),
            ("since 2026-05-01T12:00:00.123+02:00, -5 of [1, 2, 3]", "since # of [#]"),
            ("until Wed, 06 May 2026 10:00:00 GMT", "until # GMT"),
            ("no field \"qty\" in 'a b', can't go on", "no field \"…\" in '…', can't go on"),
            ("order-17 and order-b2", "order-# and order-#"),
            ("two\n\n lines\tof it ", "two lines of it"),
        ] {
            assert_eq!(pattern(error), expected, "{error}");
        }
    }

    #[test]
    fn a_hash_is_the_same_in_every_release() {
        assert_eq!(error_hash("it failed"), error_hash("it  failed"));
        assert_ne!(error_hash("it failed"), error_hash("it is refused"));
        assert_eq!(error_hash(""), "cbf29ce48422");
    }

    /// A text put together from pieces of errors.
    fn anything() -> impl Strategy<Value = String> {
        let part = prop_oneof![
            "[a-zA-Z]{1,12}",
            "[0-9a-f]{1,40}",
            "[ \"'`#….,:;/()+\\-]{1,3}",
            "https?://[a-z0-9.:/?#]{0,12}",
            "\\PC{0,8}",
            Just("Mon".to_owned()),
        ];
        proptest::collection::vec(part, 0..60).prop_map(|parts| parts.concat())
    }

    /// A variable part in two values that have the same cause.
    fn variable() -> impl Strategy<Value = (String, String)> {
        let pair = |regex: &'static str| (regex, regex).boxed();
        prop_oneof![
            pair("[0-9]{1,18}"),
            pair("-?[0-9]{1,6}\\.[0-9]{1,6}"),
            pair("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"),
            pair("[0-9a-f]{8,40}"),
            pair("20[0-9]{2}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-5][0-9]Z"),
            pair("\"[a-z0-9 ]{0,20}\""),
            pair("https://shop\\.example/[a-z0-9/]{1,20}(\\?[a-z]=[0-9]{1,3})?"),
        ]
    }

    proptest! {
        #[test]
        fn a_pattern_is_bounded_on_one_line_and_its_own_pattern(text in prop_oneof![anything(), any::<String>()]) {
            let once = pattern(&text);
            prop_assert!(once.chars().count() <= PATTERN_CHARS);
            prop_assert!(!once.contains(char::is_control));
            prop_assert_eq!(pattern(&once), once);
        }

        #[test]
        fn errors_that_differ_in_what_varies_only_have_one_fingerprint(
            words in proptest::collection::vec("[g-z]{2,8}", 1..5),
            varying in proptest::collection::vec(variable(), 1..4),
        ) {
            let said = |which: fn(&(String, String)) -> &String| {
                let parts = words.iter().zip(varying.iter().cycle());
                parts.flat_map(|(word, both)| [word, " ", which(both), " "]).collect::<String>()
            };
            let (one, other) = (said(|both| &both.0), said(|both| &both.1));
            prop_assert_eq!(pattern(&one), pattern(&other));
            prop_assert_eq!(error_hash(&one), error_hash(&other));
        }
    }
}
