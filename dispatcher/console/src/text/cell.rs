//! A cell of a table, or a value in a line: what it says, what a terminal may do with it, and its colour.

use std::borrow::Cow;
use std::time::SystemTime;

use outbox_schema::Tags;

use super::{Screen, in_one_line, to_the_second};

/// A value that is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cell {
    text: String,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A text, which may be clipped.
    Text,
    /// A name, which may be clipped at its beginning: those of the pods of a Deployment begin alike.
    Name,
    /// A number or a name that people copy: never clipped.
    Whole,
    /// A time. A terminal says how long ago it was.
    Time,
    /// A word of a state, with a colour.
    State,
}

/// The colours of states.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Colour {
    Red,
    Yellow,
    Green,
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self { text, kind: Kind::Text }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl Cell {
    /// A number, an id, or a name that people copy.
    #[expect(clippy::needless_pass_by_value, reason = "numbers are given as they are")]
    pub fn whole(text: impl ToString) -> Self {
        Self { text: text.to_string(), kind: Kind::Whole }
    }

    /// The name of a replica.
    pub fn name(text: impl Into<String>) -> Self {
        Self { text: text.into(), kind: Kind::Name }
    }

    /// A time of RFC 3339. A pipe gets it as it is given.
    pub fn time(text: impl Into<String>) -> Self {
        Self { text: text.into(), kind: Kind::Time }
    }

    /// A word such as `DEAD` or `ok`, and what follows it.
    pub fn state(text: impl Into<String>) -> Self {
        Self { text: text.into(), kind: Kind::State }
    }

    /// Tags, as a filter takes them. What is no tag is shown as it is written.
    pub fn tags(column: Option<&str>) -> Self {
        let column = column.unwrap_or_default();
        serde_json::from_str::<Tags>(column).map_or_else(|_| column.to_owned(), |tags| tags.to_string()).into()
    }

    /// Whether there is nothing in it.
    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// The text for a screen, without colours and in one line.
    pub(super) fn shown(&self, screen: &Screen) -> Cow<'_, str> {
        match self.kind {
            Kind::Time if screen.columns.is_some() => Cow::Owned(relative(&self.text, screen.now)),
            Kind::Text | Kind::Name | Kind::Whole | Kind::Time | Kind::State => in_one_line(&self.text),
        }
    }

    pub(super) fn may_be_clipped(&self) -> bool {
        match self.kind {
            Kind::Text | Kind::Name | Kind::State => true,
            Kind::Whole | Kind::Time => false,
        }
    }

    /// Whether its end is more telling than its beginning.
    pub(super) fn keeps_its_end(&self) -> bool {
        self.kind == Kind::Name
    }

    /// `shown` with the colour of the state, where the screen has colours.
    pub(super) fn coloured(&self, shown: &str, screen: &Screen) -> String {
        match (self.kind, screen.coloured) {
            (Kind::State, true) => in_colour(shown, colour(&self.text)),
            (Kind::State | Kind::Text | Kind::Name | Kind::Whole | Kind::Time, _) => shown.to_owned(),
        }
    }
}

/// The colour of a state, by its first word.
fn colour(state: &str) -> Option<Colour> {
    let word = state.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    match word.to_ascii_lowercase().as_str() {
        "dead" | "failed" | "nobody" | "breaker" | "refused" | "permanent" | "exhausted" => Some(Colour::Red),
        "warning" | "open" | "silent" | "paused" | "unknown" | "asked" | "rows" | "expired" | "in" | "cancelled" => {
            Some(Colour::Yellow)
        }
        "ok" | "success" | "delivered" => Some(Colour::Green),
        _ => None,
    }
}

fn in_colour(text: &str, colour: Option<Colour>) -> String {
    let number = match colour {
        None => return text.to_owned(),
        Some(Colour::Red) => 31,
        Some(Colour::Yellow) => 33,
        Some(Colour::Green) => 32,
    };
    format!("\u{1b}[{number}m{text}\u{1b}[0m")
}

/// A time as the span from it, or to it: `17 min ago`. Fewer than ten hours or days have their minutes or hours too. A time that
/// cannot be read, and one long ago, are shown as they are. What waits until somebody acts is due in a hundred years.
pub fn relative(time: &str, now: SystemTime) -> String {
    const LONG_AGO: u64 = 60 * 86_400;
    const YEAR: u64 = 365 * 86_400;
    let Ok(then) = humantime::parse_rfc3339(time) else { return in_one_line(&to_the_second(time)).into_owned() };
    let (seconds, past) = match now.duration_since(then) {
        Ok(ago) => (ago.as_secs(), true),
        Err(ahead) => (ahead.duration().as_secs(), false),
    };
    let length = match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min", seconds / 60),
        3_600..86_400 => two_units((seconds / 3_600, "h"), (seconds % 3_600 / 60, "min")),
        86_400..LONG_AGO => two_units((seconds / 86_400, "d"), (seconds % 86_400 / 3_600, "h")),
        seconds if !past && seconds >= 10 * YEAR => format!("{} y", seconds / YEAR),
        LONG_AGO.. => return to_the_second(time),
    };
    if past { format!("{length} ago") } else { format!("in {length}") }
}

/// A length in its first unit, and what is over it where that tells something.
fn two_units((many, unit): (u64, &str), (over, lesser): (u64, &str)) -> String {
    if many < 10 && over > 0 { format!("{many} {unit} {over} {lesser}") } else { format!("{many} {unit}") }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_terminal_is_told_how_long_ago_a_time_was() {
        let now = humantime::parse_rfc3339("2026-05-01T14:00:00Z").unwrap();
        for (time, said) in [
            ("2026-05-01T13:59:30.123456Z", "29 s ago"),
            ("2026-05-01T13:42:10Z", "17 min ago"),
            ("2026-05-01T09:00:00Z", "5 h ago"),
            ("2026-05-01T12:00:30Z", "1 h 59 min ago"),
            ("2026-05-01T02:30:00Z", "11 h ago"),
            ("2026-05-03T13:00:00Z", "in 1 d 23 h"),
            ("2026-04-28T14:00:00Z", "3 d ago"),
            ("2026-05-01T14:05:00Z", "in 5 min"),
            ("2025-05-01T14:05:00.5Z", "2025-05-01T14:05:00Z"),
            ("2026-09-01T14:05:00Z", "2026-09-01T14:05:00Z"),
            ("2126-05-01T14:05:00Z", "in 100 y"),
            ("-", "-"),
        ] {
            assert_eq!(relative(time, now), said);
        }
    }
}
