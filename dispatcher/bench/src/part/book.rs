//! The requests that arrived, and when. The receiver writes the book, and the bench reads it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use super::committer::age_of;
use crate::number::{Percentiles, float};

/// The length of a slot: the precision of the noted times.
const SLOT: Duration = Duration::from_millis(50);

/// The number of slots: about an hour and a half. A later request counts for the last slot.
const SLOTS: usize = 100_000;

/// The requests that arrived since the count began.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Arrivals {
    /// The number of requests.
    pub(crate) count: u64,
    /// The time of the first request, in microseconds since the count began.
    first: u64,
    /// The time of the last request, in microseconds since the count began.
    last: u64,
    /// The requests in each slot since the count began.
    slots: Vec<u32>,
    /// The times from commit to receiver, for bodies that name the time of their commit.
    pub(crate) latency: Percentiles,
    /// The number of these bodies.
    pub(crate) dated: u64,
}

impl Arrivals {
    /// Requests a second, from the first request to the last.
    pub(crate) fn rate(&self) -> f64 {
        float(self.count) * 1e6 / float((self.last.saturating_sub(self.first)).max(1))
    }

    /// Requests a second from `moment`, counted since the count began, to the last request.
    pub(crate) fn rate_since(&self, moment: Duration) -> f64 {
        let last = Duration::from_micros(self.last);
        float(self.count) / last.saturating_sub(moment).as_secs_f64().max(1e-6)
    }

    /// Requests a second between two moments: when `from` requests had come, and when `to` requests had come.
    pub(crate) fn rate_between(&self, from: f64, to: f64) -> f64 {
        (to - from) / (self.seconds_until(to) - self.seconds_until(from)).max(1e-6)
    }

    /// Requests a second in each whole window between the first request and the last.
    pub(crate) fn windows(&self, window: Duration) -> Vec<f64> {
        let width = usize::try_from(window.as_millis() / SLOT.as_millis()).unwrap_or(1).max(1);
        let begin = usize::try_from(u128::from(self.first) / SLOT.as_micros()).unwrap_or_default() + 1;
        let whole = self.slots.get(begin..self.slots.len().saturating_sub(1)).unwrap_or_default();
        let rate = |slots: &[u32]| slots.iter().copied().map(f64::from).sum::<f64>() / window.as_secs_f64();
        whole.chunks_exact(width).map(rate).collect()
    }

    /// The seconds until `wanted` requests had come. The requests of a slot count as spread evenly.
    fn seconds_until(&self, wanted: f64) -> f64 {
        let mut before = 0.0;
        for (place, &here) in self.slots.iter().enumerate() {
            let here = f64::from(here);
            if before + here >= wanted && here > 0.0 {
                return (float(place) + (wanted - before) / here) * SLOT.as_secs_f64();
            }
            before += here;
        }
        float(self.slots.len()) * SLOT.as_secs_f64()
    }
}

/// One count of requests, from its beginning.
pub(super) struct Book {
    began: Instant,
    pub(super) count: AtomicU64,
    first: AtomicU64,
    last: AtomicU64,
    slots: Vec<AtomicU32>,
    /// Whether bodies may name the time of their commit. The first body without a time ends the search for all later ones,
    /// unless bodies of both kinds are expected.
    dated: AtomicBool,
    mixed: bool,
    latencies: Mutex<Vec<u32>>,
}

impl Book {
    pub(super) fn new(mixed: bool) -> Self {
        Self {
            mixed,
            began: Instant::now(),
            count: AtomicU64::new(0),
            first: AtomicU64::new(u64::MAX),
            last: AtomicU64::new(0),
            slots: (0..SLOTS).map(|_| AtomicU32::new(0)).collect(),
            dated: AtomicBool::new(true),
            latencies: Mutex::new(Vec::new()),
        }
    }

    fn enter(&self, body: &[u8]) {
        let elapsed = self.began.elapsed();
        let micros = u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX);
        self.count.fetch_add(1, Relaxed);
        self.first.fetch_min(micros, Relaxed);
        self.last.fetch_max(micros, Relaxed);
        let slot = usize::try_from(elapsed.as_millis() / SLOT.as_millis()).unwrap_or(SLOTS);
        self.slots[slot.min(SLOTS - 1)].fetch_add(1, Relaxed);
        if self.dated.load(Relaxed) {
            match age_of(body) {
                Some(age) => self.latencies.lock().push(age),
                None => self.dated.store(self.mixed, Relaxed),
            }
        }
    }

    pub(super) fn report(&self) -> Arrivals {
        let mut slots: Vec<u32> = self.slots.iter().map(|slot| slot.load(Relaxed)).collect();
        slots.truncate(slots.iter().rposition(|&slot| slot > 0).map_or(0, |last| last + 1));
        let latencies = self.latencies.lock();
        Arrivals {
            count: self.count.load(Relaxed),
            first: self.first.load(Relaxed).min(self.last.load(Relaxed)),
            last: self.last.load(Relaxed),
            slots,
            latency: Percentiles::of(latencies.clone()),
            dated: latencies.len() as u64,
        }
    }
}

/// Enters a request into the present count.
pub(super) fn enter(book: &Mutex<Arc<Book>>, body: &[u8]) {
    current(book).enter(body);
}

/// The present count.
pub(super) fn current(book: &Mutex<Arc<Book>>) -> Arc<Book> {
    book.lock().clone()
}

/// Begins a new count at zero. Bodies with and without the time of their commit may come where they are `mixed`.
pub(super) fn begin(book: &Mutex<Arc<Book>>, mixed: bool) {
    *book.lock() = Arc::new(Book::new(mixed));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrivals(slots: &[u32]) -> Arrivals {
        let count = slots.iter().copied().map(u64::from).sum();
        let last = u64::try_from(slots.len()).unwrap_or_default() * 50_000;
        Arrivals { count, first: 0, last, slots: slots.to_vec(), latency: Percentiles::default(), dated: 0 }
    }

    #[test]
    fn rates_are_those_of_the_stretch_that_is_asked_for() {
        let arrivals = arrivals(&[100, 100, 50, 50]);
        assert!((arrivals.rate() - 1_500.0).abs() < 1e-6);
        assert!((arrivals.rate_between(0.0, 200.0) - 2_000.0).abs() < 1e-6);
        assert!((arrivals.rate_between(250.0, 300.0) - 1_000.0).abs() < 1e-6);
    }

    #[test]
    fn a_rate_since_a_moment_counts_what_passed_before_the_first_request() {
        let arrivals = arrivals(&[0, 100, 200, 300]);
        assert!((arrivals.rate_since(Duration::from_millis(50)) - 4_000.0).abs() < 1e-6);
    }

    #[test]
    fn windows_leave_out_what_is_not_whole() {
        let arrivals = arrivals(&[1, 100, 100, 50, 50, 7, 1]);
        assert_eq!(arrivals.windows(Duration::from_millis(100)), [2_000.0, 1_000.0]);
    }
}
