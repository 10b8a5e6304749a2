//! How far something long is, on standard error. A terminal shows a bar and words, which are written over; a pipe gets a line now
//! and then.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use super::{Screen, grouped, shortened, span};

/// How often a line goes to a pipe.
const EACH: Duration = Duration::from_secs(2);

/// How often a terminal shows how far it is.
const EACH_ON_TERMINAL: Duration = Duration::from_millis(500);

/// The width of a terminal that does not say how wide it is.
const COLUMNS: usize = 80;

/// The fewest and the most cells of a bar. Without room for the fewest there is no bar.
const FEWEST: usize = 8;
const MOST: usize = 30;

/// How far something is, on standard error, now and then. Nothing of it stays on a terminal.
///
/// The bar is not that of the crate `indicatif`: a pipe gets the same words, and beside those and when to say them a bar is ten
/// lines.
#[derive(Debug)]
pub struct Advance {
    began: Instant,
    said: Instant,
    /// `enqueued`, behind the numbers.
    done: &'static str,
    place: Place,
    /// Whether the last line stands on the terminal, and is written over.
    shown: bool,
}

/// Where it is said how far something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Terminal(Bar),
    Pipe,
    /// A pipe that wants no such lines.
    Nowhere,
}

/// The characters of a bar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bar {
    /// `█████░░░`
    Blocks,
    /// `[#####...]`, for a terminal that may not read UTF-8.
    Ascii,
}

impl Advance {
    /// The report of something that begins now.
    pub fn new(done: &'static str) -> Self {
        Self::at(Place::of_stderr(), done)
    }

    /// The same, for a terminal alone: a pipe gets nothing of it.
    pub fn on_terminal(done: &'static str) -> Self {
        let place = match Place::of_stderr() {
            Place::Pipe | Place::Nowhere => Place::Nowhere,
            terminal @ Place::Terminal(_) => terminal,
        };
        Self::at(place, done)
    }

    fn at(place: Place, done: &'static str) -> Self {
        let now = Instant::now();
        Self { began: now, said: now, done, place, shown: false }
    }

    /// Takes the time from now: what came before was no part of it.
    pub fn begin_anew(&mut self) {
        self.began = Instant::now();
    }

    /// Says how far it is, unless that was said just now.
    pub fn tell(&mut self, come_to: u64, of: Option<u64>) {
        self.tell_as(self.done, come_to, of);
    }

    /// The same in another word.
    pub fn tell_as(&mut self, done: &str, come_to: u64, of: Option<u64>) {
        if self.said.elapsed() >= self.each() {
            self.say(of.map(|of| (come_to, of)), &how_far(come_to, of, done, self.began.elapsed()));
        }
    }

    /// The time between two lines of the report.
    pub fn each(&self) -> Duration {
        match self.place {
            Place::Terminal(_) => EACH_ON_TERMINAL,
            Place::Pipe | Place::Nowhere => EACH,
        }
    }

    /// Whether the words are shown on a terminal, where they may change often.
    pub fn is_on_terminal(&self) -> bool {
        matches!(self.place, Place::Terminal(_))
    }

    /// Says a line, behind the bar of a share where one is known. A failure to report progress does not matter.
    pub fn say(&mut self, share: Option<(u64, u64)>, words: &str) {
        self.said = Instant::now();
        let _ = match self.place {
            Place::Terminal(bar) => {
                self.shown = true;
                let columns = Screen::of_stderr().columns.unwrap_or(COLUMNS);
                // In one piece, so that nothing flickers.
                io::stderr().write_all(format!("\r\u{1b}[K{}", bar.line(share, words, columns)).as_bytes())
            }
            Place::Pipe => writeln!(io::stderr(), "{words}"),
            Place::Nowhere => Ok(()),
        };
    }

    /// Takes the last line away.
    pub fn clear(&mut self) {
        if std::mem::take(&mut self.shown) {
            let _ = write!(io::stderr(), "\r\u{1b}[K");
        }
    }
}

/// Whatever is written next begins on a line of its own.
impl Drop for Advance {
    fn drop(&mut self) {
        self.clear();
    }
}

impl Place {
    fn of_stderr() -> Self {
        if io::stderr().is_terminal() {
            Self::Terminal(Bar::of_locale(|name| std::env::var(name).ok()))
        } else {
            Self::Pipe
        }
    }
}

impl Bar {
    /// Blocks where the locale is one of UTF-8. The first variable that is set decides:
    /// <https://pubs.opengroup.org/onlinepubs/9799919799/basedefs/V1_chap08.html#tag_08_02>.
    fn of_locale(variable: impl Fn(&str) -> Option<String>) -> Self {
        let set = |name| variable(name).filter(|value| !value.is_empty());
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(set).unwrap_or_default().to_lowercase();
        if locale.contains("utf-8") || locale.contains("utf8") { Self::Blocks } else { Self::Ascii }
    }

    /// The bar and the words, in less than the columns: a terminal may go on in the next line behind its last column.
    fn line(self, share: Option<(u64, u64)>, words: &str, columns: usize) -> String {
        let room = columns.saturating_sub(1);
        let cells = room.saturating_sub(words.chars().count() + 1 + self.ends()).min(MOST);
        match share {
            Some((come_to, of)) if cells >= FEWEST => format!("{} {words}", self.text(come_to, of, cells)),
            Some(_) | None => shortened(words, room),
        }
    }

    /// The columns of its two ends.
    fn ends(self) -> usize {
        match self {
            Self::Blocks => 0,
            Self::Ascii => 2,
        }
    }

    fn text(self, come_to: u64, of: u64, cells: usize) -> String {
        let of = of.max(1);
        let full = u128::from(come_to.min(of)) * cells as u128 / u128::from(of);
        let full = usize::try_from(full).unwrap_or(cells);
        let left = cells - full;
        match self {
            Self::Blocks => "█".repeat(full) + &"░".repeat(left),
            Self::Ascii => format!("[{}{}]", "#".repeat(full), ".".repeat(left)),
        }
    }
}

/// How far something is, with its rate, and the time left where its end is known.
pub fn how_far(come_to: u64, of: Option<u64>, done: &str, since: Duration) -> String {
    let millis = since.as_millis().max(1);
    let rate = u128::from(come_to) * 1_000 / millis;
    let mut text = grouped(come_to);
    if let Some(of) = of {
        text = format!("{text} of {}", grouped(of));
    }
    text = format!("{text} {done}");
    // A rate of less than a moment says nothing.
    if millis >= 1_000 {
        text = format!("{text}, {rate}/s");
    }
    if let Some(left) = of
        .filter(|of| come_to < *of)
        .map(|of| u128::from(of.saturating_sub(come_to)) * millis / u128::from(come_to.max(1)))
    {
        text = format!("{text}, {} left", span(i64::try_from(left).unwrap_or(i64::MAX)));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_far_a_change_is_comes_with_its_rate_and_the_time_left() {
        let ten_seconds = Duration::from_secs(10);
        assert_eq!(
            how_far(5_000, Some(20_000), "redriven", ten_seconds),
            "5,000 of 20,000 redriven, 500/s, 30.0s left"
        );
        assert_eq!(how_far(5_000, None, "removed", ten_seconds), "5,000 removed, 500/s");
    }

    #[test]
    fn a_bar_stands_before_the_words_where_the_total_is_known() {
        let words = "5,000 of 20,000 redriven";
        let share = Some((5_000, 20_000));
        assert_eq!(Bar::Ascii.line(share, words, 47), format!("[####{}] {words}", ".".repeat(15)));
        assert_eq!(Bar::Blocks.line(share, words, 42), format!("████{} {words}", "░".repeat(12)));
        assert_eq!(Bar::Ascii.line(None, "5,000 removed", 80), "5,000 removed");
    }

    #[test]
    fn a_bar_is_full_at_the_end_and_beyond_it_and_empty_at_the_beginning() {
        let text = |come_to, of| Bar::Ascii.text(come_to, of, 8);
        assert_eq!([text(0, 9), text(9, 9), text(10, 9)], ["[........]", "[########]", "[########]"]);
        assert_eq!([text(8, 9), text(0, 0), text(u64::MAX, u64::MAX)], ["[#######.]", "[........]", "[########]"]);
    }

    #[test]
    fn no_line_is_as_wide_as_its_terminal() {
        let long = how_far(1_234_567, Some(12_345_678), "gone through", Duration::from_secs(100));
        for columns in 20..=132 {
            for bar in [Bar::Blocks, Bar::Ascii] {
                for words in ["a word", &long] {
                    let line = bar.line(Some((1, 10)), words, columns);
                    assert!(line.chars().count() < columns, "{columns}: {line}");
                }
            }
        }
        let line = Bar::Ascii.line(Some((1, 10)), &long, 80);
        assert!(line.starts_with("[#") && line.ends_with(" left"), "{line}");
    }

    #[test]
    fn a_locale_of_utf_8_gets_blocks_and_any_other_plain_characters() {
        let of = |set: &[(&str, &str)]| {
            Bar::of_locale(|name| set.iter().find(|(set, _)| *set == name).map(|(_, value)| (*value).to_owned()))
        };
        assert_eq!(of(&[("LANG", "en_GB.UTF-8")]), Bar::Blocks);
        assert_eq!(of(&[("LC_ALL", ""), ("LC_CTYPE", "C.utf8"), ("LANG", "C")]), Bar::Blocks);
        assert_eq!(of(&[("LC_ALL", "C"), ("LANG", "en_GB.UTF-8")]), Bar::Ascii);
        assert_eq!(of(&[]), Bar::Ascii);
    }
}
