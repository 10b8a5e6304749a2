//! What the commands write: text for people, or JSON.

use std::fmt::Write as _;
use std::io::{self, Write as _};

use serde::Serialize;

/// Writes `text` and ends the line. A reader that has gone away (`outbox … | head`) is not an error.
pub(crate) fn print(text: &str) -> io::Result<()> {
    match writeln!(io::stdout().lock(), "{}", text.trim_end_matches('\n')) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}

/// Writes `value` as JSON, or in words.
pub(crate) fn print_as<T: Serialize + ?Sized>(
    json: bool,
    value: &T,
    in_words: impl FnOnce(&T) -> String,
) -> anyhow::Result<()> {
    let text = if json { serde_json::to_string_pretty(value)? } else { in_words(value) };
    Ok(print(&text)?)
}

/// Writes an error with its causes to standard error.
pub(crate) fn error_line(error: &anyhow::Error) {
    let mut text = error.to_string();
    for cause in error.chain().skip(1) {
        let cause = cause.to_string();
        // Many errors repeat their cause in their own words.
        if !text.contains(&cause) {
            let _ = write!(text, ": {cause}");
        }
    }
    let _ = writeln!(io::stderr().lock(), "outbox: {text}");
}

/// Writes a warning to standard error.
pub(crate) fn warning(text: &str) {
    let _ = writeln!(io::stderr().lock(), "outbox: {text}");
}

/// Rows as a table with aligned columns, under a heading.
pub(crate) fn table<const N: usize>(heading: [&str; N], rows: &[[String; N]]) -> String {
    let mut widths = heading.map(|word| word.chars().count());
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let mut text = String::new();
    for row in std::iter::once(&heading.map(str::to_owned)).chain(rows) {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(widths) {
            let _ = write!(line, "{cell:width$}  ");
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// Whole text up to `width` characters; a longer one is cut and says so.
pub(crate) fn shortened(text: &str, width: usize) -> String {
    let line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    if line.chars().count() <= width {
        return line;
    }
    line.chars().take(width.saturating_sub(1)).chain(['…']).collect()
}

/// A span of time as people say it: `850ms`, `12.3s`, `4m 10s`, `3h 2m`.
pub(crate) fn span(millis: i64) -> String {
    let seconds = millis / 1000;
    match millis {
        i64::MIN..1000 => format!("{millis}ms"),
        1000..60_000 => format!("{}.{}s", seconds, millis % 1000 / 100),
        60_000..3_600_000 => format!("{}m {}s", seconds / 60, seconds % 60),
        3_600_000..86_400_000 => format!("{}h {}m", seconds / 3600, seconds % 3600 / 60),
        86_400_000.. => format!("{}d {}h", seconds / 86_400, seconds % 86_400 / 3600),
    }
}

/// A time to the second: fractions tell people nothing, and `--json` has them.
pub(crate) fn to_the_second(time: &str) -> String {
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
    fn columns_are_as_wide_as_their_widest_cell() {
        let text =
            table(["id", "reason"], &[["1".to_owned(), "permanent".to_owned()], ["23".to_owned(), String::new()]]);
        assert_eq!(text, "id  reason\n1   permanent\n23\n");
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
