//! The plan of a bench: its scenarios, and how much of each.

use crate::number;
use crate::scenario::Scenario;

/// The scenarios, and how much of each.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The scenarios, in the order in which they are measured.
    pub scenarios: Vec<Scenario>,
    /// The number of rounds for each scenario.
    pub rounds: usize,
    /// The rows to deliver in a round. None: the number that the scenario names.
    pub rows: Option<usize>,
    /// The factor for the rows and the time that a scenario takes.
    pub scale: f64,
    /// The most messages in flight.
    pub in_flight: usize,
}

impl Plan {
    /// The rows to deliver in a round of `scenario`.
    pub(super) fn rows(&self, scenario: Scenario) -> usize {
        self.rows.unwrap_or_else(|| self.scaled(scenario.rows()))
    }

    /// `whole`, a number of other rows or of replicas, multiplied by the scale. A number above zero never becomes zero.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive, and far below the limits")]
    pub(super) fn scaled(&self, whole: usize) -> usize {
        (number::float(whole) * self.scale).ceil() as usize
    }
}
