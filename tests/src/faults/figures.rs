//! Figures of a scenario: shown by `--nocapture`, and by a soak.

use std::collections::BTreeMap;
use std::fmt::{self, Write};
use std::time::Duration;

/// Measurements by name, over all runs of a scenario.
#[derive(Debug, Default)]
pub struct Figures {
    times: BTreeMap<String, Vec<Duration>>,
    counts: BTreeMap<String, Vec<usize>>,
}

impl Figures {
    /// Notes a time. What it is, and the bound on it if there is one, is its name.
    pub fn time(&mut self, what: impl Into<String>, time: Duration) {
        self.times.entry(what.into()).or_default().push(time);
    }

    /// Notes a number.
    pub fn count(&mut self, what: impl Into<String>, count: usize) {
        self.counts.entry(what.into()).or_default().push(count);
    }
}

impl fmt::Display for Figures {
    /// A line each: least, median, most, and of how many.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut lines = String::new();
        for (what, times) in &self.times {
            let [min, median, max] = spread(times).map(|time| format!("{:.3} s", time.as_secs_f64()));
            writeln!(lines, "  {what}: {min} min, {median} median, {max} max of {}", times.len())?;
        }
        for (what, counts) in &self.counts {
            let [min, median, max] = spread(counts);
            let (all, of) = (counts.iter().sum::<usize>(), counts.len());
            writeln!(lines, "  {what}: {min} min, {median} median, {max} max of {of}; {all} in all")?;
        }
        f.write_str(&lines)
    }
}

fn spread<T: Ord + Copy>(values: &[T]) -> [T; 3] {
    let mut values = values.to_vec();
    values.sort_unstable();
    [values[0], values[values.len() / 2], values[values.len() - 1]]
}
