//! Writes to a terminal, or to another program.

use std::fmt::Write as _;
use std::io::{self, Write as _};

use serde::Serialize;

use super::page::Page;
use super::screen::Screen;

/// Writes a page for people to standard output, its control characters [`visible`](super::visible()), and ends the line.
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
