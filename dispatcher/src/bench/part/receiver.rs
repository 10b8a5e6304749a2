//! Takes webhooks: as little HTTP/1.1 as answers every request with 200, counts it, and notes when it came.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

use super::committer::age_of;
use super::{Orders, Part, say};
use crate::bench::number::{Percentiles, float};

/// How finely it is noted when requests came.
const SLOT: Duration = Duration::from_millis(50);

/// Slots: an hour and a half. What comes later counts for the last one.
const SLOTS: usize = 100_000;

/// What came since the count began.
#[derive(Debug, Serialize, Deserialize)]
pub(in crate::bench) struct Arrivals {
    /// Requests.
    pub(in crate::bench) count: u64,
    /// When the first came, in microseconds since the count began.
    first: u64,
    /// When the last came.
    last: u64,
    /// Requests in each slot since the count began.
    slots: Vec<u32>,
    /// From commit to here, of bodies that say when they were committed.
    pub(in crate::bench) latency: Percentiles,
}

impl Arrivals {
    /// Requests a second, from the first to the last.
    pub(in crate::bench) fn rate(&self) -> f64 {
        float(self.count) * 1e6 / float((self.last.saturating_sub(self.first)).max(1))
    }

    /// Requests a second between the moment when so many had come and the moment when so many had.
    pub(in crate::bench) fn rate_between(&self, from: f64, to: f64) -> f64 {
        (to - from) / (self.seconds_until(to) - self.seconds_until(from)).max(1e-6)
    }

    /// Requests a second in each whole window between the first and the last.
    pub(in crate::bench) fn windows(&self, window: Duration) -> Vec<f64> {
        let width = usize::try_from(window.as_millis() / SLOT.as_millis()).unwrap_or(1).max(1);
        let begin = usize::try_from(u128::from(self.first) / SLOT.as_micros()).unwrap_or_default() + 1;
        let whole = self.slots.get(begin..self.slots.len().saturating_sub(1)).unwrap_or_default();
        let rate = |slots: &[u32]| slots.iter().copied().map(f64::from).sum::<f64>() / window.as_secs_f64();
        whole.chunks_exact(width).map(rate).collect()
    }

    /// When so many had come. Within a slot they are taken to have come evenly.
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

/// The receiver from the other side.
#[derive(Debug)]
pub(in crate::bench) struct Receiver {
    part: Part,
    /// Where requests go.
    pub(in crate::bench) url: String,
}

impl Receiver {
    /// Starts one on loopback.
    pub(in crate::bench) async fn start() -> anyhow::Result<Self> {
        let mut part = Part::start(&Orders::Receive).await?;
        let address: String = part.answer().await?;
        Ok(Self { part, url: format!("http://{address}/hook") })
    }

    /// Counts from nothing.
    pub(in crate::bench) async fn begin(&mut self) -> anyhow::Result<()> {
        self.part.ask("begin").await
    }

    /// Requests so far.
    pub(in crate::bench) async fn count(&mut self) -> anyhow::Result<u64> {
        self.part.ask("count").await
    }

    /// All that is known of them.
    pub(in crate::bench) async fn arrivals(&mut self) -> anyhow::Result<Arrivals> {
        self.part.ask("report").await
    }
}

/// Receives until nobody asks any more.
pub(super) async fn serve(mut questions: mpsc::UnboundedReceiver<String>) -> anyhow::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await.context("no port on loopback")?;
    say(&listener.local_addr()?.to_string())?;
    let book = Arc::new(Mutex::new(Arc::new(Book::new())));
    let current = |book: &Mutex<Arc<Book>>| book.lock().unwrap_or_else(PoisonError::into_inner).clone();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                tokio::spawn(converse(accepted?.0, book.clone()));
            }
            question = questions.recv() => match question.as_deref() {
                None => return Ok(()),
                Some("begin") => {
                    *book.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(Book::new());
                    say(&())?;
                }
                Some("count") => say(&current(&book).count.load(Relaxed))?,
                Some("report") => say(&current(&book).report())?,
                Some(other) => bail!("a receiver of a bench is asked `{other}`"),
            }
        }
    }
}

/// One count, from its beginning.
struct Book {
    began: Instant,
    count: AtomicU64,
    first: AtomicU64,
    last: AtomicU64,
    slots: Vec<AtomicU32>,
    /// Whether bodies say when they were committed: the first one tells for all.
    dated: AtomicBool,
    latencies: Mutex<Vec<u32>>,
}

impl Book {
    fn new() -> Self {
        Self {
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
                Some(age) => self.latencies.lock().unwrap_or_else(PoisonError::into_inner).push(age),
                None => self.dated.store(false, Relaxed),
            }
        }
    }

    fn report(&self) -> Arrivals {
        let mut slots: Vec<u32> = self.slots.iter().map(|slot| slot.load(Relaxed)).collect();
        slots.truncate(slots.iter().rposition(|&slot| slot > 0).map_or(0, |last| last + 1));
        Arrivals {
            count: self.count.load(Relaxed),
            first: self.first.load(Relaxed).min(self.last.load(Relaxed)),
            last: self.last.load(Relaxed),
            slots,
            latency: Percentiles::of(self.latencies.lock().unwrap_or_else(PoisonError::into_inner).clone()),
        }
    }
}

async fn converse(mut socket: TcpStream, book: Arc<Mutex<Arc<Book>>>) {
    let _ = socket.set_nodelay(true);
    let mut seen = Vec::with_capacity(4096);
    while let Ok(1..) = socket.read_buf(&mut seen).await {
        while let Some((head, whole)) = whole_request(&seen) {
            let current = book.lock().unwrap_or_else(PoisonError::into_inner).clone();
            current.enter(&seen[head..whole]);
            seen.drain(..whole);
            if socket.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await.is_err() {
                return;
            }
        }
    }
}

/// Where the body of the first request begins and ends, once all of it is there.
fn whole_request(seen: &[u8]) -> Option<(usize, usize)> {
    let head = seen.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
    let text = std::str::from_utf8(&seen[..head]).ok()?;
    let length = text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
    });
    let whole = head + length.unwrap_or(0);
    (seen.len() >= whole).then_some((head, whole))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrivals(slots: &[u32]) -> Arrivals {
        let count = slots.iter().copied().map(u64::from).sum();
        let last = u64::try_from(slots.len()).unwrap_or_default() * 50_000;
        Arrivals { count, first: 0, last, slots: slots.to_vec(), latency: Percentiles::default() }
    }

    #[test]
    fn a_request_is_whole_with_its_body() {
        assert_eq!(whole_request(b"POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}POST"), Some((38, 40)));
        assert_eq!(whole_request(b"POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\n{"), None);
        assert_eq!(whole_request(b"POST / HTTP/1.1\r\nContent-"), None);
    }

    #[test]
    fn rates_are_those_of_the_stretch_that_is_asked_for() {
        let arrivals = arrivals(&[100, 100, 50, 50]);
        assert!((arrivals.rate() - 1_500.0).abs() < 1e-6);
        assert!((arrivals.rate_between(0.0, 200.0) - 2_000.0).abs() < 1e-6);
        assert!((arrivals.rate_between(250.0, 300.0) - 1_000.0).abs() < 1e-6);
    }

    #[test]
    fn windows_leave_out_what_is_not_whole() {
        let arrivals = arrivals(&[1, 100, 100, 50, 50, 7, 1]);
        assert_eq!(arrivals.windows(Duration::from_millis(100)), [2_000.0, 1_000.0]);
    }
}
