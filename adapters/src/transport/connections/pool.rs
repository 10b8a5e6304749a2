//! The connections to an origin, and which of them is lent next.
//!
//! Of the connections with room the first is lent, and of idle ones the last used. So connections that were opened for
//! a rush fall idle after it, and idle connections are closed.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{BoxFuture, Shared};
use hyper::client::conn::{http1, http2};
use hyper::header::HeaderMap;
use parking_lot::Mutex;
use tokio::time::Instant;

use super::body::Body;
use super::heard::Heard;
use super::kept::Kept;
use super::streams::Streams;
use crate::setup::POOL_IDLE;
use crate::transport::network::allowance::Hold;
use crate::transport::no_answer::NoAnswer;

/// The most requests at a time on one HTTP/2 connection.
const STREAMS: usize = 100;

/// The opening of a connection. All that wait for it share its result.
pub(super) type Opening = Shared<BoxFuture<'static, Result<Opened, NoAnswer>>>;

/// A connection that was opened.
#[derive(Clone)]
pub(super) enum Opened {
    Http1(First),
    Http2(http2::SendRequest<Body>, Arc<Hold>, Streams),
}

/// A connection that takes one request at a time.
#[derive(Debug)]
pub(super) struct OneAtATime {
    pub(super) sender: http1::SendRequest<Body>,
    pub(super) hold: Hold,
    pub(super) heard: Heard,
    opened: Instant,
    /// How long its server keeps it while it is idle, less one second for the way. None: the server does not say.
    idle_for: Option<Duration>,
}

impl OneAtATime {
    pub(super) fn new(sender: http1::SendRequest<Body>, hold: Hold, heard: Heard) -> Self {
        Self { sender, hold, heard, opened: Instant::now(), idle_for: None }
    }

    /// Notes what the headers of an answer say of the connection: `Keep-Alive: timeout=5, max=100` (RFC 2068, 19.7.1.1).
    pub(super) fn announced(&mut self, headers: &HeaderMap) {
        const WAY: Duration = Duration::from_secs(1);
        let values = headers.get_all("keep-alive").iter().filter_map(|value| value.to_str().ok());
        let seconds = values.flat_map(|value| value.split(',')).find_map(|parameter| {
            let (name, value) = parameter.split_once('=')?;
            name.trim().eq_ignore_ascii_case("timeout").then(|| value.trim().trim_matches('"').parse::<u32>().ok())?
        });
        self.idle_for =
            seconds.map(|seconds| Duration::from_secs(seconds.into()).saturating_sub(WAY)).or(self.idle_for);
    }

    /// Whether it may carry a request more, where it is idle since `since`.
    fn may_be_used(&self, since: Instant, kept: Kept, now: Instant) -> bool {
        let idle = self.idle_for.map_or(kept.idle, |idle_for| idle_for.min(kept.idle));
        now.duration_since(since) < idle && now.duration_since(self.opened) < kept.age && !self.sender.is_closed()
    }
}

/// A new connection that takes one request at a time. The first that asks gets it.
#[derive(Clone)]
pub(super) struct First(Arc<Mutex<Option<OneAtATime>>>);

impl First {
    pub(super) fn new(connection: OneAtATime) -> Self {
        Self(Arc::new(Mutex::new(Some(connection))))
    }

    pub(super) fn take(&self) -> Option<OneAtATime> {
        self.0.lock().take()
    }
}

/// The way of a request to its server.
pub(super) enum Way {
    /// An idle connection that no other request uses.
    Idle(OneAtATime),
    /// The connection with this number, once it is open.
    Line(u64, Opening),
}

pub(super) struct Pool {
    /// Idle HTTP/1 connections, each with the time since when. The last used is at the end.
    idle: Vec<(OneAtATime, Instant)>,
    /// HTTP/2 connections, and opening connections that may become one.
    lines: Vec<Line>,
    /// The expected number of requests that an opening connection will take at a time.
    expected: usize,
    /// Whether an opening connection is expected to take more than one at a time.
    shares: bool,
    opened: u64,
    kept: Kept,
}

/// A connection that several requests share, or may come to share.
struct Line {
    id: u64,
    opening: Opening,
    lent: usize,
    idle_since: Instant,
    /// Since when it is open. None: a request has not yet found that it is.
    open_since: Option<Instant>,
}

impl Pool {
    /// No connection yet. Only over TLS can HTTP/2 be agreed upon.
    pub(super) fn new(encrypted: bool, kept: Kept) -> Self {
        Self { idle: Vec::new(), lines: Vec::new(), expected: STREAMS, shares: encrypted, opened: 0, kept }
    }

    /// The number of connections opened so far, which is the number of the last one.
    pub(super) fn opened(&self) -> u64 {
        self.opened
    }

    pub(super) fn is_empty(&self) -> bool {
        self.idle.is_empty() && self.lines.is_empty()
    }

    /// A connection with room and a number above `after`; 0 means any. Where there is none, `open` opens one.
    pub(super) fn lend(&mut self, after: u64, open: impl FnOnce() -> Opening) -> Way {
        let (kept, now) = (self.kept, Instant::now());
        self.lines.retain(|line| line.is_worth_keeping(kept.age));
        while after == 0
            && let Some((connection, since)) = self.idle.pop()
        {
            if connection.may_be_used(since, kept, now) {
                return Way::Idle(connection);
            }
        }
        let expected = if self.shares { self.expected } else { 1 };
        if let Some(line) = self.lines.iter_mut().find(|line| line.id > after && line.lent < line.room(expected)) {
            line.lent += 1;
            return Way::Line(line.id, line.opening.clone());
        }
        self.opened += 1;
        let (id, opening) = (self.opened, open());
        if self.shares {
            self.share(id, &opening);
        }
        Way::Line(id, opening)
    }

    fn share(&mut self, id: u64, opening: &Opening) {
        let idle_since = Instant::now();
        self.lines.push(Line { id, opening: opening.clone(), lent: 1, idle_since, open_since: None });
    }

    /// Keeps an idle connection for the next request.
    pub(super) fn give_back_idle(&mut self, connection: OneAtATime) {
        self.idle.push((connection, Instant::now()));
    }

    pub(super) fn give_back(&mut self, id: u64) {
        if let Some(line) = self.lines.iter_mut().find(|line| line.id == id) {
            line.lent -= 1;
            line.idle_since = Instant::now();
        }
    }

    /// Lends the connection to no more requests.
    pub(super) fn retire(&mut self, id: u64) {
        self.lines.retain(|line| line.id != id);
    }

    /// Notes that a connection turned out to take one request at a time. The next one is expected to do the same.
    pub(super) fn found_http1(&mut self) {
        self.shares = false;
    }

    /// Notes that a connection turned out to take many requests at a time: as many as its server says. It is shared, and the next
    /// one is expected to do the same. False where it has no room for the request that found it.
    pub(super) fn found_http2(&mut self, id: u64, opening: &Opening, streams: &Streams) -> bool {
        self.expected = room(streams);
        if !self.shares {
            self.shares = true;
            if self.lines.iter().all(|line| line.id != id) {
                self.share(id, opening);
            }
        }
        let Some(line) = self.lines.iter_mut().find(|line| line.id == id) else { return true };
        line.open_since.get_or_insert_with(Instant::now);
        line.lent <= room(streams)
    }

    /// Closes connections that were idle for long or are old, and forgets closed ones.
    pub(super) fn sweep(&mut self) {
        let (kept, now) = (self.kept, Instant::now());
        self.idle.retain(|(connection, since)| connection.may_be_used(*since, kept, now));
        self.lines.retain(|line| line.is_worth_keeping(kept.age));
    }
}

impl Line {
    fn is_worth_keeping(&self, age: Duration) -> bool {
        match self.opening.peek() {
            // The requests that wanted it have given up.
            None => self.lent > 0,
            Some(Ok(Opened::Http1(_)) | Err(_)) => false,
            Some(Ok(Opened::Http2(sender, ..))) => {
                let is_young = self.open_since.is_none_or(|since| since.elapsed() < age);
                is_young && !sender.is_closed() && (self.lent > 0 || self.idle_since.elapsed() < POOL_IDLE)
            }
        }
    }

    /// How many requests the connection takes at a time.
    fn room(&self, expected: usize) -> usize {
        match self.opening.peek() {
            None => expected,
            Some(Ok(Opened::Http2(.., streams))) => room(streams),
            Some(Ok(Opened::Http1(_)) | Err(_)) => 0,
        }
    }
}

/// The most requests at a time on a connection whose server says this.
fn room(streams: &Streams) -> usize {
    STREAMS.min(*streams.borrow())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use futures_util::FutureExt;
    use hyper_util::rt::{TokioExecutor, TokioIo};
    use tokio::time::advance;

    use super::*;
    use crate::transport::network::allowance::Allowance;

    fn pool(encrypted: bool) -> Pool {
        Pool::new(encrypted, Kept { idle: POOL_IDLE, age: 10 * POOL_IDLE })
    }

    fn says(most: usize) -> Streams {
        tokio::sync::watch::channel(most).1
    }

    /// A connection whose other end never says anything.
    fn silent() -> Opening {
        async {
            let (wire, other_end) = tokio::io::duplex(1024);
            let (sender, connection) = http2::handshake(TokioExecutor::new(), TokioIo::new(wire)).await.unwrap();
            tokio::spawn(async move {
                let _ = connection.await;
                drop(other_end);
            });
            Ok(Opened::Http2(sender, Arc::new(Hold::new(Allowance::new())), says(STREAMS)))
        }
        .boxed()
        .shared()
    }

    /// An HTTP/1 connection, and the other end of it.
    async fn http1() -> (OneAtATime, tokio::io::DuplexStream) {
        let (wire, other_end) = tokio::io::duplex(1024);
        let (sender, connection) = http1::handshake(TokioIo::new(wire)).await.unwrap();
        tokio::spawn(connection);
        (OneAtATime::new(sender, Hold::new(Allowance::new()), Heard::default()), other_end)
    }

    fn line(way: Way) -> (u64, Opening) {
        match way {
            Way::Line(id, opening) => (id, opening),
            Way::Idle(_) => panic!("an idle connection"),
        }
    }

    fn lend(pool: &mut Pool, after: u64) -> u64 {
        line(pool.lend(after, silent)).0
    }

    #[tokio::test]
    async fn the_first_connection_with_room_is_lent_also_while_it_is_being_opened() {
        let mut pool = pool(true);
        let lent: Vec<u64> = (0..=2 * STREAMS).map(|_| lend(&mut pool, 0)).collect();
        assert_eq!((lent[0], lent[STREAMS - 1], lent[STREAMS], lent[2 * STREAMS]), (1, 1, 2, 3));
        pool.give_back(1);
        assert_eq!(lend(&mut pool, 0), 1);
    }

    #[tokio::test]
    async fn what_was_refused_shares_connections_that_were_opened_after_it_was_sent() {
        let mut pool = pool(true);
        let before: Vec<u64> = (0..=STREAMS).map(|_| lend(&mut pool, 0)).collect();
        let newest = pool.opened();
        assert_eq!((before[0], before[STREAMS], newest), (1, 2, 2));
        assert_eq!([lend(&mut pool, newest), lend(&mut pool, newest)], [3, 3]);
        assert_eq!(lend(&mut pool, 0), 2, "others go where there is room");
    }

    #[tokio::test]
    async fn a_connection_that_could_not_be_opened_is_lent_to_nobody_else() {
        let mut pool = pool(true);
        let failing = || async { Err(NoAnswer::NotSent(String::new())) }.boxed().shared();
        let (first, opening) = line(pool.lend(0, failing));
        assert!(opening.await.is_err());
        assert_ne!(lend(&mut pool, 0), first);
    }

    #[tokio::test]
    async fn an_opening_that_all_have_given_up_is_waited_for_by_nobody_else() {
        let mut pool = pool(true);
        let never = || std::future::pending().boxed().shared();
        let (first, _) = line(pool.lend(0, never));
        pool.give_back(first);
        assert_ne!(lend(&mut pool, 0), first);
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_is_closed_that_was_idle_for_long_and_none_that_is_in_use() {
        let mut pool = pool(true);
        let (busy, opening) = line(pool.lend(0, silent));
        opening.await.unwrap();
        let lent: Vec<u64> = (0..STREAMS).map(|_| lend(&mut pool, 0)).collect();
        pool.give_back(lent[STREAMS - 1]);
        advance(POOL_IDLE).await;
        pool.give_back(busy);
        pool.sweep();
        assert_eq!(pool.lines.iter().map(|line| line.id).collect::<Vec<_>>(), [busy]);
    }

    #[tokio::test(start_paused = true)]
    async fn of_idle_connections_the_one_used_last_is_lent_and_those_of_long_ago_are_closed() {
        let mut pool = pool(false);
        let (first, _first_end) = http1().await;
        let (second, mut second_end) = http1().await;
        pool.give_back_idle(second);
        advance(POOL_IDLE / 2).await;
        pool.give_back_idle(first);
        let Way::Idle(first) = pool.lend(0, silent) else { panic!("one more") };
        assert_eq!(pool.idle.len(), 1);
        pool.give_back_idle(first);
        advance(POOL_IDLE / 2).await;
        pool.sweep();
        assert_eq!(pool.idle.len(), 1);
        let closed = tokio::io::AsyncReadExt::read(&mut second_end, &mut [0; 1]).await.unwrap();
        assert_eq!(closed, 0, "nothing more comes");
    }

    #[tokio::test]
    async fn what_was_refused_goes_over_no_idle_connection_and_nothing_over_one_that_was_closed() {
        let mut pool = pool(false);
        let (refusing, end) = http1().await;
        pool.give_back_idle(refusing);
        assert_eq!(lend(&mut pool, 1), 1);
        drop(end);
        while !pool.idle[0].0.sender.is_closed() {
            tokio::task::yield_now().await;
        }
        assert_eq!(lend(&mut pool, 0), 2);
    }

    #[tokio::test]
    async fn where_http1_is_spoken_each_request_has_a_connection_of_its_own() {
        let mut pool = pool(true);
        assert_eq!((lend(&mut pool, 0), lend(&mut pool, 0)), (1, 1));
        pool.found_http1();
        assert_eq!((lend(&mut pool, 0), lend(&mut pool, 0)), (2, 3));
    }

    #[tokio::test]
    async fn a_connection_that_speaks_http2_after_all_is_shared() {
        let mut pool = pool(true);
        pool.found_http1();
        let (first, opening) = line(pool.lend(0, silent));
        opening.clone().await.unwrap();
        assert!(pool.found_http2(first, &opening, &says(STREAMS)));
        assert_eq!(lend(&mut pool, 0), first);
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_that_was_shared_already_is_closed_like_others_once_nobody_uses_it() {
        let mut pool = pool(true);
        let (first, opening) = line(pool.lend(0, silent));
        opening.clone().await.unwrap();
        // As with a name that has one server of HTTP/1, and another of HTTP/2.
        pool.found_http1();
        assert!(pool.found_http2(first, &opening, &says(STREAMS)));
        pool.give_back(first);
        advance(POOL_IDLE).await;
        pool.sweep();
        assert!(pool.is_empty());
    }

    #[tokio::test]
    async fn no_more_is_lent_of_a_connection_than_its_server_takes_though_more_waited_for_it() {
        let mut pool = pool(true);
        let few = || async { silent().await.map(|opened| with(opened, says(4))) }.boxed().shared();
        let (first, opening) = line(pool.lend(0, few));
        assert!((0..9).all(|_| line(pool.lend(0, few)).0 == first), "all wait for the one that opens");
        opening.clone().await.unwrap();
        let stays: Vec<bool> = (0..10)
            .map(|_| {
                let stays = pool.found_http2(first, &opening, &says(4));
                if !stays {
                    pool.give_back(first);
                }
                stays
            })
            .collect();
        assert_eq!(stays.iter().filter(|stays| **stays).count(), 4, "{stays:?}");
        let next: Vec<u64> = (0..5).map(|_| line(pool.lend(0, few)).0).collect();
        assert_eq!(next, [2, 2, 2, 2, 3], "of the next ones as much is expected");
    }

    fn with(opened: Opened, streams: Streams) -> Opened {
        match opened {
            Opened::Http2(sender, hold, _) => Opened::Http2(sender, hold, streams),
            Opened::Http1(first) => Opened::Http1(first),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_old_connection_takes_no_more_requests_though_it_is_in_use() {
        let kept = Kept { idle: POOL_IDLE, age: Duration::from_mins(1) };
        let mut pool = Pool::new(true, kept);
        let (shared, opening) = line(pool.lend(0, silent));
        opening.clone().await.unwrap();
        assert!(pool.found_http2(shared, &opening, &says(STREAMS)));
        let (alone, _end) = http1().await;
        pool.give_back_idle(alone);
        advance(Duration::from_secs(59)).await;
        let Way::Idle(alone) = pool.lend(0, silent) else { panic!("one more") };
        pool.give_back_idle(alone);
        advance(Duration::from_secs(1)).await;
        assert_eq!(lend(&mut pool, 0), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn an_idle_connection_is_used_until_a_second_before_its_server_closes_it_and_no_longer_than_the_channel_says()
    {
        let second = Duration::from_secs(1);
        for (says, channel, used, unused) in [
            (Some("timeout=5, max=9"), POOL_IDLE, 3 * second, 4 * second),
            (Some("max=9, Timeout=\"5\""), POOL_IDLE, 3 * second, 4 * second),
            (Some("timeout=600"), POOL_IDLE, POOL_IDLE.saturating_sub(second), POOL_IDLE),
            (Some("timeout=x"), POOL_IDLE, POOL_IDLE.saturating_sub(second), POOL_IDLE),
            (Some("timeout=5"), second, second / 2, second),
            (None, second, second / 2, second),
        ] {
            for (idle, is_used) in [(used, true), (unused, false)] {
                let mut pool = Pool::new(false, Kept { idle: channel, age: 10 * POOL_IDLE });
                let (mut connection, _end) = http1().await;
                let value =
                    says.map(|says| (hyper::header::HeaderName::from_static("keep-alive"), says.parse().unwrap()));
                connection.announced(&HeaderMap::from_iter(value));
                pool.give_back_idle(connection);
                advance(idle).await;
                assert_eq!(matches!(pool.lend(0, silent), Way::Idle(_)), is_used, "{says:?} {channel:?} {idle:?}");
            }
        }
        for now in ["timeout=1", "timeout=0"] {
            let (mut connection, _end) = http1().await;
            connection.announced(&HeaderMap::from_iter([(
                hyper::header::HeaderName::from_static("keep-alive"),
                now.parse().unwrap(),
            )]));
            let mut pool = pool(false);
            pool.give_back_idle(connection);
            assert!(matches!(pool.lend(0, silent), Way::Line(..)), "{now}");
        }
    }
}
