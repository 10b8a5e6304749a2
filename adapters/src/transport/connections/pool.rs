//! The connections to an origin, and which of them is lent next.
//!
//! Of the connections with room the first is lent, and of idle ones the last used. So connections that were opened for
//! a rush fall idle after it, and idle connections are closed.

use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::{BoxFuture, Shared};
use hyper::client::conn::{http1, http2};
use tokio::time::Instant;

use super::body::Body;
use crate::setup::POOL_IDLE;
use crate::transport::exchange::NoAnswer;
use crate::transport::network::allowance::Hold;

/// The most requests at a time on one HTTP/2 connection.
const STREAMS: usize = 100;

/// The opening of a connection. All that wait for it share its result.
pub(super) type Opening = Shared<BoxFuture<'static, Result<Opened, NoAnswer>>>;

/// A connection that was opened.
#[derive(Clone)]
pub(super) enum Opened {
    Http1(First),
    Http2(http2::SendRequest<Body>, Arc<Hold>),
}

/// A connection that takes one request at a time.
#[derive(Debug)]
pub(super) struct OneAtATime {
    pub(super) sender: http1::SendRequest<Body>,
    pub(super) hold: Hold,
}

/// A new connection that takes one request at a time. The first that asks gets it.
#[derive(Clone)]
pub(super) struct First(Arc<Mutex<Option<OneAtATime>>>);

impl First {
    pub(super) fn new(connection: OneAtATime) -> Self {
        Self(Arc::new(Mutex::new(Some(connection))))
    }

    pub(super) fn take(&self) -> Option<OneAtATime> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
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
    opened: u64,
}

/// A connection that several requests share, or may come to share.
struct Line {
    id: u64,
    opening: Opening,
    lent: usize,
    idle_since: Instant,
}

impl Pool {
    /// No connection yet. Only over TLS can HTTP/2 be agreed upon.
    pub(super) fn new(encrypted: bool) -> Self {
        Self { idle: Vec::new(), lines: Vec::new(), expected: if encrypted { STREAMS } else { 1 }, opened: 0 }
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
        self.sweep();
        if after == 0
            && let Some((connection, _)) = self.idle.pop()
        {
            return Way::Idle(connection);
        }
        let expected = self.expected;
        if let Some(line) = self.lines.iter_mut().find(|line| line.id > after && line.lent < line.room(expected)) {
            line.lent += 1;
            return Way::Line(line.id, line.opening.clone());
        }
        self.opened += 1;
        let (id, opening) = (self.opened, open());
        if self.expected > 1 {
            self.share(id, &opening);
        }
        Way::Line(id, opening)
    }

    fn share(&mut self, id: u64, opening: &Opening) {
        self.lines.push(Line { id, opening: opening.clone(), lent: 1, idle_since: Instant::now() });
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
        self.expected = 1;
    }

    /// Notes that a connection turned out to take many requests at a time. It is shared, and the next one is expected
    /// to do the same.
    pub(super) fn found_http2(&mut self, id: u64, opening: &Opening) {
        if self.expected == 1 {
            self.expected = STREAMS;
            if self.lines.iter().all(|line| line.id != id) {
                self.share(id, opening);
            }
        }
    }

    /// Closes connections that were idle for long, and forgets closed ones.
    pub(super) fn sweep(&mut self) {
        let now = Instant::now();
        let long_ago = self.idle.partition_point(|(_, since)| now - *since >= POOL_IDLE);
        self.idle.drain(..long_ago);
        while self.idle.pop_if(|(connection, _)| connection.sender.is_closed()).is_some() {}
        self.lines.retain(Line::is_worth_keeping);
    }
}

impl Line {
    fn is_worth_keeping(&self) -> bool {
        match self.opening.peek() {
            // The requests that wanted it have given up.
            None => self.lent > 0,
            Some(Ok(Opened::Http1(_)) | Err(_)) => false,
            Some(Ok(Opened::Http2(sender, _))) => {
                !sender.is_closed() && (self.lent > 0 || self.idle_since.elapsed() < POOL_IDLE)
            }
        }
    }

    /// How many requests the connection takes at a time.
    fn room(&self, expected: usize) -> usize {
        match self.opening.peek() {
            None => expected,
            Some(Ok(Opened::Http2(..))) => STREAMS,
            Some(Ok(Opened::Http1(_)) | Err(_)) => 0,
        }
    }
}
#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use futures_util::FutureExt;
    use hyper_util::rt::{TokioExecutor, TokioIo};
    use tokio::time::advance;

    use super::*;
    use crate::transport::network::allowance::Allowance;

    /// A connection whose other end never says anything.
    fn silent() -> Opening {
        async {
            let (wire, other_end) = tokio::io::duplex(1024);
            let (sender, connection) = http2::handshake(TokioExecutor::new(), TokioIo::new(wire)).await.unwrap();
            tokio::spawn(async move {
                let _ = connection.await;
                drop(other_end);
            });
            Ok(Opened::Http2(sender, Arc::new(Hold::new(Allowance::new()))))
        }
        .boxed()
        .shared()
    }

    /// An HTTP/1 connection, and the other end of it.
    async fn http1() -> (OneAtATime, tokio::io::DuplexStream) {
        let (wire, other_end) = tokio::io::duplex(1024);
        let (sender, connection) = http1::handshake(TokioIo::new(wire)).await.unwrap();
        tokio::spawn(connection);
        (OneAtATime { sender, hold: Hold::new(Allowance::new()) }, other_end)
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
        let mut pool = Pool::new(true);
        let lent: Vec<u64> = (0..=2 * STREAMS).map(|_| lend(&mut pool, 0)).collect();
        assert_eq!((lent[0], lent[STREAMS - 1], lent[STREAMS], lent[2 * STREAMS]), (1, 1, 2, 3));
        pool.give_back(1);
        assert_eq!(lend(&mut pool, 0), 1);
    }

    #[tokio::test]
    async fn what_was_refused_shares_connections_that_were_opened_after_it_was_sent() {
        let mut pool = Pool::new(true);
        let before: Vec<u64> = (0..=STREAMS).map(|_| lend(&mut pool, 0)).collect();
        let newest = pool.opened();
        assert_eq!((before[0], before[STREAMS], newest), (1, 2, 2));
        assert_eq!([lend(&mut pool, newest), lend(&mut pool, newest)], [3, 3]);
        assert_eq!(lend(&mut pool, 0), 2, "others go where there is room");
    }

    #[tokio::test]
    async fn a_connection_that_could_not_be_opened_is_lent_to_nobody_else() {
        let mut pool = Pool::new(true);
        let failing = || async { Err(NoAnswer::NotSent(String::new())) }.boxed().shared();
        let (first, opening) = line(pool.lend(0, failing));
        assert!(opening.await.is_err());
        assert_ne!(lend(&mut pool, 0), first);
    }

    #[tokio::test]
    async fn an_opening_that_all_have_given_up_is_waited_for_by_nobody_else() {
        let mut pool = Pool::new(true);
        let never = || std::future::pending().boxed().shared();
        let (first, _) = line(pool.lend(0, never));
        pool.give_back(first);
        assert_ne!(lend(&mut pool, 0), first);
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_is_closed_that_was_idle_for_long_and_none_that_is_in_use() {
        let mut pool = Pool::new(true);
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
        let mut pool = Pool::new(false);
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
        let mut pool = Pool::new(false);
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
        let mut pool = Pool::new(true);
        assert_eq!((lend(&mut pool, 0), lend(&mut pool, 0)), (1, 1));
        pool.found_http1();
        assert_eq!((lend(&mut pool, 0), lend(&mut pool, 0)), (2, 3));
    }

    #[tokio::test]
    async fn a_connection_that_speaks_http2_after_all_is_shared() {
        let mut pool = Pool::new(true);
        pool.found_http1();
        let (first, opening) = line(pool.lend(0, silent));
        opening.clone().await.unwrap();
        pool.found_http2(first, &opening);
        assert_eq!(lend(&mut pool, 0), first);
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_that_was_shared_already_is_closed_like_others_once_nobody_uses_it() {
        let mut pool = Pool::new(true);
        let (first, opening) = line(pool.lend(0, silent));
        opening.clone().await.unwrap();
        // As with a name that has one server of HTTP/1, and another of HTTP/2.
        pool.found_http1();
        pool.found_http2(first, &opening);
        pool.give_back(first);
        advance(POOL_IDLE).await;
        pool.sweep();
        assert!(pool.is_empty());
    }
}
