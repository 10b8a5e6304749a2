//! Counts what is done on each channel, until the counts are written.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use outbox_store::figures::{Figures, OTHERS};
use outbox_store::{Outcome, Verdict};
use parking_lot::{Mutex, MutexGuard};

/// The counts of the attempts of this process. Rows are written by strangers: channels that no settings have share one name.
#[derive(Debug, Default)]
pub struct Counting(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// The configured channels.
    pub(super) known: BTreeSet<String>,
    counts: BTreeMap<String, Figures>,
}

impl Counting {
    /// Nothing was done so far on these channels.
    pub fn new(channels: &[String]) -> Self {
        let counting = Self::default();
        counting.reconfigure(channels);
        counting
    }

    /// Replaces the channels. What was counted stays.
    pub fn reconfigure(&self, channels: &[String]) {
        self.state().known = channels.iter().cloned().collect();
    }

    /// Counts an attempt that ended, or a message that was dead before it. `latency`: how long after it was created the message
    /// was accepted.
    pub fn count(&self, channel: &str, outcome: &Outcome, verdict: &Verdict, latency: Duration) {
        let attempted = !matches!(verdict, Verdict::Dead { attempted: false, .. });
        self.with(channel, |figures| {
            match outcome {
                Outcome::Delivered { .. } => {
                    figures.delivered += 1;
                    figures.latency.count(latency);
                }
                Outcome::InDoubt => {
                    figures.failed += 1;
                    figures.in_doubt += 1;
                }
                Outcome::Retry { .. } | Outcome::Refused { .. } | Outcome::Dead { .. } | Outcome::DeadTarget => {
                    figures.failed += u64::from(attempted);
                }
                Outcome::Defer { .. } | Outcome::Unsent => {}
            }
            match verdict {
                Verdict::Dead { .. } => figures.dead += 1,
                Verdict::Deferred { .. } | Verdict::Spared { .. } => figures.deferred += 1,
                Verdict::Success { .. } | Verdict::Retry { .. } | Verdict::Unsent => {}
            }
        });
    }

    /// Notes the lag of a channel.
    pub fn lag(&self, channel: &str, lag: Duration) {
        self.with(channel, |figures| figures.most_lag = figures.most_lag.max(Some(lag)));
    }

    /// Takes the counts, which begin anew.
    pub fn take(&self) -> BTreeMap<String, Figures> {
        std::mem::take(&mut self.state().counts)
    }

    fn with(&self, channel: &str, change: impl FnOnce(&mut Figures)) {
        let State { known, counts } = &mut *self.state();
        let name = if known.contains(channel) { channel } else { OTHERS };
        match counts.get_mut(name) {
            Some(figures) => change(figures),
            None => change(counts.entry(name.to_owned()).or_default()),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A panic left a count undone at most.
        self.0.lock()
    }
}

#[cfg(test)]
mod tests {
    use outbox_store::DeadReason;

    use super::*;

    #[test]
    fn channels_that_no_settings_have_are_counted_under_one_name() {
        let counting = Counting::new(&["http".to_owned()]);
        for channel in ["http", "typo", "another"] {
            counting.lag(channel, Duration::from_secs(1));
        }
        let names: Vec<_> = counting.take().into_keys().collect();
        assert_eq!(names, [OTHERS, "http"]);
        assert!(counting.take().is_empty());
    }

    #[test]
    fn an_attempt_is_counted_by_its_outcome_and_by_what_becomes_of_the_row() {
        let counting = Counting::new(&["http".to_owned()]);
        let (second, none) = (Duration::from_secs(1), Duration::ZERO);
        let dead = |attempted| Verdict::Dead { reason: DeadReason::Permanent, attempted, invalid_target: false };
        counting.count("http", &Outcome::Delivered { receipt: None }, &Verdict::Success { receipt: None }, second);
        counting.count("http", &Outcome::InDoubt, &Verdict::Retry { after: second }, none);
        counting.count("http", &Outcome::Dead { reason: DeadReason::Permanent }, &dead(true), none);
        counting.count("http", &Outcome::Dead { reason: DeadReason::Expired }, &dead(false), none);
        let spared = Verdict::Spared { after: second, at_least: none };
        counting.count("http", &Outcome::Retry { not_before: None }, &spared, none);
        counting.count("http", &Outcome::Unsent, &Verdict::Unsent, none);
        let figures = counting.take().remove("http").unwrap_or_default();
        let counts = [figures.delivered, figures.failed, figures.dead, figures.in_doubt, figures.deferred];
        assert_eq!(counts, [1, 3, 2, 1, 1]);
        assert_eq!(figures.latency.quantile_ms(500), Some(1_000));
    }
}
