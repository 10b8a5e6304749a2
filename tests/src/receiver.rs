//! The other side: an HTTP receiver in the test process that logs every request.
//!
//! It has a thread of its own, so that a test that computes does not make it slow. Its account is independent of the
//! dispatcher's: what it accepted stays accepted, also when nobody waits for the answer any more.

use std::collections::HashMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use parking_lot::{Mutex, MutexGuard};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio::sync::watch;

/// The path at which access tokens are given to whoever asks, for FCM channels. It is not logged.
pub const ACCESS_TOKENS: &str = "/token";

/// A receiver; it ends when this is dropped.
#[derive(Debug)]
pub struct Receiver {
    address: SocketAddr,
    shared: Arc<Shared>,
    runtime: Option<Runtime>,
}

/// What the receiver does with the requests of one path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Manner {
    /// Answers the nth request of each key with the nth status; the last one goes on.
    Answer(Vec<u16>),
    /// Answers with this status and asks to be left alone for so long, in whole seconds.
    Busy(u16, Duration),
    /// Reads the whole request, then closes the connection without a word.
    Drop,
    /// Reads the whole request and never answers.
    Hang,
    /// Answers 200 after so long, whatever the latency of the others.
    Slow(Duration),
    /// Begins an answer that never ends, one byte at a time.
    Trickle(Trickle),
}

/// Which part of an answer never ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trickle {
    /// A header, after the status 200: nobody can say that it was accepted.
    Head,
    /// The body, after a whole head with the status 200.
    Body,
}

/// One request, read in full.
#[derive(Debug, Clone)]
pub struct Request {
    /// Its idempotency key, without quotes; empty where there is none.
    pub key: String,
    /// Its path and query.
    pub path: String,
    /// Which replica of a fleet sent it, where it says so.
    pub replica: Option<usize>,
    /// When it had been read.
    pub arrived: Instant,
    /// The same by the clock that databases and logs go by.
    pub wall_clock: SystemTime,
    /// The status that it was answered with, or is going to be; none where it gets no answer.
    pub status: Option<u16>,
    /// When it was answered, or its connection was lost or closed; none as long as it is open.
    pub left: Option<Instant>,
}

impl Request {
    /// Whether the receiver took what was sent, whether or not the sender learnt of it.
    pub fn is_accepted(&self) -> bool {
        self.status.is_some_and(|status| (200..300).contains(&status))
    }

    /// Whether it was open at that moment.
    pub fn was_open_at(&self, moment: Instant) -> bool {
        self.arrived <= moment && self.left.is_none_or(|left| moment < left)
    }
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    /// Whether answers wait. It changes under the lock of the state.
    held: watch::Sender<bool>,
}

#[derive(Debug)]
struct State {
    latency: Duration,
    manners: HashMap<String, Manner>,
    requests: Vec<Request>,
    by_key: HashMap<String, usize>,
    open: usize,
    most_open: usize,
}

impl Receiver {
    /// Listens on a free port of 127.0.0.1 and answers every request 200 after `latency`.
    pub fn start(latency: Duration) -> Self {
        Self::listening(Ipv4Addr::LOCALHOST, latency)
    }

    /// The same on each of the machine's own addresses, so that it is many hosts.
    pub fn on_every_address(latency: Duration) -> Self {
        Self::listening(Ipv4Addr::UNSPECIFIED, latency)
    }

    fn listening(at: Ipv4Addr, latency: Duration) -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a thread");
        let listener = std::net::TcpListener::bind((at, 0)).unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let state = State {
            latency,
            manners: HashMap::new(),
            requests: Vec::new(),
            by_key: HashMap::new(),
            open: 0,
            most_open: 0,
        };
        let shared = Arc::new(Shared { state: Mutex::new(state), held: watch::Sender::new(false) });
        runtime.spawn(listen(listener, shared.clone()));
        Self { address, shared, runtime: Some(runtime) }
    }

    /// As `base_url` of a channel takes it.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The port that it listens on.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// Takes so long to answer from now on.
    pub fn set_latency(&self, latency: Duration) {
        self.shared.state().latency = latency;
    }

    /// Answers nothing until `release`: every request that is open now stays open.
    pub fn hold(&self) {
        self.shared.hold(true);
    }

    /// Answers what was held.
    pub fn release(&self) {
        self.shared.hold(false);
    }

    /// Behaves like this to requests of `path` (without its query) from now on.
    pub fn behave(&self, path: &str, manner: Manner) {
        self.shared.state().manners.insert(path.to_owned(), manner);
    }

    /// Every request, in the order of arrival.
    pub fn requests(&self) -> Vec<Request> {
        self.shared.state().requests.clone()
    }

    /// How many requests have arrived.
    pub fn count(&self) -> usize {
        self.shared.state().requests.len()
    }

    /// How many requests of `key` have arrived.
    pub fn count_of(&self, key: &str) -> usize {
        self.shared.state().by_key.get(key).copied().unwrap_or_default()
    }

    /// How many requests of this path (without its query) have arrived.
    pub fn count_at(&self, path: &str) -> usize {
        let bare = |request: &&Request| request.path.split('?').next() == Some(path);
        self.shared.state().requests.iter().filter(bare).count()
    }

    /// The nth request and all after it.
    pub fn requests_from(&self, n: usize) -> Vec<Request> {
        self.shared.state().requests[n..].to_vec()
    }

    /// How many requests are open now.
    pub fn open(&self) -> usize {
        self.shared.state().open
    }

    /// The most requests that were ever open at one time.
    pub fn most_open(&self) -> usize {
        self.shared.state().most_open
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// Logs a request; returns its place in the log, what to do with it, and after how long.
    fn enter(&self, head: Head) -> (usize, Manner, Duration) {
        let Head { key, path, replica } = head;
        let mut state = self.state();
        let seen = state.by_key.entry(key.clone()).or_default();
        let nth = *seen;
        *seen += 1;
        let bare = path.split('?').next().unwrap_or_default();
        let manner = match state.manners.get(bare) {
            None => Manner::Answer(vec![200]),
            Some(Manner::Answer(statuses)) => Manner::Answer(vec![statuses[nth.min(statuses.len() - 1)]]),
            Some(other) => other.clone(),
        };
        let status = match &manner {
            Manner::Answer(statuses) => statuses.first().copied(),
            Manner::Busy(status, _) => Some(*status),
            // Of what trickles, the status line is whole.
            Manner::Slow(_) | Manner::Trickle(_) => Some(200),
            Manner::Drop | Manner::Hang => None,
        };
        let (arrived, wall_clock) = (Instant::now(), SystemTime::now());
        state.requests.push(Request { key, path, replica, arrived, wall_clock, status, left: None });
        state.open += 1;
        state.most_open = state.most_open.max(state.open);
        (state.requests.len() - 1, manner, state.latency)
    }

    fn hold(&self, held: bool) {
        let _state = self.state();
        self.held.send_replace(held);
    }

    /// Waits until answers are not held; the request is open until then.
    async fn leave(&self, place: usize) {
        let mut held = self.held.subscribe();
        loop {
            {
                let mut state = self.state();
                if !*held.borrow_and_update() {
                    state.open -= 1;
                    state.requests[place].left = Some(Instant::now());
                    return;
                }
            }
            held.changed().await.expect("it is as old as this");
        }
    }
}

async fn listen(listener: std::net::TcpListener, shared: Arc<Shared>) {
    let listener = TcpListener::from_std(listener).unwrap();
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        tokio::spawn(serve(stream, shared.clone()));
    }
}

/// As much of HTTP/1.1 as the dispatcher's client speaks: bodies with a length, one request after the other.
async fn serve(mut stream: TcpStream, shared: Arc<Shared>) {
    stream.set_nodelay(true).unwrap();
    let mut read = Vec::with_capacity(4096);
    loop {
        let Some((head, length)) = whole_request(&read) else {
            match stream.read_buf(&mut read).await {
                Ok(1..) => continue,
                Ok(0) | Err(_) => return,
            }
        };
        read.drain(..length);
        if head.path == ACCESS_TOKENS {
            let token = r#"{"access_token":"token","expires_in":3600,"token_type":"Bearer"}"#;
            if answer(&mut stream, 200, "", token).await {
                continue;
            }
            return;
        }
        let (place, manner, latency) = shared.enter(head);
        let mut headers = String::new();
        let status = match manner {
            Manner::Answer(statuses) => {
                tokio::time::sleep(latency).await;
                statuses.first().copied()
            }
            Manner::Busy(status, left_alone_for) => {
                headers = format!("retry-after: {}\r\n", left_alone_for.as_secs());
                tokio::time::sleep(latency).await;
                Some(status)
            }
            Manner::Slow(latency) => {
                tokio::time::sleep(latency).await;
                Some(200)
            }
            Manner::Trickle(part) => {
                // The status line is the answer.
                shared.leave(place).await;
                return trickle(&mut stream, part).await;
            }
            Manner::Drop => None,
            Manner::Hang => {
                while let Ok(1..) = stream.read_buf(&mut read).await {}
                None
            }
        };
        // Before the answer is out: what its sender does upon it comes later by any clock.
        shared.leave(place).await;
        match status {
            Some(status) if answer(&mut stream, status, &headers, "").await => {}
            Some(_) | None => return,
        }
    }
}

/// Each of the headers with its end of line.
async fn answer(stream: &mut TcpStream, status: u16, headers: &str, body: &str) -> bool {
    let answer = format!("HTTP/1.1 {status} Said\r\n{headers}content-length: {}\r\n\r\n{body}", body.len());
    stream.write_all(answer.as_bytes()).await.is_ok()
}

/// Until nobody listens any more.
async fn trickle(stream: &mut TcpStream, part: Trickle) {
    let mut some: &[u8] = match part {
        Trickle::Head => b"HTTP/1.1 200 OK\r\nx-long: ",
        Trickle::Body => b"HTTP/1.1 200 OK\r\ncontent-length: 1000000000\r\n\r\n",
    };
    while stream.write_all(some).await.is_ok() {
        some = b"x";
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

struct Head {
    key: String,
    path: String,
    replica: Option<usize>,
}

/// The head of the request at the start of `read`, and the length of all of it, once it is there.
fn whole_request(read: &[u8]) -> Option<(Head, usize)> {
    let end = read.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
    let text = String::from_utf8_lossy(&read[..end]);
    let mut lines = text.lines();
    let path = lines.next()?.split(' ').nth(1)?.to_owned();
    let headers: HashMap<String, &str> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim()))
        .collect();
    let body = headers.get("content-length").map_or(0, |length| length.parse().unwrap());
    let replica = headers.get("x-replica").and_then(|place| place.parse().ok());
    let key = headers.get("idempotency-key").map(|key| key.trim_matches('"').to_owned());
    let body = read.get(end..end + body)?;
    // FCM has no header for it.
    let key = key.or_else(|| {
        let push: serde_json::Value = serde_json::from_slice(body).ok()?;
        Some(push.pointer("/message/data/idempotency_key")?.as_str()?.to_owned())
    });
    Some((Head { key: key.unwrap_or_default(), path, replica }, end + body.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn post(receiver: &Receiver, path: &str, key: &str) -> Option<u16> {
        outbox_adapters::ensure_crypto_provider();
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        let request = client.post(receiver.url() + path).header("Idempotency-Key", key).body("{}");
        request.send().await.ok().map(|answer| answer.status().as_u16())
    }

    #[tokio::test]
    async fn requests_are_counted_by_key_and_answered_by_path() {
        let receiver = Receiver::start(Duration::ZERO);
        receiver.behave("/busy", Manner::Answer(vec![503, 200]));
        receiver.behave("/rude", Manner::Drop);
        assert_eq!(post(&receiver, "/hook?x=1", "\"a\"").await, Some(200));
        assert_eq!(post(&receiver, "/busy", "b").await, Some(503));
        assert_eq!(post(&receiver, "/busy", "b").await, Some(200));
        assert_eq!(post(&receiver, "/rude", "c").await, None);
        let accepted: Vec<_> = receiver.requests().iter().map(Request::is_accepted).collect();
        assert_eq!(accepted, [true, false, true, false]);
        assert_eq!((receiver.count_of("a"), receiver.count_of("b"), receiver.count_of("c")), (1, 2, 1));
        assert_eq!((receiver.open(), receiver.most_open()), (0, 1));
    }

    #[tokio::test]
    async fn a_request_that_gets_no_answer_stays_open_until_its_sender_goes() {
        let receiver = Receiver::start(Duration::ZERO);
        receiver.behave("/deaf", Manner::Hang);
        let url = receiver.url();
        let waiting = tokio::spawn(async move {
            outbox_adapters::ensure_crypto_provider();
            reqwest::Client::builder().no_proxy().build().unwrap().post(url + "/deaf").body("{}").send().await
        });
        let patience = Duration::from_secs(10);
        crate::eventually("it is open", patience, async || (receiver.open() == 1).then_some(())).await;
        waiting.abort();
        crate::eventually("it has left", patience, async || (receiver.open() == 0).then_some(())).await;
        assert!(!receiver.requests()[0].is_accepted());
    }
}
