//! The connections to FCM: as many as what is in flight needs, and no more.
//!
//! FCM takes 100 requests at a time on an HTTP/2 connection and lets further ones wait
//! (<https://firebase.google.com/docs/cloud-messaging/scale-fcm>), so a connection is lent to that many requests at
//! most, and the next one is opened. The first with room is lent, so that those opened for a rush fall idle after it,
//! and idle ones are closed.
//!
//! What a connection refused unread goes over another one, within the same attempt: a server that goes away (`GOAWAY`),
//! as FCM does after some idle minutes, fails no message. The other one is opened anew: those of before may go away as
//! well. Nothing else is sent twice.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared};
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper::{Method, Request, Response, Uri};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use reqwest::header::{HOST, HeaderMap, HeaderValue, USER_AGENT};
use tokio::time::{Instant, timeout_at};
use url::{Position, Url};

use super::body::{Body, Offer};
use crate::exchange::{self, NoAnswer, Read, timed_out, unanswered};
use crate::network::dial::Dialer;
use crate::setup;

/// Requests at a time on one HTTP/2 connection.
const STREAMS: usize = 100;

/// Requests that a connection takes before the server has said how many it takes at a time. It says so as soon as it
/// greets (RFC 9113, 3.4), and refuses those beyond.
const BEFORE_SETTINGS: usize = 1;

/// Connections that may refuse a request before its attempt has failed.
const REFUSALS: usize = 5;

/// What goes out over a connection: requests of one resource.
pub(super) struct Connections {
    dialer: Arc<Dialer>,
    uri: Uri,
    path: Uri,
    host: HeaderValue,
    kept: Mutex<Kept>,
}

struct Kept {
    lines: Vec<Line>,
    /// How many requests a connection is expected to take that is not open yet.
    expected: usize,
    opened: u64,
}

/// A connection, open or being opened.
struct Line {
    id: u64,
    opening: Opening,
    lent: usize,
    idle_since: Instant,
}

/// All who wait for a connection share what comes of it.
type Opening = Shared<BoxFuture<'static, Result<Sender, NoAnswer>>>;

#[derive(Clone)]
enum Sender {
    Http2(http2::SendRequest<Body>),
    Http1(Arc<tokio::sync::Mutex<http1::SendRequest<Body>>>),
}

impl Connections {
    /// Connections of `dialer` for requests of `url`. None is opened before it is needed.
    pub(super) fn new(dialer: Dialer, url: &Url) -> Result<Self, String> {
        let uri = |text: &str| text.parse::<Uri>().map_err(|error| error.to_string());
        let host = &url[Position::BeforeHost..Position::AfterPort];
        let expected = if dialer.is_encrypted() { STREAMS } else { 1 };
        Ok(Self {
            uri: uri(url.as_str())?,
            path: uri(url.path())?,
            host: HeaderValue::try_from(host).map_err(|error| error.to_string())?,
            dialer: Arc::new(dialer),
            kept: Mutex::new(Kept { lines: Vec::new(), expected, opened: 0 }),
        })
    }

    /// Posts `body` and reads the answer.
    ///
    /// # Cancel safety
    /// Dropping it leaves the request in doubt.
    pub(super) async fn post(&self, headers: &HeaderMap, body: &Bytes, deadline: Instant) -> Result<Read, NoAnswer> {
        let origin = self.dialer.origin();
        let (mut refusals, mut after) = (0, 0);
        loop {
            let lent = self.lend(after, deadline).await?;
            let sent = Instant::now();
            let offer = Offer::new(body.clone());
            let answer = timeout_at(deadline, self.send(lent.sender.clone(), headers, offer.body())).await;
            match answer {
                Ok(Ok(response)) => {
                    return Ok(exchange::read(response.map(reqwest::Body::wrap).into(), deadline).await);
                }
                Ok(Err(error)) => match unanswered(Some(&error), origin).unless_unsent(offer.take_back()) {
                    NoAnswer::Refused(_) if refusals < REFUSALS => {
                        refusals += 1;
                        after = lent.newest;
                        lent.retire();
                    }
                    no_answer => return Err(no_answer),
                },
                Err(_) if offer.take_back() => {
                    return Err(NoAnswer::NotSent(format!("{origin} did not take the request within the timeout")));
                }
                Err(_) => return Err(timed_out(origin, sent)),
            }
        }
    }

    async fn send(&self, sender: Sender, headers: &HeaderMap, body: Body) -> hyper::Result<Response<Incoming>> {
        let mut request = Request::new(body);
        *request.method_mut() = Method::POST;
        *request.headers_mut() = headers.clone();
        request.headers_mut().insert(USER_AGENT, HeaderValue::from_static(setup::USER_AGENT));
        match sender {
            Sender::Http2(mut sender) => {
                *request.uri_mut() = self.uri.clone();
                sender.ready().await?;
                sender.send_request(request).await
            }
            Sender::Http1(sender) => {
                *request.uri_mut() = self.path.clone();
                request.headers_mut().insert(HOST, self.host.clone());
                let mut sender = sender.lock().await;
                sender.ready().await?;
                sender.send_request(request).await
            }
        }
    }

    /// A place on a connection opened after the one called `after`. Where none has room, one more is opened.
    async fn lend(&self, after: u64, deadline: Instant) -> Result<Lent<'_>, NoAnswer> {
        loop {
            let (id, newest, opening) = {
                let mut kept = self.kept();
                let (id, opening) = kept.lend(after, || self.open());
                (id, kept.opened, opening)
            };
            // From here on it is given back, whatever happens.
            let place = Place { connections: self, id };
            let opened = timeout_at(deadline, opening).await.unwrap_or_else(|_| {
                Err(NoAnswer::NotSent(format!("no connection to {} within the timeout", self.dialer.origin())))
            });
            let sender = opened?;
            if self.kept().is_overbooked(id, &sender) {
                continue;
            }
            return Ok(Lent { place, newest, sender });
        }
    }

    fn open(&self) -> Opening {
        let dialer = Arc::clone(&self.dialer);
        async move {
            let dialled = dialer.dial().await?;
            let refused =
                |error: hyper::Error| NoAnswer::NotSent(format!("cannot connect to {}: {error}", dialer.origin()));
            let wire = TokioIo::new(dialled.wire);
            if dialled.http2 {
                let (sender, connection) = http2::Builder::new(TokioExecutor::new())
                    .timer(TokioTimer::new())
                    .initial_max_send_streams(BEFORE_SETTINGS)
                    .keep_alive_interval(setup::PING_INTERVAL)
                    .keep_alive_timeout(setup::PING_PATIENCE)
                    .handshake(wire)
                    .await
                    .map_err(refused)?;
                // How it ends is told to the requests on it.
                tokio::spawn(connection);
                Ok(Sender::Http2(sender))
            } else {
                let (sender, connection) = http1::handshake(wire).await.map_err(refused)?;
                tokio::spawn(connection);
                Ok(Sender::Http1(Arc::new(tokio::sync::Mutex::new(sender))))
            }
        }
        .boxed()
        .shared()
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Connections {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connections").field("origin", &self.dialer.origin()).finish_non_exhaustive()
    }
}

impl Kept {
    fn lend(&mut self, after: u64, open: impl FnOnce() -> Opening) -> (u64, Opening) {
        self.lines.retain(Line::is_worth_keeping);
        let expected = self.expected;
        if let Some(line) = self.lines.iter_mut().find(|line| line.id > after && line.lent < line.room(expected)) {
            line.lent += 1;
            return (line.id, line.opening.clone());
        }
        self.opened += 1;
        let line = Line { id: self.opened, opening: open(), lent: 1, idle_since: Instant::now() };
        let lent = (line.id, line.opening.clone());
        self.lines.push(line);
        lent
    }

    /// Whether more requests wait for a connection than it can take, now that it is open and its protocol is known.
    fn is_overbooked(&mut self, id: u64, sender: &Sender) -> bool {
        match sender {
            Sender::Http2(_) => false,
            Sender::Http1(_) => {
                self.expected = 1;
                self.lines.iter().any(|line| line.id == id && line.lent > 1)
            }
        }
    }

    fn give_back(&mut self, id: u64) {
        if let Some(line) = self.lines.iter_mut().find(|line| line.id == id) {
            line.lent -= 1;
            line.idle_since = Instant::now();
        }
    }
}

impl Line {
    fn is_worth_keeping(&self) -> bool {
        let is_usable = match self.opening.peek() {
            None => true,
            Some(Ok(sender)) => !sender.is_closed(),
            Some(Err(_)) => false,
        };
        is_usable && (self.lent > 0 || self.idle_since.elapsed() < setup::POOL_IDLE)
    }

    /// How many requests it takes at a time.
    fn room(&self, expected: usize) -> usize {
        match self.opening.peek() {
            None => expected,
            Some(Ok(Sender::Http2(_))) => STREAMS,
            Some(Ok(Sender::Http1(_))) => 1,
            Some(Err(_)) => 0,
        }
    }
}

impl Sender {
    fn is_closed(&self) -> bool {
        match self {
            Self::Http2(sender) => sender.is_closed(),
            // Whoever holds it finds out.
            Self::Http1(sender) => sender.try_lock().is_ok_and(|sender| sender.is_closed()),
        }
    }
}

/// A place on a connection, given back when it is dropped.
struct Place<'a> {
    connections: &'a Connections,
    id: u64,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.connections.kept().give_back(self.id);
    }
}

/// A place on an open connection.
struct Lent<'a> {
    place: Place<'a>,
    /// The last connection that was opened when this one was lent.
    newest: u64,
    sender: Sender,
}

impl Lent<'_> {
    /// Lends the connection to nobody any more; it closes after the last answer.
    fn retire(self) {
        let Place { connections, id } = &self.place;
        connections.kept().lines.retain(|line| line.id != *id);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use tokio::time::advance;

    use super::*;

    fn kept() -> Kept {
        Kept { lines: Vec::new(), expected: STREAMS, opened: 0 }
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
            Ok(Sender::Http2(sender))
        }
        .boxed()
        .shared()
    }

    #[tokio::test]
    async fn the_first_connection_with_room_is_lent_also_while_it_is_being_opened() {
        let mut kept = kept();
        let lent: Vec<u64> = (0..=2 * STREAMS).map(|_| kept.lend(0, silent).0).collect();
        assert_eq!((lent[0], lent[STREAMS - 1], lent[STREAMS], lent[2 * STREAMS]), (1, 1, 2, 3));
        kept.give_back(1);
        assert_eq!(kept.lend(0, silent).0, 1);
    }

    #[tokio::test]
    async fn what_was_refused_shares_connections_that_were_opened_after_it_was_sent() {
        let mut kept = kept();
        let before: Vec<u64> = (0..=STREAMS).map(|_| kept.lend(0, silent).0).collect();
        let newest = kept.opened;
        assert_eq!((before[0], before[STREAMS], newest), (1, 2, 2));
        assert_eq!([kept.lend(newest, silent).0, kept.lend(newest, silent).0], [3, 3]);
        assert_eq!(kept.lend(0, silent).0, 2, "others go where there is room");
    }

    #[tokio::test]
    async fn a_connection_that_could_not_be_opened_is_lent_to_nobody_else() {
        let mut kept = kept();
        let failing = || async { Err(NoAnswer::NotSent(String::new())) }.boxed().shared();
        let (first, opening) = kept.lend(0, failing);
        assert!(opening.await.is_err());
        assert_ne!(kept.lend(0, silent).0, first);
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_is_closed_that_was_idle_for_long_and_none_that_is_in_use() {
        let mut kept = kept();
        let (busy, opening) = kept.lend(0, silent);
        opening.await.unwrap();
        let lent: Vec<u64> = (0..STREAMS).map(|_| kept.lend(0, silent).0).collect();
        kept.give_back(lent[STREAMS - 1]);
        advance(setup::POOL_IDLE).await;
        kept.give_back(busy);
        let _ = kept.lend(0, silent);
        assert_eq!(kept.lines.iter().map(|line| line.id).collect::<Vec<_>>(), [busy]);
    }
}
