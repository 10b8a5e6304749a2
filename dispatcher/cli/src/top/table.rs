//! Tables of `outbox top`: as wide as the terminal, with numbers whole and texts clipped.

use outbox_console::text::{Keep, clipped, in_one_line};
use ratatui::Frame;
use ratatui::layout::{Alignment, Constraint, Rect};
use ratatui::style::{Style, Stylize as _};
use ratatui::text::Line;
use ratatui::widgets::{Block, Borders, Row, Table};

/// The lines of a table that are none of its rows: its title and its heading.
pub(super) const AROUND: u16 = 2;

/// The kind of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Column {
    /// A number, or the like: whole, and at the right.
    Number(&'static str),
    /// A short text, whole.
    Word(&'static str),
    /// A text that rows give: clipped, where the others leave no room. With its share of that room.
    Text(&'static str, u16),
}

impl Column {
    fn heading(self) -> &'static str {
        match self {
            Self::Number(heading) | Self::Word(heading) | Self::Text(heading, _) => heading,
        }
    }

    fn share(self) -> Option<u16> {
        match self {
            Self::Text(_, share) => Some(share),
            Self::Number(_) | Self::Word(_) => None,
        }
    }

    fn line(self, text: &str, width: u16) -> Line<'static> {
        let alignment = if matches!(self, Self::Number(_)) { Alignment::Right } else { Alignment::Left };
        fitting(text, width).alignment(alignment)
    }
}

/// A text of a stranger as one line of at most `width` columns.
pub(super) fn fitting(text: &str, width: u16) -> Line<'static> {
    Line::from(clipped(&in_one_line(text), width.into(), Keep::Beginning).into_owned())
}

/// Draws rows, each with its style, below a title. As many as fit. Where the terminal is too narrow, columns are left out: those of
/// `first_to_go`, by their place, come first.
pub(super) fn table<const N: usize>(
    frame: &mut Frame<'_>,
    area: Rect,
    title: &str,
    (columns, first_to_go): ([Column; N], &[usize]),
    rows: &[([String; N], Style)],
) {
    let rows = &rows[..rows.len().min(area.height.saturating_sub(AROUND).into())];
    let needed = needed(columns, rows);
    let shown = shown(area.width, columns, needed, first_to_go);
    let widths = widths(area.width, &shown, columns, needed);
    let line = |at: usize, text: &str, width: &u16| columns[at].line(text, *width);
    let heading = shown.iter().zip(&widths).map(|(at, width)| line(*at, columns[*at].heading(), width));
    let cells = |(texts, style): &([String; N], Style)| {
        let lines = shown.iter().zip(&widths).map(|(at, width)| line(*at, &texts[*at], width));
        Row::new(lines).style(*style)
    };
    let block = Block::new().borders(Borders::TOP).title(format!("{title} ").bold());
    let table = Table::new(rows.iter().map(cells), widths.iter().copied().map(Constraint::Length))
        .header(Row::new(heading).style(Style::new().dim()))
        .block(block);
    frame.render_widget(table, area);
}

/// The width that each column needs to show all its texts whole.
fn needed<const N: usize>(columns: [Column; N], rows: &[([String; N], Style)]) -> [u16; N] {
    std::array::from_fn(|at| {
        let texts = rows.iter().map(|(texts, _)| in_one_line(&texts[at]));
        length(texts.map(|text| Line::from(text).width()).fold(columns[at].heading().len(), usize::max))
    })
}

/// The places of the columns that a terminal of so many shows. A number that was cut would be another number, so its column is left
/// out instead. Texts stay: a text can be cut.
fn shown<const N: usize>(all: u16, columns: [Column; N], needed: [u16; N], first_to_go: &[usize]) -> Vec<usize> {
    let least =
        |at: &usize| if columns[*at].share().is_some() { length(columns[*at].heading().len()) } else { needed[*at] };
    let mut shown: Vec<usize> = (0..N).collect();
    let others = (0..N).rev().filter(|at| !first_to_go.contains(at));
    for goes in first_to_go.iter().copied().chain(others) {
        let gaps = length(shown.len().saturating_sub(1));
        if shown.iter().map(least).fold(gaps, u16::saturating_add) <= all {
            break;
        }
        if columns[goes].share().is_none() {
            shown.retain(|at| *at != goes);
        }
    }
    shown
}

/// The widths of the columns that are shown. Texts share what the others leave; none but the last takes more than it needs.
fn widths<const N: usize>(all: u16, shown: &[usize], columns: [Column; N], needed: [u16; N]) -> Vec<u16> {
    let mut widths: Vec<u16> = shown.iter().map(|at| needed[*at]).collect();
    let gaps = length(shown.len().saturating_sub(1));
    let whole = shown.iter().filter(|at| columns[**at].share().is_none()).map(|at| needed[*at]);
    let mut left = all.saturating_sub(gaps).saturating_sub(whole.fold(0, u16::saturating_add));
    let mut shares: u16 = shown.iter().filter_map(|at| columns[*at].share()).sum();
    for (at, width) in shown.iter().zip(&mut widths) {
        let Some(share) = columns[*at].share() else { continue };
        let heading = length(columns[*at].heading().len());
        let most = if share == shares { left } else { (left / shares * share).max(heading) };
        *width = if share == shares { most } else { most.min(*width) };
        left = left.saturating_sub(*width);
        shares -= share;
    }
    widths
}

/// So many lines or columns, as far as a terminal counts.
pub(super) fn length(many: usize) -> u16 {
    u16::try_from(many).unwrap_or(u16::MAX)
}
