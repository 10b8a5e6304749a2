//! A page of output for people: prose, facts and tables. A terminal gets it as wide as it is: prose wrapped between words, and
//! columns of text clipped. A pipe gets it whole.

use std::borrow::Cow;
use std::fmt::Write as _;

use textwrap::{Options, WordSeparator, WordSplitter, WrapAlgorithm};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::{Cell, Screen, in_one_line, visible};

/// The space between two columns.
const GAP: usize = 2;

/// The room that a last column of text needs beside the others. With less it gets lines of its own.
const READABLE: usize = 32;

/// The room in which a column of text tells one row from another.
const TELLING: usize = 16;

/// How far these lines are in.
const BELOW: usize = 4;

/// The last line of a page with a table that is wider than the screen.
const LEFT_OUT: &str = "columns are cut or left out: a wider terminal or --json shows them";

/// What a command prints.
#[derive(Debug, Default)]
pub struct Page {
    parts: Vec<Part>,
}

#[derive(Debug)]
enum Part {
    /// A line of prose. The lines after the first are `hang` columns further in.
    Prose { text: String, hang: usize },
    /// A line that begins with a name or a time, in a column of its own, and a value.
    Fact { name: Cell, column: usize, value: Cell },
    Table {
        heading: Vec<String>,
        rows: Vec<Vec<Cell>>,
        last: Last,
        /// The columns that a narrow screen leaves out, the first first.
        spare: Vec<usize>,
    },
    /// Text for programs too, such as settings: never wrapped.
    AsItIs(String),
}

/// What happens to a last column that is too wide.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Last {
    Clipped,
    /// In lines of its own, below the row.
    Below,
    Wrapped,
}

/// Each line of a text is a line of prose.
impl From<String> for Page {
    fn from(text: String) -> Self {
        let mut page = Self::default();
        text.strip_suffix('\n').unwrap_or(&text).split('\n').for_each(|line| page.line(line));
        page
    }
}

impl From<&str> for Page {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl Page {
    /// Adds a line of prose. It hangs below its own first letter.
    pub fn line(&mut self, text: impl Into<String>) {
        let text = text.into();
        let indent = text.len() - text.trim_start_matches(' ').len();
        let hang = if text[indent..].starts_with("- ") { indent + 2 } else { indent };
        self.parts.push(Part::Prose { text, hang });
    }

    /// Adds an empty line.
    pub fn blank(&mut self) {
        self.line("");
    }

    /// Adds a value behind its name. The names of a page are `column` wide.
    pub fn fact(&mut self, name: impl Into<Cell>, column: usize, value: impl Into<Cell>) {
        self.parts.push(Part::Fact { name: name.into(), column, value: value.into() });
    }

    /// Adds rows with aligned columns, under a heading. A terminal clips columns that are too wide for it. Where its last column, such
    /// as the error, has no room to be read, it follows below each row.
    pub fn table<const N: usize>(&mut self, heading: [&str; N], rows: impl IntoIterator<Item = [Cell; N]>) {
        self.any_table(heading, rows, Last::Clipped);
    }

    /// The same without the columns in which no row has anything. A screen that has no room to tell one row from another leaves out
    /// those that are `spare`, the first first.
    pub fn filled<const N: usize>(&mut self, heading: [&str; N], rows: Vec<[Cell; N]>, spare: &[&str]) {
        let kept: [bool; N] = std::array::from_fn(|column| rows.iter().any(|row| !row[column].is_empty()));
        let of =
            |cells: Vec<Cell>| cells.into_iter().zip(kept).filter_map(|(cell, kept)| kept.then_some(cell)).collect();
        let heading: Vec<_> =
            heading.into_iter().zip(kept).filter(|(_, kept)| *kept).map(|(word, _)| word.to_owned()).collect();
        let rows = rows.into_iter().map(|row| of(Vec::from(row))).collect();
        let spare = spare.iter().filter_map(|word| heading.iter().position(|name| name == word)).collect();
        self.parts.push(Part::Table { heading, rows, last: Last::Clipped, spare });
    }

    /// Adds rows whose last column is prose: a terminal wraps it.
    pub fn findings<const N: usize>(&mut self, heading: [&str; N], rows: impl IntoIterator<Item = [Cell; N]>) {
        self.any_table(heading, rows, Last::Wrapped);
    }

    fn any_table<const N: usize>(&mut self, heading: [&str; N], rows: impl IntoIterator<Item = [Cell; N]>, last: Last) {
        let rows = rows.into_iter().map(Vec::from).collect();
        self.parts.push(Part::Table { heading: heading.map(str::to_owned).into(), rows, last, spare: Vec::new() });
    }

    /// Adds text that other programs read too, such as settings. It is never wrapped.
    pub fn as_it_is(text: impl Into<String>) -> Self {
        Self { parts: vec![Part::AsItIs(text.into())] }
    }

    /// Adds all that another page has.
    pub fn append(&mut self, other: Self) {
        self.parts.extend(other.parts);
    }

    /// The text for a screen. Control characters are visible in it, other than those of colours.
    pub fn on(&self, screen: &Screen) -> String {
        let (mut text, mut left_out) = (String::new(), false);
        for part in &self.parts {
            match part {
                Part::Prose { text: line, hang } => wrapped(&mut text, &visible(line), *hang, screen),
                Part::Fact { name, column, value } => fact(&mut text, (name, *column), value, screen),
                Part::Table { heading, rows, last, spare } => {
                    let without = too_many(heading, rows, spare, screen);
                    left_out |= !without.is_empty();
                    let kept = |at: &usize| !without.contains(at);
                    let heading: Vec<_> = (0..heading.len()).filter(kept).map(|at| heading[at].clone()).collect();
                    let of_row = |row: &Vec<Cell>| (0..row.len()).filter(kept).map(|at| row[at].clone()).collect();
                    let rows: Vec<Vec<Cell>> = rows.iter().map(of_row).collect();
                    left_out |= table(&mut text, &heading, &rows, *last, screen);
                }
                Part::AsItIs(written) => text.push_str(&visible(written)),
            }
        }
        if left_out {
            wrapped(&mut text, LEFT_OUT, 0, screen);
        }
        text
    }
}

/// Writes a line, and where it is wider than the screen, several.
fn wrapped(into: &mut String, line: &str, hang: usize, screen: &Screen) {
    let Some(columns) = screen.columns.filter(|columns| line.width() > *columns) else {
        into.push_str(line);
        into.push('\n');
        return;
    };
    // On a narrow screen a deep indent would leave no room for words.
    let indent = " ".repeat(hang.min(columns / 2));
    let options = Options::new(columns)
        .subsequent_indent(&indent)
        .word_separator(WordSeparator::AsciiSpace)
        .word_splitter(WordSplitter::NoHyphenation)
        .wrap_algorithm(WrapAlgorithm::FirstFit);
    for line in textwrap::wrap(line, options) {
        into.push_str(&line);
        into.push('\n');
    }
}

fn fact(into: &mut String, (name, column): (&Cell, usize), value: &Cell, screen: &Screen) {
    let shown = value.shown(screen);
    let line = format!("{:<column$} {shown}", name.shown(screen));
    if screen.coloured && screen.columns.is_none_or(|columns| line.width() <= columns) {
        let _ = writeln!(into, "{:<column$} {}", name.shown(screen), value.coloured(&shown, screen));
    } else {
        wrapped(into, &line, column + 1, screen);
    }
}

/// Which of the spare columns a screen leaves out, so that each of the others has room for what tells rows apart. The last column may
/// stand below its row.
fn too_many(heading: &[String], rows: &[Vec<Cell>], spare: &[usize], screen: &Screen) -> Vec<usize> {
    let Some(columns) = screen.columns else { return Vec::new() };
    let needs = |at: usize| {
        let widest = rows.iter().map(|row| width(&row[at].shown(screen), screen)).max().unwrap_or(0);
        match rows.iter().all(|row| row[at].may_be_clipped()) {
            true if at + 1 == heading.len() => 0,
            true => widest.min(TELLING).max(width(&heading[at], screen)),
            false => widest.max(width(&heading[at], screen)),
        }
    };
    let needed: Vec<_> = (0..heading.len()).map(needs).collect();
    let fits = |without: &[usize]| {
        let kept: Vec<_> = (0..needed.len()).filter(|at| !without.contains(at)).map(|at| needed[at]).collect();
        wide(&kept) <= columns
    };
    (0..=spare.len()).map(|most| &spare[..most]).find(|without| fits(without)).unwrap_or(spare).to_vec()
}

/// Writes a table. Gives whether the screen has no room for all of its columns.
fn table(into: &mut String, heading: &[String], rows: &[Vec<Cell>], last: Last, screen: &Screen) -> bool {
    let shown: Vec<Vec<Cow<'_, str>>> =
        rows.iter().map(|row| row.iter().map(|cell| cell.shown(screen)).collect()).collect();
    let mut widths: Vec<_> = heading.iter().map(|word| width(word, screen)).collect();
    for row in &shown {
        for (width_so_far, cell) in widths.iter_mut().zip(row) {
            *width_so_far = (*width_so_far).max(width(cell, screen));
        }
    }
    let prose = widths.len().saturating_sub(1);
    let before = widths[..prose].iter().map(|width| width + GAP).sum::<usize>();
    let mut last = last;
    if let Some(columns) = screen.columns.filter(|_| last == Last::Clipped) {
        // The narrowest that each column becomes.
        let narrowest = |at: usize| {
            let may_be_clipped = rows.iter().all(|row| row[at].may_be_clipped());
            if may_be_clipped { width(&heading[at], screen) } else { widths[at] }
        };
        let floors: Vec<_> = (0..heading.len()).map(narrowest).collect();
        let natural = widths.clone();
        fit(&mut widths, &floors, columns);
        if prose > 0 && widths[prose] < natural[prose].min(READABLE) {
            last = Last::Below;
            widths = natural;
            fit(&mut widths[..prose], &floors[..prose], columns);
        }
    }
    let heading: Vec<_> = heading.iter().map(|word| in_one_line(word)).collect();
    let beside = if last == Last::Below { prose } else { heading.len() };
    let left_out = last != Last::Wrapped && screen.columns.is_some_and(|columns| wide(&widths[..beside]) > columns);
    into.push_str(&row(&heading[..beside], None, &widths, screen));
    for (cells, shown) in rows.iter().zip(&shown) {
        match last {
            Last::Clipped => into.push_str(&row(shown, Some(cells), &widths, screen)),
            Last::Below => {
                into.push_str(&row(&shown[..prose], Some(cells), &widths, screen));
                if !matches!(&*shown[prose], "" | "-") {
                    wrapped(into, &format!("{:BELOW$}{}", "", shown[prose]), BELOW, screen);
                }
            }
            Last::Wrapped => {
                let coloured = row(&shown[..prose], Some(cells), &widths, screen);
                let plain = row(&shown[..prose], None, &widths, screen);
                let line = format!("{:<before$}{}", plain.trim_end(), shown[prose]);
                let mut lines = String::new();
                wrapped(&mut lines, &line, before, screen);
                into.push_str(&lines.replacen(plain.trim_end(), coloured.trim_end(), 1));
            }
        }
    }
    left_out
}

fn row(shown: &[Cow<'_, str>], cells: Option<&[Cell]>, widths: &[usize], screen: &Screen) -> String {
    let (mut line, mut used, mut pending) = (String::new(), 0, 0);
    for (at, (text, column)) in shown.iter().zip(widths).enumerate() {
        // Columns that cannot be clipped may be wider than a very narrow screen.
        let room = screen.columns.map_or(usize::MAX, |columns| columns.saturating_sub(used + pending));
        let keep = match cells {
            Some(cells) if cells[at].keeps_its_end() => Keep::End,
            _ => Keep::Beginning,
        };
        let text =
            if screen.columns.is_some() { clipped(text, (*column).min(room), keep) } else { Cow::Borrowed(&**text) };
        let taken = width(&text, screen);
        if taken > 0 {
            line.extend(std::iter::repeat_n(' ', pending));
            line.push_str(&cells.map_or_else(|| text.to_string(), |cells| cells[at].coloured(&text, screen)));
            used += pending + taken;
            pending = 0;
        }
        pending += column.saturating_sub(taken) + GAP;
    }
    line.truncate(line.trim_end().len());
    line.push('\n');
    line
}

/// Takes width from the widest column that is above its floor, the last of several, until all columns fit.
fn fit(widths: &mut [usize], floors: &[usize], columns: usize) {
    while wide(widths) > columns {
        let widest = (0..widths.len()).filter(|at| widths[*at] > floors[*at]).max_by_key(|at| widths[*at]);
        let Some(widest) = widest else { return };
        widths[widest] -= 1;
    }
}

/// Columns that a row takes.
fn wide(widths: &[usize]) -> usize {
    widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1)
}

/// Columns that a text takes. For a pipe each character counts as one.
fn width(text: &str, screen: &Screen) -> usize {
    if screen.columns.is_some() { text.width() } else { text.chars().count() }
}

/// What stays of a text that is too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// Its beginning.
    Beginning,
    /// Its end, as of names that begin alike.
    End,
}

/// What of a text fits into `width` columns, with a mark where something was left out.
pub fn clipped(text: &str, width: usize, keep: Keep) -> Cow<'_, str> {
    if text.width() <= width {
        return Cow::Borrowed(text);
    }
    if width == 0 {
        return Cow::Borrowed("");
    }
    let mut taken = 1;
    let mut fits = |c: &char| {
        taken += c.width().unwrap_or_default();
        taken <= width
    };
    Cow::Owned(match keep {
        Keep::Beginning => format!("{}…", text.chars().take_while(&mut fits).collect::<String>()),
        Keep::End => {
            let bytes: usize = text.chars().rev().take_while(&mut fits).map(char::len_utf8).sum();
            format!("…{}", &text[text.len() - bytes..])
        }
    })
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    fn terminal(columns: usize) -> Screen {
        Screen { columns: Some(columns), coloured: false, now: SystemTime::now() }
    }

    fn of_rows<const N: usize>(heading: [&str; N], rows: impl IntoIterator<Item = [Cell; N]>) -> Page {
        let mut page = Page::default();
        page.table(heading, rows);
        page
    }

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let page = of_rows(["id", "reason"], [["1".into(), "permanent".into()], ["23".into(), "".into()]]);
        assert_eq!(page.on(&Screen::none()), "id  reason\n1   permanent\n23\n");
    }

    #[test]
    fn control_characters_of_a_cell_are_shown_and_the_columns_stay_aligned() {
        let page = of_rows(["target", "n"], ["a\x1b]0;x\x07", "b\nc"].map(|text| [text.into(), "1".into()]));
        let text = "target            n\na\\u{1b}]0;x\\u{7}  1\nb\\nc              1\n";
        assert_eq!(page.on(&Screen::none()), text);
        assert_eq!(page.on(&terminal(80)), text);
    }

    #[test]
    fn a_terminal_gets_the_widest_texts_clipped_and_numbers_whole() {
        let row = [Cell::whole("123456789012"), "it said 日本語 no".into(), Cell::whole("17"), "-".into()];
        let page = of_rows(["ID", "TARGET", "N", "ERROR"], [row]);
        let text = page.on(&terminal(36));
        assert_eq!(text, "ID            TARGET       N   ERROR\n123456789012  it said 日…  17  -\n");
        assert!(text.lines().all(|line| line.width() <= 36));
        assert!(page.on(&terminal(20)).lines().all(|line| line.width() <= 20));
    }

    #[test]
    fn a_terminal_without_room_for_all_columns_is_told_so_once_and_a_pipe_never() {
        let table = || {
            let row = [Cell::whole("123456789012"), Cell::state("PENDING"), Cell::whole("1234567"), "-".into()];
            of_rows(["ID", "STATUS", "N", "ERROR"], [row])
        };
        let mut page = table();
        page.append(table());
        let said = [terminal(24), terminal(80), Screen::none()].map(|screen| {
            let words = page.on(&screen).split_whitespace().collect::<Vec<_>>().join(" ");
            words.matches("columns are cut or left out: a wider terminal or --json shows them").count()
        });
        assert_eq!(said, [1, 0, 0]);
    }

    #[test]
    fn an_error_that_has_no_room_beside_its_row_follows_below_it_whole() {
        let row = |id: u8, error: &str| {
            [Cell::whole(id), "http://shop.example/hooks/orders".into(), Cell::state("PENDING"), error.into()]
        };
        let error = "the name of https://shop.example cannot be resolved";
        let page = of_rows(["ID", "TARGET", "STATUS", "ERROR"], [row(1, error), row(2, ""), row(3, "-")]);
        let narrow = "ID  TARGET                       STATUS\n\
                      1   http://shop.example/hooks/…  PENDING\n    the name of https://shop.example\n    cannot be \
                      resolved\n\
                      2   http://shop.example/hooks/…  PENDING\n\
                      3   http://shop.example/hooks/…  PENDING\n";
        assert_eq!(page.on(&terminal(40)), narrow);
        assert!(page.on(&terminal(120)).contains(&format!("PENDING  {error}\n")), "there is room");
        assert!(
            page.on(&terminal(90)).contains("PENDING  the name of https://shop.example cannot be…\n"),
            "enough to be read"
        );
    }

    #[test]
    fn a_narrow_terminal_leaves_out_what_can_be_spared_before_it_cuts_what_tells_rows_apart() {
        let row = [Cell::whole(7), "order-4711-confirmation".into(), Cell::time("-"), Cell::whole(3), "".into()];
        let heading = ["ID", "KEY", "CREATED", "ATTEMPTS", "ERROR"];
        let mut page = Page::default();
        page.filled(heading, vec![row], &["CREATED", "ATTEMPTS"]);
        let headed = |columns| page.on(&terminal(columns)).lines().next().unwrap_or_default().to_owned();
        assert_eq!(headed(80), "ID  KEY                      CREATED  ATTEMPTS");
        assert_eq!(headed(30), "ID  KEY               ATTEMPTS");
        assert!(page.on(&terminal(30)).contains("7   order-4711-conf…  3\n"), "{}", page.on(&terminal(30)));
        assert!(page.on(&Screen::none()).contains("CREATED"), "a pipe gets all");
    }

    #[test]
    fn the_name_of_a_pod_is_clipped_at_its_beginning_which_others_share() {
        let pods =
            ["outbox-7d9c6bf5b4-x2x7k", "outbox-7d9c6bf5b4-日w9q"].map(|pod| [Cell::name(pod), Cell::whole("follows")]);
        let page = of_rows(["INSTANCE", "ROLE"], pods);
        assert_eq!(page.on(&terminal(20)), "INSTANCE     ROLE\n…f5b4-x2x7k  follows\n…f5b4-日w9q  follows\n");
    }

    #[test]
    fn prose_is_wrapped_between_words_and_hangs_below_its_first_letter() {
        let page = Page::from("  - one two three four five".to_owned());
        assert_eq!(page.on(&terminal(20)), "  - one two three\n    four five\n");
        assert_eq!(page.on(&Screen::none()), "  - one two three four five\n");
        let mut page = Page::default();
        page.fact("last error", 10, "one two three");
        assert_eq!(page.on(&terminal(22)), "last error one two\n           three\n");
    }

    #[test]
    fn only_a_state_has_a_colour_and_only_where_it_is_wanted() {
        let page = of_rows(["S", "T"], [[Cell::state("DEAD (permanent)"), "DEAD".into()]]);
        let coloured = page.on(&Screen { coloured: true, ..terminal(80) });
        assert_eq!(coloured, "S                 T\n\u{1b}[31mDEAD (permanent)\u{1b}[0m  DEAD\n");
        assert!(!page.on(&terminal(80)).contains('\u{1b}'));
    }
}
