//! When the dead letters of each cause died: small charts, all on one line of time.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use maud::Markup;
use outbox_desk::{DeadGroup, Deaths};

use super::charts::small;
use super::parts::number;
use outbox_console::text::{relative, span};

/// The line of time on which the charts of all causes are drawn, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Axis {
    from: i64,
    to: i64,
}

impl Axis {
    /// From the first death that was looked at to the last one. None where no cause has a chart.
    pub(super) fn over(groups: &[DeadGroup], deaths: &BTreeMap<String, Deaths>) -> Option<Self> {
        let charted = groups.iter().filter_map(|group| reach(group, deaths.get(&group.fingerprint)?));
        charted.reduce(|all, one| Self { from: all.from.min(one.from), to: all.to.max(one.to) })
    }

    /// The heading of the column, which says once what all charts in it mean.
    pub(super) fn heading(&self) -> String {
        let to = UNIX_EPOCH + Duration::from_millis(self.to.try_into().unwrap_or(0));
        let until = relative(&humantime::format_rfc3339_millis(to).to_string(), SystemTime::now());
        format!("When: {}, until {until}", span(self.length()))
    }

    /// The chart of a cause, on this line.
    pub(super) fn chart(&self, group: &DeadGroup, deaths: &Deaths) -> Markup {
        let all: u64 = deaths.counts.iter().sum();
        let newest = if deaths.more { "the newest " } else { "" };
        let bars = self.placed(group, deaths);
        let most = bars.iter().max().copied().unwrap_or(0);
        let words = format!(
            "{newest}{} died within {}, at most {} in each {}",
            number(all),
            span(deaths.lasted_ms),
            number(most),
            span(self.length() / i64::try_from(bars.len().max(1)).unwrap_or(1))
        );
        small(&bars, &words)
    }

    fn length(&self) -> i64 {
        self.to.saturating_sub(self.from)
    }

    /// The deaths of a cause by stretches of the whole line: each of its own stretches counts where its middle is.
    fn placed(&self, group: &DeadGroup, deaths: &Deaths) -> Vec<u64> {
        let stretches = deaths.counts.len();
        let mut placed = vec![0; stretches];
        let Some(own) = reach(group, deaths) else { return placed };
        let (begin, all) = (i128::from(own.from - self.from), 2 * i128::from(self.length().max(1)));
        for (count, twice) in deaths.counts.iter().zip((1_i128..).step_by(2)) {
            let place = (begin * 2 * stretches as i128 + twice * i128::from(deaths.lasted_ms)) / all;
            let place = usize::try_from(place).unwrap_or(0).min(stretches - 1);
            placed[place] += count;
        }
        placed
    }
}

/// The times of the first and the last letter of a cause that were looked at.
fn reach(group: &DeadGroup, deaths: &Deaths) -> Option<Axis> {
    let last = humantime::parse_rfc3339(&group.last_seen).ok()?.duration_since(UNIX_EPOCH).ok()?;
    let to = i64::try_from(last.as_millis()).ok()?;
    Some(Axis { from: to.saturating_sub(deaths.lasted_ms), to })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

    use outbox_schema::MessageId;

    use super::*;

    fn group(fingerprint: &str, last_seen: &str) -> DeadGroup {
        DeadGroup {
            fingerprint: fingerprint.to_owned(),
            channel: "http".to_owned(),
            dead_reason: None,
            status_code: None,
            error: None,
            count: 4,
            first_seen: String::new(),
            last_seen: format!("2026-05-01T{last_seen}Z"),
            example: MessageId(1),
        }
    }

    fn deaths(lasted_ms: i64) -> Deaths {
        Deaths { counts: vec![1; 4], lasted_ms, more: false }
    }

    #[test]
    fn what_died_at_the_same_time_stands_at_the_same_place_in_the_charts_of_all_causes() {
        const HOUR: i64 = 3_600_000;
        let groups = [group("long", "14:00:00"), group("short", "12:00:00"), group("uncharted", "20:00:00")];
        let all = BTreeMap::from([("long".to_owned(), deaths(4 * HOUR)), ("short".to_owned(), deaths(HOUR / 2))]);
        let axis = Axis::over(&groups, &all).unwrap();
        assert_eq!(axis.length(), 4 * HOUR);
        assert!(axis.heading().starts_with("When: 4h 0m, until "), "{}", axis.heading());
        assert_eq!(axis.placed(&groups[0], &all["long"]), [1, 1, 1, 1]);
        assert_eq!(axis.placed(&groups[1], &all["short"]), [0, 4, 0, 0]);
        let at_once = Axis::over(&groups[..1], &BTreeMap::from([("long".to_owned(), deaths(0))])).unwrap();
        assert_eq!(at_once.placed(&groups[0], &deaths(0)), [4, 0, 0, 0]);
        assert_eq!(Axis::over(&groups, &BTreeMap::new()), None);
    }
}
