//! Tables of `outbox top`: as wide as the terminal, with numbers whole and texts clipped.

use outbox_dispatcher::text::{Keep, clipped, in_one_line};
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

/// Draws rows, each with its style, below a title. As many as fit.
pub(super) fn table<const N: usize>(
    frame: &mut Frame<'_>,
    area: Rect,
    title: &str,
    columns: [Column; N],
    rows: &[([String; N], Style)],
) {
    let rows = &rows[..rows.len().min(area.height.saturating_sub(AROUND).into())];
    let widths = widths(area.width, columns, rows);
    let heading = columns.iter().zip(widths).map(|(column, width)| column.line(column.heading(), width));
    let cells = |(texts, style): &([String; N], Style)| {
        let lines = columns.iter().zip(texts).zip(widths).map(|((column, text), width)| column.line(text, width));
        Row::new(lines).style(*style)
    };
    let block = Block::new().borders(Borders::TOP).title(format!("{title} ").bold());
    let table = Table::new(rows.iter().map(cells), widths.map(Constraint::Length))
        .header(Row::new(heading).style(Style::new().dim()))
        .block(block);
    frame.render_widget(table, area);
}

/// The widths of columns on a terminal of so many. Texts share what the others leave; none but the last takes more than it needs.
fn widths<const N: usize>(all: u16, columns: [Column; N], rows: &[([String; N], Style)]) -> [u16; N] {
    let mut widths = std::array::from_fn(|at| {
        let texts = rows.iter().map(|(texts, _)| in_one_line(&texts[at]));
        let widest = texts.map(|text| Line::from(text).width()).fold(columns[at].heading().len(), usize::max);
        length(widest)
    });
    let gaps = length(N.saturating_sub(1));
    let whole = columns.iter().zip(widths).filter(|(column, _)| column.share().is_none()).map(|(_, width)| width);
    let mut left = all.saturating_sub(gaps).saturating_sub(whole.fold(0, u16::saturating_add));
    let mut shares: u16 = columns.iter().filter_map(|column| column.share()).sum();
    for (column, width) in columns.iter().zip(&mut widths) {
        let Some(share) = column.share() else { continue };
        let most = if share == shares { left } else { (left / shares * share).max(length(column.heading().len())) };
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
