//! What a bench has to say: figures, what each is held against, and whether that is good enough.

use std::fmt::Write;

use outbox_schema::Dialect;
use serde::Serialize;

use super::number::float;
use super::scenario::{Goal, Measure, Scenario};
use outbox_dispatcher::text::table;

/// All of a run.
#[derive(Debug, Serialize)]
pub struct Report {
    /// Of this program.
    pub version: &'static str,
    /// Which database.
    pub database: Dialect,
    /// `redis` or `table`.
    pub lease: &'static str,
    /// Cores that this machine lends to the bench.
    pub cores: usize,
    /// Whether the database is on this machine too.
    pub one_machine: bool,
    /// Messages in flight at most.
    pub in_flight: usize,
    /// How often each was measured; the figures are medians.
    pub rounds: usize,
    /// In the order that they were asked for.
    pub scenarios: Vec<Findings>,
}

/// All of one scenario.
#[derive(Debug, Serialize)]
pub struct Findings {
    /// Which.
    pub scenario: Scenario,
    /// Rows delivered in each round.
    pub rows: usize,
    /// What was found.
    pub figures: Vec<Figure>,
}

/// One thing that was measured.
#[derive(Debug, Serialize)]
pub struct Figure {
    /// What it is.
    pub name: String,
    /// How much. None where the system or the server does not tell.
    pub value: Option<f64>,
    /// In what.
    pub unit: Unit,
    /// What it is held against.
    pub beside: Option<Beside>,
    /// How much of that it is.
    pub ratio: Option<f64>,
    /// What the ratio (or, beside nothing, the value) is to be.
    pub goal: Option<Goal>,
    /// Whether it is.
    pub reached: Option<bool>,
    /// The figure of each round, where there is one.
    pub rounds: Vec<f64>,
}

/// What a figure is held against.
#[derive(Debug, Serialize)]
pub struct Beside {
    /// What it is.
    pub name: String,
    /// How much, in the unit of the figure.
    pub value: f64,
}

/// What a figure counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Of something, in a second.
    PerSecond,
    /// Time.
    Microseconds,
    /// Memory, or log.
    Bytes,
    /// Whatever the name says.
    Count,
}

impl Figure {
    /// A figure that stands for itself.
    pub(super) fn new(name: impl Into<String>, unit: Unit, value: impl Into<Option<f64>>) -> Self {
        let (name, value) = (name.into(), value.into());
        Self { name, value, unit, beside: None, ratio: None, goal: None, reached: None, rounds: Vec::new() }
    }

    /// Holds it against something.
    pub(super) fn beside(mut self, name: impl Into<String>, value: impl Into<Option<f64>>) -> Self {
        let (name, value) = (name.into(), value.into());
        self.ratio = self.value.zip(value).filter(|(_, beside)| *beside > 0.0).map(|(own, beside)| own / beside);
        self.beside = value.map(|value| Beside { name, value });
        self
    }

    /// Holds the ratio to a goal, where this database has one for it.
    pub(super) fn goal(mut self, measure: Measure, dialect: Dialect) -> Self {
        self.goal = measure.goal(dialect);
        let judged = if self.beside.is_some() { self.ratio } else { self.value };
        self.reached = self.goal.zip(judged).map(|(goal, ratio)| goal.is_reached(ratio));
        self
    }

    /// Says what each round had.
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
pub fn in_words(report: &Report) -> String {
    let database = match report.database {
        Dialect::Postgres => "PostgreSQL",
        Dialect::MySql => "MySQL or MariaDB",
        Dialect::Sqlite => "SQLite",
    };
    let place = if report.one_machine { "the database on this machine too" } else { "the database elsewhere" };
    let Report { lease, cores, in_flight, rounds, .. } = report;
    let mut text = format!(
        "{database}, lease: {lease}; {cores} cores, {place}; {in_flight} in flight; medians of {rounds} rounds.\n"
    );
    for findings in &report.scenarios {
        let rows: Vec<_> = findings.figures.iter().map(Figure::cells).collect();
        let about = match findings.rows {
            0 => String::new(),
            rows => format!(", {} rows", grouped(float(rows))),
        };
        let figures = table(["figure", "value", "beside", "ratio", "goal", "reached"], &rows);
        let _ = write!(text, "\n{}{about}\n{figures}", findings.scenario.name());
    }
    text
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
