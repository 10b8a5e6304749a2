//! Medians and percentiles of the measured figures.

use serde::{Deserialize, Serialize};

/// A count as a floating-point number.
#[allow(clippy::cast_precision_loss, reason = "nothing that is counted here comes near 2^52")]
pub(super) fn float(count: impl TryInto<u64>) -> f64 {
    count.try_into().unwrap_or_default() as f64
}

/// The middle figure. Of an even number of figures, the higher of the two in the middle. Zero where there are no
/// figures.
pub(super) fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or_default()
}

/// The median of `what` over all rounds.
pub(super) fn median_of<T>(rounds: &[T], what: impl Fn(&T) -> f64) -> f64 {
    median(rounds.iter().map(what).collect())
}

/// Three percentiles of durations, in microseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Percentiles {
    /// Half of the durations are no longer than this.
    pub p50: f64,
    /// 95 of 100 durations are no longer than this.
    pub p95: f64,
    /// 99 of 100 durations are no longer than this.
    pub p99: f64,
}

impl Percentiles {
    /// The percentiles of durations in microseconds.
    pub(super) fn of(mut micros: Vec<u32>) -> Self {
        micros.sort_unstable();
        let at = |hundredth: usize| {
            let place = (micros.len() * hundredth / 100).min(micros.len().saturating_sub(1));
            micros.get(place).map_or(0.0, |&micros| f64::from(micros))
        };
        Self { p50: at(50), p95: at(95), p99: at(99) }
    }

    /// The percentiles of a Prometheus histogram. Each bucket has its upper bound in seconds, and the number of
    /// durations that were no longer. Within a bucket the durations count as spread evenly. A duration beyond the last
    /// finite bound counts as that bound.
    pub(super) fn of_buckets(buckets: &[(f64, f64)]) -> Self {
        let all = buckets.last().map_or(0.0, |(_, count)| *count);
        let at = |part: f64| {
            let wanted = all * part;
            let mut below = (0.0, 0.0);
            for &(bound, count) in buckets {
                if count >= wanted && count > below.1 {
                    let share = (wanted - below.1) / (count - below.1);
                    return if bound.is_finite() { below.0 + (bound - below.0) * share } else { below.0 };
                }
                below = (bound, count);
            }
            0.0
        };
        let micros = |part| at(part) * 1e6;
        Self { p50: micros(0.5), p95: micros(0.95), p99: micros(0.99) }
    }

    /// The median of each percentile over the rounds.
    pub(super) fn median<T>(rounds: &[T], what: impl Fn(&T) -> Self) -> Self {
        Self {
            p50: median_of(rounds, |round| what(round).p50),
            p95: median_of(rounds, |round| what(round).p95),
            p99: median_of(rounds, |round| what(round).p99),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(left: f64, right: f64) -> bool {
        (left - right).abs() < 1e-6
    }

    #[test]
    fn percentiles_are_those_of_the_sorted_durations() {
        let of = Percentiles::of((1..=1000).rev().collect());
        assert!(near(of.p50, 501.0) && near(of.p95, 951.0) && near(of.p99, 991.0), "{of:?}");
        assert_eq!(Percentiles::of(Vec::new()), Percentiles::default());
    }

    #[test]
    fn percentiles_of_buckets_lie_within_them() {
        let of = Percentiles::of_buckets(&[(0.001, 0.0), (0.002, 50.0), (0.010, 90.0), (f64::INFINITY, 100.0)]);
        assert!(near(of.p50, 2_000.0) && near(of.p95, 10_000.0) && near(of.p99, 10_000.0), "{of:?}");
        assert_eq!(Percentiles::of_buckets(&[]), Percentiles::default());
    }

    #[test]
    fn the_median_of_rounds_is_the_middle_one() {
        assert!(near(median(vec![3.0, 1.0, 2.0]), 2.0));
        assert!(near(median(Vec::new()), 0.0));
    }
}
