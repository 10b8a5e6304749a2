//! The difference between two texts, and JSON in lines so that a difference can be seen.

use similar::TextDiff;

/// The number of lines around a difference.
const CONTEXT: usize = 3;

/// How many times as long as a text its lines may be, and how much longer in any case.
const GROWTH: usize = 8;
const SOME: usize = 4096;

/// A unified diff. Empty where there is no difference.
pub(super) fn difference(before: &str, after: &str) -> String {
    if before == after {
        return String::new();
    }
    TextDiff::from_lines(before, after).unified_diff().context_radius(CONTEXT).header("before", "after").to_string()
}

/// JSON text with a line for each value. Only the space between values changes. Numbers stay as they are written, and
/// keys keep their order. Text of so many levels that the space would take most of the room stays as it is written.
pub fn indented(json: &str) -> String {
    let most = json.len() * GROWTH + SOME;
    let mut text = String::with_capacity(json.len());
    let (mut depth, mut in_text, mut escaped) = (0_usize, false, false);
    let mut characters = json.chars().peekable();
    while let Some(c) = characters.next() {
        if text.len() > most {
            return json.to_owned();
        }
        if in_text {
            text.push(c);
            in_text = escaped || c != '"';
            escaped = !escaped && c == '\\';
            continue;
        }
        match c {
            '"' => {
                in_text = true;
                text.push(c);
            }
            '{' | '[' => {
                text.push(c);
                while characters.next_if(char::is_ascii_whitespace).is_some() {}
                if let Some(close) = characters.next_if(|next| matches!(next, '}' | ']')) {
                    text.push(close);
                } else {
                    depth += 1;
                    break_line(&mut text, depth);
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                break_line(&mut text, depth);
                text.push(c);
            }
            ',' => {
                text.push(c);
                break_line(&mut text, depth);
            }
            ':' => text.push_str(": "),
            c if c.is_ascii_whitespace() => {}
            c => text.push(c),
        }
    }
    text
}

fn break_line(text: &mut String, depth: usize) {
    text.push('\n');
    text.extend(std::iter::repeat_n("  ", depth));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_put_in_lines_and_stays_as_it_is_written() {
        let json = r#"{"b":1.0,"a":[ ],"n": 12345678901234567890.10, "t":"a, {\"b\": c}\\", "o":{"x":null}}"#;
        let lines = "{\n  \"b\": 1.0,\n  \"a\": [],\n  \"n\": 12345678901234567890.10,\n  \
                     \"t\": \"a, {\\\"b\\\": c}\\\\\",\n  \"o\": {\n    \"x\": null\n  }\n}";
        assert_eq!(indented(json), lines);
        assert_eq!(indented(lines), lines);
        assert_eq!(indented("[[1],2]"), "[\n  [\n    1\n  ],\n  2\n]");
    }

    #[test]
    fn levels_without_end_take_no_room_without_end() {
        let nested = |levels: usize| ["[".repeat(levels), "]".repeat(levels)].concat();
        let many = format!("[{}1]", (nested(5_000) + ",").repeat(7));
        assert_eq!(indented(&many), many);
        assert_eq!(indented(&nested(30)).lines().count(), 2 * 30 - 1, "{}", indented(&nested(30)));
    }

    #[test]
    fn a_difference_is_shown_with_what_is_around_it_and_none_not_at_all() {
        let shown = difference("a\nb\nc\n", "a\nB\nc\n");
        assert!(shown.starts_with("--- before\n+++ after\n") && shown.contains("\n a\n-b\n+B\n c\n"), "{shown}");
        assert_eq!(difference("a\n", "a\n"), "");
    }
}
