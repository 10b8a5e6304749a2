//! Output for people: spans, pages, and text that is safe for a terminal; or JSON.

mod advance;
mod cell;
mod page;
mod screen;

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, Write as _};

use serde::Serialize;

pub use advance::{Advance, how_far};
pub use cell::{Cell, relative};
pub use page::{Keep, Page, clipped};
pub use screen::Screen;

/// Writes a page for people to standard output, its control characters [`visible`], and ends the line.
pub fn print(page: impl Into<Page>) -> io::Result<()> {
    print_as_it_is(&page.into().on(&Screen::of_stdout()))
}

/// Writes text that this program made itself, for another program. A reader that has gone away (`outbox … | head`) is
/// not an error.
pub fn print_as_it_is(text: &str) -> io::Result<()> {
    print_to_reader(text).map(drop)
}

/// The same for a command that prints without end. Gives whether its reader is still there.
pub fn print_to_reader(text: &str) -> io::Result<bool> {
    match writeln!(io::stdout().lock(), "{}", text.trim_end_matches('\n')) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        written => written.map(|()| true),
    }
}

/// Writes `value` as JSON, or in words.
pub fn print_as<T: Serialize + ?Sized, P: Into<Page>>(
    json: bool,
    value: &T,
    in_words: impl FnOnce(&T) -> P,
) -> anyhow::Result<()> {
    let written = if json { print_as_it_is(&serde_json::to_string_pretty(value)?) } else { print(in_words(value)) };
    Ok(written?)
}

/// Text whose control characters are written as `\u{1b}`, except line breaks. An application that may insert a row
/// decides what is shown here, and a terminal obeys control characters.
pub fn visible(text: &str) -> Cow<'_, str> {
    escaped(text, |c| is_deceiving(c) && c != '\n')
}

/// The same in one line: a value with a line break must not look like two values.
pub fn in_one_line(text: &str) -> Cow<'_, str> {
    escaped(text, is_deceiving)
}

/// Whether a terminal would obey this character, or show nothing in its place, or show its neighbours in another order: control
/// characters, separators of lines and paragraphs, marks of direction, and characters without a width.
/// <https://www.unicode.org/reports/tr36/#Bidirectional_Text_Spoofing>
pub(crate) fn is_deceiving(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{ad}'
                | '\u{61c}'
                | '\u{180e}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e007f}'
        )
}

fn escaped(text: &str, unfit: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&unfit) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if unfit(c) {
            shown.extend(c.escape_default());
        } else {
            shown.push(c);
        }
    }
    Cow::Owned(shown)
}

/// Writes an error with its causes to standard error.
pub fn error_line(error: &anyhow::Error) {
    warning(&with_causes(error));
}

/// An error and its causes, each in its own words, once.
pub fn with_causes(error: &anyhow::Error) -> String {
    let mut text = error.to_string();
    for cause in error.chain().skip(1) {
        let of_database = cause.downcast_ref();
        let words = of_database.map_or_else(|| cause.to_string(), outbox_schema::words::words);
        // Many errors repeat their cause in their own words.
        if !text.contains(&words) {
            let _ = write!(text, ": {words}");
        }
        // What its own cause says is in the words of the database.
        if of_database.is_some() {
            break;
        }
    }
    text
}

/// Writes a warning to standard error.
pub fn warning(text: &str) {
    let page = Page::from(format!("outbox: {text}"));
    let _ = write!(io::stderr().lock(), "{}", page.on(&Screen::of_stderr()));
}

/// The whole text up to `width` characters. A longer text is cut, and shows that it was.
pub fn shortened(text: &str, width: usize) -> String {
    let line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    if line.chars().count() <= width {
        return line;
    }
    line.chars().take(width.saturating_sub(1)).chain(['…']).collect()
}

/// A span of time as people say it: `850ms`, `12.3s`, `4m 10s`, `3h 2m`.
pub fn span(millis: i64) -> String {
    let seconds = millis / 1000;
    match millis {
        i64::MIN..1000 => format!("{millis}ms"),
        1000..60_000 => format!("{}.{}s", seconds, millis % 1000 / 100),
        60_000..3_600_000 => format!("{}m {}s", seconds / 60, seconds % 60),
        3_600_000..86_400_000 => format!("{}h {}m", seconds / 3600, seconds % 3600 / 60),
        86_400_000.. => format!("{}d {}h", seconds / 86_400, seconds % 86_400 / 3600),
    }
}

/// A number with a comma after each three digits from the right.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A time to the second. Fractions are of no use to people, and `--json` has them.
pub fn to_the_second(time: &str) -> String {
    match time.find('.') {
        Some(point) => {
            let zone = time[point + 1..].trim_start_matches(|c: char| c.is_ascii_digit());
            format!("{}{zone}", &time[..point])
        }
        None => time.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_control_character_but_a_line_break_reaches_a_terminal() {
        assert_eq!(visible("a\r\n\tb\x1b[2J\u{9b}2J\x7f\0"), "a\\r\n\\tb\\u{1b}[2J\\u{9b}2J\\u{7f}\\u{0}");
        assert_eq!(in_one_line("a\nb"), "a\\nb");
        // A mark of direction, a character without a width, a separator of lines.
        assert_eq!(visible("a\u{202e}b\u{200b}c\u{2028}d"), "a\\u{202e}b\\u{200b}c\\u{2028}d");
        let plain = "ünd \"quoted\" \\ …\n";
        assert!(matches!(visible(plain), Cow::Borrowed(same) if same == plain));
    }

    #[test]
    fn spans_are_written_in_the_unit_that_matters() {
        let spans = [850, 12_345, 250_000, 10_920_000, 90_000_000].map(span);
        assert_eq!(spans, ["850ms", "12.3s", "4m 10s", "3h 2m", "1d 1h"]);
    }

    #[test]
    fn a_long_text_is_cut_to_one_line() {
        assert_eq!(shortened("one\ntwo three", 8), "one two…");
    }
}
