//! Figures of a scenario, shown by `--nocapture` and by a soak, and the bounds that they are held to.

use std::collections::BTreeMap;
use std::fmt::{self, Write};
use std::time::Duration;

use outbox_dispatcher::poller::claim::SETTLING_MARGIN;

use crate::invariants::Report;

/// As many say something of a machine that is only late now and then.
const ENOUGH: usize = 5;

/// Measurements by name, over all runs of a scenario.
#[derive(Debug, Default)]
pub struct Figures {
    times: BTreeMap<String, Vec<Duration>>,
    counts: BTreeMap<String, Vec<usize>>,
    bounds: BTreeMap<String, Duration>,
    /// How long the machine stood still in the last run.
    stood_still: Duration,
    /// Whether a run left in doubt what only such a machine does.
    void: bool,
}

impl Figures {
    /// Notes a time. What it is, and the bound on it if there is one, is its name.
    pub fn time(&mut self, what: impl Into<String>, time: Duration) {
        self.times.entry(what.into()).or_default().push(time);
    }

    /// Notes a time, and asserts that it is within its bound, to which the lateness of the machine is added.
    pub fn within(&mut self, what: &str, time: Duration, bound: Duration, lateness: Duration) {
        let allowed = bound + self.allowed(lateness);
        assert!(time <= allowed, "{what}: {time:?}; {allowed:?} is allowed");
        self.time(what, time);
    }

    /// The same, and [`Self::assert_medians`] will add nothing.
    pub fn bounded(&mut self, what: &str, time: Duration, bound: Duration, lateness: Duration) {
        self.within(what, time, bound, lateness);
        self.bounds.insert(what.to_owned(), bound);
    }

    /// Notes what is added to a bound because the machine is late.
    pub fn allowed(&mut self, lateness: Duration) -> Duration {
        self.time("allowed for the machine, beyond a bound", lateness);
        lateness
    }

    /// Notes how long the machine stood still in a run, before its report is judged.
    pub fn stood_still(&mut self, time: Duration) {
        self.stood_still = time;
    }

    /// Asserts that no message was accepted twice, unless the run says nothing.
    pub fn assert_no_duplicates(&mut self, report: &Report) {
        if report.is_without_duplicates() || !self.is_void() {
            assert!(report.is_without_duplicates(), "{:?}", report.twice);
        }
    }

    /// Asserts that no message was accepted twice, and that none was ever in doubt, unless the run says nothing.
    pub fn assert_nothing_in_doubt(&mut self, report: &Report) {
        if (report.is_without_duplicates() && report.in_doubt.is_empty()) || !self.is_void() {
            report.assert_nothing_in_doubt();
        }
    }

    /// Whether the machine stood still for so long that the marks of a poller came after its successor had settled its claims: a
    /// fault of its own. The scenario is then run again, since its own fault was not tried.
    fn is_void(&mut self) -> bool {
        let is_void = self.stood_still > SETTLING_MARGIN;
        self.void |= is_void;
        is_void
    }

    /// Whether a run since the last call said nothing.
    pub(super) fn take_void(&mut self) -> bool {
        std::mem::take(&mut self.void)
    }

    /// Asserts that the median of what has a bound is within it, whatever the machine was allowed: where it is late with
    /// everything, one time in two is not.
    ///
    /// # Panics
    /// Where a median of enough times is above its bound.
    pub fn assert_medians(&self) {
        for (what, bound) in &self.bounds {
            let times = &self.times[what];
            let [_, median, _] = spread(times);
            assert!(times.len() < ENOUGH || median <= *bound, "{what}: {median:?} is the median of {times:?}");
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::AttemptRow;

    const BOUND: Duration = Duration::from_millis(200);

    /// So many times, each of which is allowed.
    fn late(times: usize, by: Duration) -> Figures {
        let mut figures = Figures::default();
        for _ in 0..times {
            figures.bounded("late", BOUND + by, BOUND, by);
        }
        figures
    }

    #[test]
    fn a_median_within_its_bound_passes_whatever_the_latest() {
        let mut figures = late(ENOUGH, Duration::from_secs(1));
        for _ in 0..=ENOUGH {
            figures.bounded("late", BOUND, BOUND, Duration::ZERO);
        }
        figures.assert_medians();
        late(ENOUGH - 1, Duration::from_secs(1)).assert_medians();
    }

    #[test]
    #[should_panic(expected = "late: 201ms is the median of")]
    fn a_median_above_its_bound_is_convicted_whatever_the_machine_was_allowed() {
        late(ENOUGH, Duration::from_millis(1)).assert_medians();
    }

    #[test]
    #[should_panic(expected = "late: 202ms; 201ms is allowed")]
    fn a_time_above_what_is_allowed_is_convicted_by_itself() {
        Figures::default().bounded("late", Duration::from_millis(202), BOUND, Duration::from_millis(1));
    }

    /// A run that delivered a message twice while the machine stood still for so long.
    fn judged(stood_still: Duration) -> Figures {
        let attempt = AttemptRow {
            message_id: 1,
            epoch: 1,
            holder: "a.1".to_owned(),
            outcome: "in_doubt".to_owned(),
            settled: 1,
        };
        let report = Report {
            messages: BTreeMap::new(),
            twice: BTreeMap::from([("twice".to_owned(), vec![attempt.clone()])]),
            repeats: 1,
            in_doubt: vec![attempt],
            terms: Vec::new(),
        };
        let mut figures = Figures::default();
        figures.stood_still(stood_still);
        figures.assert_no_duplicates(&report);
        figures.assert_nothing_in_doubt(&report);
        figures
    }

    #[test]
    fn a_run_with_a_duplicate_is_made_again_where_the_machine_stood_still_for_longer_than_marks_may_take() {
        let mut figures = judged(SETTLING_MARGIN * 2);
        assert!(figures.take_void());
        assert!(!figures.take_void(), "the next run may say something");
    }

    #[test]
    #[should_panic(expected = "twice")]
    fn a_duplicate_is_convicted_where_the_machine_merely_was_late() {
        judged(SETTLING_MARGIN);
    }
}
