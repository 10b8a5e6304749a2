//! Text that is safe for a terminal.

use std::borrow::Cow;

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
pub fn is_deceiving(c: char) -> bool {
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

/// The whole text up to `width` characters. A longer text is cut, and shows that it was.
pub fn shortened(text: &str, width: usize) -> String {
    let line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    if line.chars().count() <= width {
        return line;
    }
    line.chars().take(width.saturating_sub(1)).chain(['…']).collect()
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
    fn a_long_text_is_cut_to_one_line() {
        assert_eq!(shortened("one\ntwo three", 8), "one two…");
    }
}
