//! Pieces of sentences.

use std::fmt::Display;

use crate::text::to_the_second;

/// A time to the second, where it is known.
pub(super) fn known(time: Option<&String>) -> String {
    time.map_or_else(|| "an unknown time".to_owned(), |time| to_the_second(time))
}

/// A value with its words before it, and without a full stop of its own; nothing where there is none.
pub(super) fn said<T: Display>(before: &str, value: Option<&T>) -> String {
    value.map_or_else(String::new, |value| format!("{before}{}", value.to_string().trim_end_matches('.')))
}
