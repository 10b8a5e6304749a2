//! Of which destinations a schedule is to be told.

use std::collections::HashSet;

/// The destinations of which a schedule is to be told: something about them has changed since it was last told.
#[derive(Debug, Default)]
pub struct Stirred {
    /// The names of these destinations.
    pub names: HashSet<String>,
    /// Whether the schedule is to be told of all destinations.
    pub all: bool,
    /// Whether a schedule listens. Otherwise nothing is noted.
    pub(super) listens: bool,
}

impl Stirred {
    pub(super) fn note(&mut self, destination: &str) {
        if self.listens && !self.names.contains(destination) {
            self.names.insert(destination.to_owned());
        }
    }
}
