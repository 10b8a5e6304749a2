//! The report of a bench: the figures, the reference of each, and whether each reaches its goal.

use outbox_store::Dialect;
use serde::Serialize;

use super::number::float;
use super::scenario::{Goal, Measure, Scenario};
use outbox_console::text::{Cell, Page};

/// The report of one run of the bench.
#[derive(Debug, Serialize)]
pub struct Report {
    /// The version of this program.
    pub version: &'static str,
    /// The kind of the database.
    pub database: Dialect,
    /// The lease store: `redis` or `table`.
    pub lease: &'static str,
    /// The number of cores that this machine lends to the bench.
    pub cores: usize,
    /// Whether the database is on this machine too.
    pub one_machine: bool,
    /// The most messages in flight.
    pub in_flight: usize,
    /// The number of rounds for each scenario. The figures are medians of the rounds.
    pub rounds: usize,
    /// The findings of the scenarios, in the order in which the operator named them.
    pub scenarios: Vec<Findings>,
}

/// The findings of one scenario.
#[derive(Debug, Serialize)]
pub struct Findings {
    /// The scenario.
    pub scenario: Scenario,
    /// The rows that were delivered in each round.
    pub rows: usize,
    /// The figures of the scenario.
    pub figures: Vec<Figure>,
}

/// One measured figure.
#[derive(Debug, Serialize)]
pub struct Figure {
    /// The name of the figure.
    pub name: String,
    /// The value. None where the system or the server does not report it.
    pub value: Option<f64>,
    /// The unit of the value.
    pub unit: Unit,
    /// The reference of the figure.
    pub beside: Option<Beside>,
    /// The value divided by the reference.
    pub ratio: Option<f64>,
    /// The goal for the ratio, or for the value where there is no reference.
    pub goal: Option<Goal>,
    /// Whether the figure reaches its goal.
    pub reached: Option<bool>,
    /// The figure of each round. Empty for a figure that has none.
    pub rounds: Vec<f64>,
}

/// The reference of a figure.
#[derive(Debug, Serialize)]
pub struct Beside {
    /// The name of the reference.
    pub name: String,
    /// The value of the reference, in the unit of the figure.
    pub value: f64,
}

/// The unit of a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// A number a second.
    PerSecond,
    /// A time in microseconds.
    Microseconds,
    /// An amount of memory or of log, in bytes.
    Bytes,
    /// A number of the things that the name of the figure says.
    Count,
}

impl Figure {
    /// A figure without a reference.
    pub(super) fn new(name: impl Into<String>, unit: Unit, value: impl Into<Option<f64>>) -> Self {
        let (name, value) = (name.into(), value.into());
        Self { name, value, unit, beside: None, ratio: None, goal: None, reached: None, rounds: Vec::new() }
    }

    /// Gives the figure a reference. Without a value there is no reference.
    pub(super) fn beside(mut self, name: impl Into<String>, value: impl Into<Option<f64>>) -> Self {
        let (name, value) = (name.into(), value.into());
        self.ratio = self.value.zip(value).filter(|(_, beside)| *beside > 0.0).map(|(own, beside)| own / beside);
        self.beside = value.map(|value| Beside { name, value });
        self
    }

    /// Gives the figure its goal, where this database has one, and judges the figure by it.
    pub(super) fn goal(mut self, measure: Measure, dialect: Dialect) -> Self {
        self.goal = measure.goal(dialect);
        let judged = if self.beside.is_some() { self.ratio } else { self.value };
        self.reached = self.goal.zip(judged).map(|(goal, ratio)| goal.is_reached(ratio));
        self
    }

    /// Gives the figure the figures of the rounds.
    pub(super) fn rounds(mut self, rounds: impl IntoIterator<Item = f64>) -> Self {
        self.rounds = rounds.into_iter().collect();
        self
    }

    fn cells(&self) -> [String; 6] {
        let ratio = |ratio: f64| if ratio < 0.1 { format!("{ratio:.4}") } else { format!("{ratio:.2}") };
        [
            self.name.clone(),
            self.value.map_or_else(|| "not told".to_owned(), |value| self.unit.words(value)),
            self.beside.as_ref().map(|b| format!("{} {}", b.name, self.unit.words(b.value))).unwrap_or_default(),
            self.ratio.map(ratio).unwrap_or_default(),
            match self.goal {
                Some(Goal::AtLeast(least)) => format!(">= {least}"),
                Some(Goal::AtMost(most)) => format!("<= {most}"),
                None => String::new(),
            },
            self.reached.map(|reached| if reached { "yes" } else { "no" }).unwrap_or_default().to_owned(),
        ]
    }
}

impl Unit {
    fn words(self, value: f64) -> String {
        match self {
            Self::PerSecond if value < 100.0 => format!("{value:.2}/s"),
            Self::PerSecond => format!("{}/s", grouped(value)),
            Self::Microseconds if value >= 10_000.0 => format!("{:.1} ms", value / 1e3),
            Self::Microseconds => format!("{value:.0} µs"),
            Self::Bytes if value >= 1_048_576.0 => format!("{:.1} MiB", value / 1_048_576.0),
            Self::Bytes => format!("{} B", grouped(value)),
            Self::Count if value.fract() == 0.0 => grouped(value),
            Self::Count => format!("{value:.4}"),
        }
    }
}

/// A whole number with a comma at each thousand.
fn grouped(value: f64) -> String {
    let digits = format!("{:.0}", value.abs());
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    if value < 0.0 { format!("-{text}") } else { text }
}

/// The report for people.
pub fn in_words(report: &Report) -> Page {
    let database = match report.database {
        Dialect::Postgres => "PostgreSQL",
        Dialect::MySql => "MySQL or MariaDB",
        Dialect::Sqlite => "SQLite",
    };
    let place = if report.one_machine { "the database on this machine too" } else { "the database elsewhere" };
    let Report { lease, cores, in_flight, rounds, .. } = report;
    let mut page = Page::default();
    page.line(format!(
        "{database}, lease: {lease}; {cores} cores, {place}; {in_flight} in flight; medians of {rounds} rounds."
    ));
    for findings in &report.scenarios {
        let about = match findings.rows {
            0 => String::new(),
            rows => format!(", {} rows", grouped(float(rows))),
        };
        page.blank();
        page.line(format!("{}{about}", findings.scenario.name()));
        let figures = findings.figures.iter().map(|figure| figure.cells().map(Cell::from));
        page.table(["figure", "value", "beside", "ratio", "goal", "reached"], figures);
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_is_judged_by_its_ratio() {
        let figure = Figure::new("R", Unit::PerSecond, 21_436.0)
            .beside("1/(1/H + 1/D)", 27_355.0)
            .goal(Measure::DrainOfComposed, Dialect::Postgres);
        assert_eq!(figure.cells(), ["R", "21,436/s", "1/(1/H + 1/D) 27,355/s", "0.78", ">= 0.85", "no"]);
    }

    #[test]
    fn a_figure_that_nobody_tells_is_not_judged() {
        let figure = Figure::new("CPU", Unit::Microseconds, None).beside("H and D", 3.0);
        assert_eq!(figure.cells(), ["CPU", "not told", "H and D 3 µs", "", "", ""]);
        let other = Figure::new("CPU", Unit::Microseconds, 3.0).beside("H and D", None);
        assert_eq!((other.ratio, other.beside.is_none()), (None, true));
    }

    #[test]
    fn a_database_without_a_goal_reaches_none() {
        let figure = Figure::new("R", Unit::PerSecond, 1.0).beside("D", 2.0);
        let figure = figure.goal(Measure::DrainOfComposed, Dialect::Sqlite);
        assert_eq!((figure.goal, figure.reached), (None, None));
    }

    #[test]
    fn thousands_are_grouped() {
        assert_eq!([0.4, 999.0, 1_000.0, 1_234_567.8].map(grouped), ["0", "999", "1,000", "1,234,568"]);
    }
}
