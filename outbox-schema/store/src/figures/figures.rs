//! Figures over time: what was done in each minute, by channel (`outbox_minute`). Whoever polls adds its counts to the rows of the
//! present minute, so that figures survive a hand-over. Minutes become hours after two days.

use std::time::Duration;

use sqlx::{ColumnIndex, Decode, FromRow, Row, Type};

/// The number of buckets of latency.
pub const BUCKETS: usize = 14;

/// The upper bounds of the buckets of latency, in milliseconds. The last bucket has none.
pub const LATENCY_BOUNDS_MS: [u64; BUCKETS - 1] =
    [10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 60_000, 600_000, 3_600_000];

/// The columns of the buckets.
const LATENCY_COLUMNS: [&str; BUCKETS] = [
    "ms_10",
    "ms_25",
    "ms_50",
    "ms_100",
    "ms_250",
    "ms_500",
    "ms_1000",
    "ms_2500",
    "ms_5000",
    "ms_10000",
    "ms_60000",
    "ms_600000",
    "ms_3600000",
    "ms_more",
];

/// The name under which all channels are counted together that no settings have. No channel can be called so.
pub const OTHERS: &str = "(others)";

/// What was done on one channel in some time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Figures {
    /// Messages that receivers accepted.
    pub delivered: u64,
    /// Attempts that failed.
    pub failed: u64,
    /// Messages that became dead letters.
    pub dead: u64,
    /// Rows that were found in doubt.
    pub in_doubt: u64,
    /// Attempts that ended in a deferral.
    pub deferred: u64,
    /// The most lag that was seen. None where nobody looked.
    pub most_lag: Option<Duration>,
    /// Deliveries by their latency, a number for each bucket.
    pub latency: Latency,
}

/// Deliveries by their latency: how many are in each bucket.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Latency(pub [u64; BUCKETS]);

impl Figures {
    /// Adds what was done at another time, or by another replica.
    pub fn add(&mut self, other: &Self) {
        self.delivered += other.delivered;
        self.failed += other.failed;
        self.dead += other.dead;
        self.in_doubt += other.in_doubt;
        self.deferred += other.deferred;
        self.most_lag = self.most_lag.max(other.most_lag);
        for (bucket, more) in self.latency.0.iter_mut().zip(other.latency.0) {
            *bucket += more;
        }
    }

    /// Whether there is anything to say.
    pub fn says_something(&self) -> bool {
        let counted = [self.delivered, self.failed, self.dead, self.in_doubt, self.deferred];
        counted.iter().any(|count| *count > 0) || self.most_lag.is_some_and(|lag| lag > Duration::ZERO)
    }
}

impl Latency {
    /// Counts a delivery.
    pub fn count(&mut self, latency: Duration) {
        let bucket = LATENCY_BOUNDS_MS.partition_point(|bound| Duration::from_millis(*bound) < latency);
        self.0[bucket] += 1;
    }

    /// The bound within which so many of a thousand deliveries stayed, in milliseconds. None without deliveries, and where it lies
    /// beyond all bounds.
    pub fn quantile_ms(&self, of_a_thousand: u64) -> Option<u64> {
        let all: u64 = self.0.iter().sum();
        let mut within = 0;
        let bounded = self.0.iter().zip(LATENCY_BOUNDS_MS).map(|(count, bound)| {
            within += count;
            (within, bound)
        });
        let reached = |within: u64| all > 0 && within.saturating_mul(1_000) >= all.saturating_mul(of_a_thousand);
        bounded.into_iter().find(|(within, _)| reached(*within)).map(|(_, bound)| bound)
    }
}

/// Reads the columns of the buckets.
impl<'r, R: Row> FromRow<'r, R> for Latency
where
    &'static str: ColumnIndex<R>,
    i64: Decode<'r, R::Database> + Type<R::Database>,
{
    fn from_row(row: &'r R) -> sqlx::Result<Self> {
        let mut latency = Self::default();
        for (column, bucket) in LATENCY_COLUMNS.iter().zip(&mut latency.0) {
            *bucket = counted(row.try_get(*column)?);
        }
        Ok(latency)
    }
}

/// The columns of a row that say what was done.
#[derive(Debug, FromRow)]
pub struct FiguresRow {
    delivered: i64,
    failed: i64,
    dead: i64,
    in_doubt: i64,
    deferred: i64,
    lag_ms: Option<i64>,
    #[sqlx(flatten)]
    latency: Latency,
}

impl From<FiguresRow> for Figures {
    fn from(row: FiguresRow) -> Self {
        Self {
            delivered: counted(row.delivered),
            failed: counted(row.failed),
            dead: counted(row.dead),
            in_doubt: counted(row.in_doubt),
            deferred: counted(row.deferred),
            most_lag: row.lag_ms.map(|ms| Duration::from_millis(counted(ms))),
            latency: row.latency,
        }
    }
}

fn counted(count: i64) -> u64 {
    count.try_into().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_bucket_has_the_column_of_its_bound() {
        let bounds = LATENCY_BOUNDS_MS.iter().map(|bound| format!("ms_{bound}"));
        let names: Vec<_> = bounds.chain(["ms_more".to_owned()]).collect();
        assert_eq!(names, LATENCY_COLUMNS);
    }

    #[test]
    fn a_quantile_is_the_bound_of_the_bucket_that_reaches_it() {
        let mut latency = Latency::default();
        assert_eq!(latency.quantile_ms(500), None);
        for ms in [1, 10, 11, 60, 3_600_001] {
            latency.count(Duration::from_millis(ms));
        }
        assert_eq!((latency.0[0], latency.0[1], latency.0[3], latency.0[BUCKETS - 1]), (2, 1, 1, 1));
        assert_eq!([400, 500, 800, 990].map(|share| latency.quantile_ms(share)), [Some(10), Some(25), Some(100), None]);
    }
}
