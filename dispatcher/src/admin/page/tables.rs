//! Tables. What stands over a column of numbers stands at its right, as they do.

use maud::{Markup, PreEscaped, html};

/// A table. It is as wide as it must be, and scrolls by itself on a narrow screen.
pub(super) fn table<'a>(
    name: &str,
    heading: impl IntoIterator<Item = &'a str>,
    rows: impl IntoIterator<Item = Markup>,
) -> Markup {
    let rows: Vec<Markup> = rows.into_iter().collect();
    html! {
        div.table role="region" aria-label=(name) tabindex="0" {
            table {
                thead { tr { (head(heading, rows.first())) } }
                tbody { @for row in &rows { tr { (row) } } }
            }
        }
    }
}

/// A table of few rows and long texts. On a narrow screen its cells stand one below the other, each beside its heading.
pub(super) fn stacked<'a>(
    name: &str,
    heading: impl IntoIterator<Item = &'a str>,
    rows: impl IntoIterator<Item = Markup>,
) -> Markup {
    let heading: Vec<&str> = heading.into_iter().collect();
    let rows: Vec<Markup> = rows.into_iter().collect();
    html! {
        div.table.stacked role="region" aria-label=(name) tabindex="0" {
            table {
                thead { tr { (head(heading.iter().copied(), rows.first())) } }
                tbody { @for row in &rows { tr { (labelled(row, &heading)) } } }
            }
        }
    }
}

/// The headings of columns, whose first row is this one.
pub(super) fn head<'a>(heading: impl IntoIterator<Item = &'a str>, first: Option<&Markup>) -> Markup {
    let numbers: Vec<bool> = first.map(|row| cells(&row.0).map(is_number).collect()).unwrap_or_default();
    html! {
        @for (place, word) in heading.into_iter().enumerate() {
            th class=[numbers.get(place).is_some_and(|is| *is).then_some("number")] scope="col" { (word) }
        }
    }
}

/// What follows the beginning of each cell of a row. A text of the database begins none: it is escaped.
fn cells(row: &str) -> impl Iterator<Item = &str> {
    row.split("<t").skip(1).filter(|rest| rest.starts_with(['d', 'h']))
}

/// What a heading says before it explains itself.
fn short(heading: &str) -> &str {
    heading.split(':').next().unwrap_or_default()
}

fn is_number(cell: &str) -> bool {
    cell.split('>').next().is_some_and(|tag| tag.contains("class=\"number\""))
}

/// A row whose cells say the heading of their column.
fn labelled(row: &Markup, heading: &[&str]) -> Markup {
    let (mut labelled, mut column) = (String::with_capacity(row.0.len() * 2), 0);
    for (place, part) in row.0.split("<t").enumerate() {
        let begins = if place > 0 { "<t" } else { "" };
        if place > 0 && part.starts_with(['d', 'h']) {
            let (kind, rest) = part.split_at(1);
            let label = html! { (short(heading.get(column).copied().unwrap_or_default())) };
            labelled.extend([begins, kind, " data-label=\"", &label.0, "\"", rest]);
            column += 1;
        } else {
            labelled.extend([begins, part]);
        }
    }
    PreEscaped(labelled)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row() -> Markup {
        html! { th.whole scope="row" { "<td>" } td { time { "now" } } td.number { "7" } }
    }

    #[test]
    fn the_heading_of_numbers_stands_where_they_do() {
        let shown = table("Some", ["Id", "When", "Many"], [row()]).into_string();
        assert!(shown.contains("<th scope=\"col\">Id</th><th scope=\"col\">When</th>"), "{shown}");
        assert!(shown.contains("<th class=\"number\" scope=\"col\">Many</th>"), "{shown}");
        assert!(table("None", ["Many"], []).into_string().contains("<th scope=\"col\">Many</th>"));
    }

    #[test]
    fn each_cell_of_a_stacked_table_says_its_heading_and_a_text_is_no_cell() {
        let shown = stacked("Some", ["Id", "W\"hen: lately", "Many"], [row()]).into_string();
        let cells = "<th data-label=\"Id\" class=\"whole\" scope=\"row\">&lt;td&gt;</th><td data-label=\"W&quot;hen\"><time>now</time></td>\
                     <td data-label=\"Many\" class=\"number\">7</td>";
        assert!(shown.contains(cells), "{shown}");
    }
}
