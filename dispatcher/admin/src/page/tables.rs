//! Tables. What stands over a column of numbers stands at its right, as they do.

use maud::{Markup, Render, html};

/// What a cell holds. The style sheet lays it out by that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// Words, between which a line may break.
    Words,
    /// A number.
    Number,
    /// A word or a number that no line breaks.
    Whole,
    /// A name of any length.
    Name,
    /// A key of any length, cut where there is no room.
    Key,
    /// What a customer knows of a message.
    Label,
    /// The target or the destination of messages.
    Target,
    /// A text of any length.
    Long,
    /// The cause of dead letters.
    Cause,
    /// An example of a cause.
    Example,
}

impl Shape {
    /// The class of the cell in the style sheet.
    fn class(self) -> Option<&'static str> {
        match self {
            Self::Words => None,
            Self::Number => Some("number"),
            Self::Whole => Some("whole"),
            Self::Name => Some("name"),
            Self::Key => Some("key"),
            Self::Label => Some("label"),
            Self::Target => Some("target"),
            Self::Long => Some("long"),
            Self::Cause => Some("cause"),
            Self::Example => Some("example"),
        }
    }
}

/// Where there is nothing to say.
pub(super) fn nothing() -> Markup {
    html! { span.none { "–" } }
}

#[derive(Debug)]
struct Cell {
    shape: Shape,
    /// What is said where somebody points at it.
    title: Option<String>,
    content: Markup,
    /// Whether the row has nothing to say here.
    is_empty: bool,
}

/// A row: its cells, in the order of the columns. The first one is what the others are about.
#[derive(Debug)]
pub(super) struct Row(Vec<Cell>);

impl Row {
    /// A row about this.
    pub(super) fn of(content: impl Render) -> Self {
        Self::of_shape(Shape::Words, content)
    }

    pub(super) fn of_shape(shape: Shape, content: impl Render) -> Self {
        Self(Vec::new()).shaped(shape, content)
    }

    /// A cell of words.
    pub(super) fn cell(self, content: impl Render) -> Self {
        self.shaped(Shape::Words, content)
    }

    pub(super) fn number(self, content: impl Render) -> Self {
        self.shaped(Shape::Number, content)
    }

    pub(super) fn shaped(mut self, shape: Shape, content: impl Render) -> Self {
        self.0.push(Cell { shape, title: None, content: content.render(), is_empty: false });
        self
    }

    /// A cell of a column that `filled` leaves out where no row has anything in it.
    pub(super) fn seldom(mut self, shape: Shape, content: Option<impl Render>) -> Self {
        let is_empty = content.is_none();
        let content = html! { @if let Some(content) = content { (content) } @else { (nothing()) } };
        self.0.push(Cell { shape, title: None, content, is_empty });
        self
    }

    /// Says more of the last cell where somebody points at it.
    pub(super) fn titled(mut self, title: &str) -> Self {
        if let Some(cell) = self.0.last_mut() {
            cell.title = Some(title.to_owned());
        }
        self
    }

    /// The cells. Where they may stand one below the other, each says the heading of its column.
    pub(super) fn cells(&self, labels: Option<&[&str]>) -> Markup {
        let label = |column: usize| labels?.get(column).map(|heading| short(heading));
        html! {
            @for (column, Cell { shape, title, content, is_empty: _ }) in self.0.iter().enumerate() {
                @if column == 0 {
                    th data-label=[label(column)] class=[shape.class()] title=[title] scope="row" { (content) }
                } @else {
                    td data-label=[label(column)] class=[shape.class()] title=[title] { (content) }
                }
            }
        }
    }

    fn has_number(&self, column: usize) -> bool {
        self.0.get(column).is_some_and(|cell| cell.shape == Shape::Number)
    }
}

/// A table. It is as wide as it must be, and scrolls by itself on a narrow screen.
pub(super) fn table<'a>(
    name: &str,
    heading: impl IntoIterator<Item = &'a str>,
    rows: impl IntoIterator<Item = Row>,
) -> Markup {
    let heading: Vec<&str> = heading.into_iter().collect();
    drawn("table", name, &heading, None, rows)
}

/// A table of few rows and long texts. On a narrow screen its cells stand one below the other, each beside its heading.
pub(super) fn stacked<'a>(
    name: &str,
    heading: impl IntoIterator<Item = &'a str>,
    rows: impl IntoIterator<Item = Row>,
) -> Markup {
    let heading: Vec<&str> = heading.into_iter().collect();
    drawn("table stacked", name, &heading, Some(&heading), rows)
}

fn drawn(
    class: &str,
    name: &str,
    heading: &[&str],
    labels: Option<&[&str]>,
    rows: impl IntoIterator<Item = Row>,
) -> Markup {
    let rows: Vec<Row> = rows.into_iter().collect();
    html! {
        div class=(class) role="region" aria-label=(name) tabindex="0" {
            table {
                thead { tr { (head(heading.iter().copied(), rows.first())) } }
                tbody { @for row in &rows { tr { (row.cells(labels)) } } }
            }
        }
    }
}

/// Leaves out the columns in which no row has anything to say.
pub(super) fn filled<'a, const N: usize>(heading: [&'a str; N], rows: &mut [Row]) -> Vec<&'a str> {
    let is_filled = |column: usize| rows.iter().any(|row| row.0.get(column).is_some_and(|cell| !cell.is_empty));
    let kept = (0..N).map(|column| rows.is_empty() || is_filled(column)).collect::<Vec<_>>();
    for row in rows {
        let mut column = kept.iter();
        row.0.retain(|_| column.next().copied().unwrap_or(true));
    }
    heading.into_iter().zip(kept).filter_map(|(word, kept)| kept.then_some(word)).collect()
}

/// The headings of columns, whose first row is this one.
pub(super) fn head<'a>(heading: impl IntoIterator<Item = &'a str>, first: Option<&Row>) -> Markup {
    let is_number = |column| first.is_some_and(|row| row.has_number(column));
    html! {
        @for (column, word) in heading.into_iter().enumerate() {
            th class=[is_number(column).then_some("number")] scope="col" { (word) }
        }
    }
}

/// What a heading says before it explains itself.
fn short(heading: &str) -> &str {
    heading.split(':').next().unwrap_or_default()
}

/// The messages of a page.
pub(super) const PAGE: u32 = 50;

#[cfg(test)]
mod tests {
    use super::*;

    fn row() -> Row {
        Row::of_shape(Shape::Whole, "<td>").cell(html! { time { "now" } }).titled("a \"moment\"").number(7)
    }

    #[test]
    fn a_column_in_which_no_row_has_anything_is_left_out() {
        let some =
            |key: Option<&str>, tag: Option<&str>| Row::of("1").seldom(Shape::Name, key).seldom(Shape::Words, tag);
        let mut rows = [some(None, None), some(None, Some("order=1"))];
        assert_eq!(filled(["Id", "Key", "Tags"], &mut rows), ["Id", "Tags"]);
        assert!(rows.iter().all(|row| row.0.len() == 2));
        assert_eq!(filled(["Id", "Key", "Tags"], &mut []), ["Id", "Key", "Tags"]);
    }

    #[test]
    fn the_heading_of_numbers_stands_where_they_do() {
        let shown = table("Some", ["Id", "When", "Many"], [row()]).into_string();
        assert!(shown.contains("<th scope=\"col\">Id</th><th scope=\"col\">When</th>"), "{shown}");
        assert!(shown.contains("<th class=\"number\" scope=\"col\">Many</th>"), "{shown}");
        assert!(table("None", ["Many"], []).into_string().contains("<th scope=\"col\">Many</th>"));
    }

    #[test]
    fn each_cell_of_a_stacked_table_says_its_heading() {
        let shown = stacked("Some", ["Id", "W\"hen: lately", "Many"], [row()]).into_string();
        let cells = "<th data-label=\"Id\" class=\"whole\" scope=\"row\">&lt;td&gt;</th>\
                     <td data-label=\"W&quot;hen\" title=\"a &quot;moment&quot;\"><time>now</time></td>\
                     <td data-label=\"Many\" class=\"number\">7</td>";
        assert!(shown.contains(cells), "{shown}");
    }
}
