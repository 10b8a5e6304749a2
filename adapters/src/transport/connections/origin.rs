//! The connections to one origin, over HTTP/2 where it speaks that, and requests over them.
//!
//! An HTTP/1 connection carries one request at a time. On an HTTP/2 connection FCM takes 100 requests at a time and
//! lets further ones wait (<https://firebase.google.com/docs/cloud-messaging/scale-fcm>); most servers do the same. So
//! at most that many requests share a connection, and then the next one is opened.
//!
//! FCM, like other servers, goes away (`GOAWAY`) after some idle minutes, or closes an idle connection. No message
//! fails by that: a request that was refused unread goes over another connection. That one is newly opened, as older
//! ones may go away too.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper::header::{ACCEPT, HOST, HeaderValue, USER_AGENT};
use hyper::{Response, StatusCode, Uri};
use hyper_util::rt::{TokioIo, TokioTimer};
use parking_lot::{Mutex, MutexGuard};
use tokio::time::{Instant, timeout, timeout_at};
use url::{Position, Url};

use super::Request;
use super::body::{Body, Offer};
use super::heard::{Heard, Listened};
use super::kept::Kept;
use super::pool::{First, OneAtATime, Opened, Opening, Pool, Way};
use super::streams::{Rounds, drive, greeted};
use crate::recorder::{SeenAnswer, SeenRequest, seen_headers};
use crate::setup;
use crate::transport::exchange::{HeadAlone, unanswered, ungreeted};
use crate::transport::network::allowance::{Allowance, Counted, Hold};
use crate::transport::network::dial::Dialer;
use crate::transport::no_answer::{NoAnswer, timed_out};

/// Requests that a connection takes before the server has said how many it takes at a time. The server says so in its
/// greeting (RFC 9113, 3.4), and refuses requests beyond that number, or lets them wait.
const BEFORE_SETTINGS: usize = 0;

/// Bytes that a server may send ahead on a stream, and on a connection: twice what is kept of an answer. hyper's own windows are
/// 2 MB and 5 MB, for each origin.
const WINDOW: u32 = 128 * 1024;

/// Bytes that a connection of HTTP/1 reads before they make sense, as the head of an answer. What comes with the last read may be as
/// much again. hyper's own bound is 400 KiB, for each message in flight.
const READ_AHEAD: usize = 64 * 1024;

/// Headers of an answer of HTTP/1 that are read. hyper's own bound is 100.
const HEADERS: usize = 512;

/// The largest head of an answer of HTTP/2, unpacked. hyper's own bound is 16 KiB.
const HEAD: u32 = 256 * 1024;

/// How long a connection may take to be ready again after its last answer was read.
const READY: Duration = Duration::from_secs(1);

/// How long a connection may leave a request untaken before another one gets it, where that is safe. Its server takes
/// fewer at a time than others do, or it is stuck.
const UNTAKEN: Duration = Duration::from_secs(5);

/// The number of connections that may refuse a request before its attempt fails.
const REFUSALS: usize = 5;

/// The requests to one origin.
pub(super) struct Origin {
    dialer: Arc<Dialer>,
    pool: Mutex<Pool>,
}

impl Origin {
    pub(super) fn new(dialer: Dialer, kept: Kept) -> Self {
        let pool = Mutex::new(Pool::new(dialer.is_encrypted(), kept));
        Self { dialer: Arc::new(dialer), pool }
    }

    /// Sends `request`, and waits for the status and the headers of its answer.
    pub(super) async fn send(
        self: Arc<Self>,
        request: &Request,
        head_alone: HeadAlone,
        deadline: Instant,
    ) -> Result<(Response<Incoming>, LentConnection), NoAnswer> {
        let (mut refusals, mut after) = (0, 0);
        loop {
            let mut lent = self.lend(after, deadline).await?;
            let take_by = if refusals < REFUSALS { deadline.min(Instant::now() + UNTAKEN) } else { deadline };
            match self.send_over(&mut lent.sender, request, head_alone, take_by, deadline).await {
                Ok(response) => return Ok((response, lent)),
                Err(NoAnswer::Refused(_)) if refusals < REFUSALS => {
                    refusals += 1;
                    after = lent.newest;
                    lent.retire();
                }
                Err(NoAnswer::NotPermitted) => {
                    // The connection was not used. Where making one takes longer than a term, the next term has it.
                    lent.keep();
                    return Err(NoAnswer::NotPermitted);
                }
                Err(no_answer) => return Err(no_answer),
            }
        }
    }

    async fn send_over(
        &self,
        sender: &mut Sender,
        request: &Request,
        head_alone: HeadAlone,
        take_by: Instant,
        deadline: Instant,
    ) -> Result<Response<Incoming>, NoAnswer> {
        let origin = self.dialer.origin();
        match timeout_at(deadline, sender.is_ready()).await {
            Ok(true) => {}
            Ok(false) => return Err(NoAnswer::Refused(format!("{origin} closed the connection before it was used"))),
            Err(_) => return Err(NoAnswer::NotSent(not_taken(origin))),
        }
        let offer = Offer::new(request.body.clone());
        let outgoing = sender
            .request(request, offer.body())
            .map_err(|cause| NoAnswer::Impossible(format!("the target at {origin} cannot be requested: {cause}")))?;
        if !request.permit.holds() {
            return Err(NoAnswer::NotPermitted);
        }
        if let Some(recorder) = &request.recorder {
            recorder.sent(sender.seen(request, &outgoing));
        }
        sender.begin();
        let sent = Instant::now();
        let answers = sender.allowance().answers();
        let mut taken_back = false;
        let answered = {
            let mut answer = pin!(sender.send(outgoing));
            let mut answered = timeout_at(take_by, &mut answer).await.ok();
            if answered.is_none() {
                // A connection whose body is taken back does not get it any more.
                taken_back = head_alone == HeadAlone::MeansNothing && offer.take_back();
                if !taken_back {
                    answered = timeout_at(deadline, answer).await.ok();
                }
            }
            answered
        };
        if answered.is_none() {
            sender.give_up(answers);
        }
        if let (None | Some(Err(_)), Some(status)) = (&answered, sender.accepted()) {
            return Err(NoAnswer::Accepted(status));
        }
        match answered {
            Some(Ok(response)) => {
                if let Some(recorder) = &request.recorder {
                    let status = response.status().as_u16();
                    recorder.answered(SeenAnswer::new(status, response.headers(), sent.elapsed()));
                }
                Ok(response)
            }
            Some(Err(error)) => Err(unanswered(&error, origin, offer.take_back(), head_alone)),
            None if taken_back && take_by < deadline => Err(NoAnswer::Refused(not_taken(origin))),
            None if taken_back => Err(NoAnswer::NotSent(not_taken(origin))),
            None => Err(timed_out(origin, sent)),
        }
    }

    /// Closes connections that were idle for long. False where none is left.
    pub(super) fn sweep(&self) -> bool {
        let mut pool = self.pool();
        pool.sweep();
        !pool.is_empty()
    }

    /// A place on a connection with a number above `after`. Where none has room, one more is opened.
    async fn lend(self: &Arc<Self>, after: u64, deadline: Instant) -> Result<LentConnection, NoAnswer> {
        loop {
            let (newest, way) = {
                let mut pool = self.pool();
                let way = pool.lend(after, || self.open());
                (pool.opened(), way)
            };
            let (id, opening) = match way {
                Way::Idle(connection) => return Ok(self.lent(newest, Sender::one_at_a_time(connection))),
                Way::Line(id, opening) => (id, opening),
            };
            // From here on the place is given back, whatever happens.
            let place = Place { origin: Arc::clone(self), id };
            let opened = timeout_at(deadline, opening.clone()).await.unwrap_or_else(|_| {
                Err(NoAnswer::NotSent(format!("no connection to {} within the timeout", self.dialer.origin())))
            });
            match opened? {
                Opened::Http2(sender, hold, streams) => {
                    // More may have waited for the connection than its server takes.
                    if self.pool().found_http2(id, &opening, &streams) {
                        return Ok(self.lent(newest, Sender::Http2(sender, place, hold)));
                    }
                }
                Opened::Http1(first) => {
                    place.retire();
                    self.pool().found_http1();
                    // Of all the requests that waited for the connection, one gets it.
                    if let Some(connection) = first.take() {
                        return Ok(self.lent(newest, Sender::one_at_a_time(connection)));
                    }
                }
            }
        }
    }

    fn lent(self: &Arc<Self>, newest: u64, sender: Sender) -> LentConnection {
        LentConnection { origin: Arc::clone(self), newest, sender }
    }

    fn open(&self) -> Opening {
        let dialer = Arc::clone(&self.dialer);
        async move {
            let dialled = dialer.dial().await?;
            let refused =
                |error: hyper::Error| NoAnswer::NotSent(format!("cannot connect to {}: {error}", dialer.origin()));
            let heard = Heard::default();
            let wire = TokioIo::new(Listened::new(dialled.wire, heard.clone()));
            let hold = Hold::new(dialled.allowance);
            if dialled.http2 {
                let rounds = Rounds::default();
                let (sender, connection) = http2::Builder::new(rounds.clone())
                    .timer(TokioTimer::new())
                    .initial_max_send_streams(BEFORE_SETTINGS)
                    .initial_stream_window_size(WINDOW)
                    .initial_connection_window_size(WINDOW)
                    .max_header_list_size(HEAD)
                    .keep_alive_interval(setup::PING_INTERVAL)
                    .keep_alive_timeout(setup::PING_PATIENCE)
                    .handshake(wire)
                    .await
                    .map_err(refused)?;
                let mut streams = drive(connection, rounds);
                match timeout(dialer.patience(), greeted(&mut streams)).await {
                    Ok(Ok(())) => Ok(Opened::Http2(sender, Arc::new(hold), streams)),
                    Ok(Err(_)) => Err(ungreeted(dialer.origin(), heard.error().as_ref())),
                    Err(_) => Err(NoAnswer::NotSent(format!("{} takes no request over HTTP/2", dialer.origin()))),
                }
            } else {
                let mut builder = http1::Builder::new();
                let builder = builder.max_buf_size(READ_AHEAD).max_headers(HEADERS);
                let (sender, connection) = builder.handshake(wire).await.map_err(refused)?;
                tokio::spawn(connection);
                Ok(Opened::Http1(First::new(OneAtATime::new(sender, hold, heard))))
            }
        }
        .boxed()
        .shared()
    }

    fn pool(&self) -> MutexGuard<'_, Pool> {
        self.pool.lock()
    }
}

/// A connection that is lent to one request.
pub(super) struct LentConnection {
    origin: Arc<Origin>,
    /// The number of the newest connection when this one was lent.
    newest: u64,
    sender: Sender,
}

enum Sender {
    Http1(OneAtATime),
    Http2(http2::SendRequest<Body>, Place, Arc<Hold>),
}

impl LentConnection {
    /// Keeps the connection for the next request: the answer to this one has been read to its end.
    pub(super) fn keep(self) {
        if let Sender::Http1(connection) = self.sender {
            connection.hold.ends_at_once(false);
            self.origin.pool().give_back_idle(connection);
        }
    }

    /// The body of an answer over the connection.
    pub(super) fn counted<B>(&self, body: B) -> Counted<B> {
        Counted::new(body, self.sender.allowance().clone())
    }

    /// Lends the connection to no more requests. It closes after the last answer.
    fn retire(self) {
        if let Sender::Http2(_, place, _) = self.sender {
            place.retire();
        }
    }
}

impl Sender {
    /// A connection that ends at once if the attempt ends before its answer has been read.
    fn one_at_a_time(connection: OneAtATime) -> Self {
        connection.hold.ends_at_once(true);
        Self::Http1(connection)
    }

    fn allowance(&self) -> &Allowance {
        match self {
            Self::Http1(connection) => connection.hold.allowance(),
            Self::Http2(.., hold) => hold.allowance(),
        }
    }

    /// Notes that a request is about to be written.
    fn begin(&self) {
        if let Self::Http1(connection) = self {
            connection.heard.begin();
        }
    }

    /// The status of an answer that cannot be read further, where it says that the message was taken.
    fn accepted(&self) -> Option<StatusCode> {
        match self {
            Self::Http1(connection) => connection.heard.accepted(),
            Self::Http2(..) => None,
        }
    }

    /// Gives up a connection that answered nothing while a request ran out of time. It takes no more requests, and ends
    /// at once after those that it has. On a connection that answers others the receiver may only be slow with this
    /// one. `answers` is the number of its answers when the request was sent.
    fn give_up(&self, answers: u64) {
        if let Self::Http2(_, place, hold) = self
            && hold.allowance().answers() == answers
        {
            hold.ends_at_once(true);
            place.origin.pool().retire(place.id);
        }
    }

    /// The request in the form of this connection. The error says what is wrong with its URL.
    fn request(&self, request: &Request, body: Body) -> Result<hyper::Request<Body>, String> {
        let Request { method, url, headers, .. } = request;
        let mut outgoing = hyper::Request::new(body);
        *outgoing.method_mut() = method.clone();
        *outgoing.headers_mut() = headers.clone();
        // Some firewalls block a request that does not say what it accepts.
        for (name, value) in [(ACCEPT, "*/*"), (USER_AGENT, setup::USER_AGENT)] {
            outgoing.headers_mut().entry(name).or_insert(HeaderValue::from_static(value));
        }
        let uri = match self {
            Self::Http1(_) => {
                let host = host(url).parse().map_err(|_| "its host is no header value".to_owned())?;
                outgoing.headers_mut().insert(HOST, host);
                &url[Position::BeforePath..Position::AfterQuery]
            }
            Self::Http2(..) => &url[..Position::AfterQuery],
        };
        *outgoing.uri_mut() = uri.parse::<Uri>().map_err(|error| error.to_string())?;
        Ok(outgoing)
    }

    /// The request as a recorder gets it.
    fn seen(&self, request: &Request, outgoing: &hyper::Request<Body>) -> SeenRequest {
        SeenRequest {
            method: request.method.to_string(),
            url: request.url[..Position::AfterQuery].to_owned(),
            protocol: match self {
                Self::Http1(_) => "HTTP/1.1",
                Self::Http2(..) => "HTTP/2",
            },
            headers: seen_headers(outgoing.headers(), request.body.len()),
            body: String::from_utf8_lossy(&request.body).into_owned(),
        }
    }

    /// Waits until the connection takes a request. False where it does not, and has taken none.
    async fn is_ready(&mut self) -> bool {
        match self {
            // A connection whose last request was answered before it was read may be stuck in it.
            Self::Http1(connection) => timeout(READY, connection.sender.ready()).await.is_ok_and(|ready| ready.is_ok()),
            Self::Http2(sender, ..) => sender.ready().await.is_ok(),
        }
    }

    async fn send(&mut self, request: hyper::Request<Body>) -> hyper::Result<Response<Incoming>> {
        let answer = match self {
            Self::Http1(connection) => {
                let answer = connection.sender.send_request(request).await;
                if let Ok(answer) = &answer {
                    connection.announced(answer.headers());
                }
                answer
            }
            Self::Http2(sender, ..) => sender.send_request(request).await,
        };
        if answer.is_ok() {
            self.allowance().answered();
        }
        answer
    }
}

fn not_taken(origin: &str) -> String {
    format!("{origin} did not take the request within the timeout")
}

/// The host with its port, unless that is the scheme's own.
fn host(url: &Url) -> &str {
    &url[Position::BeforeHost..Position::AfterPort]
}

/// A place on a connection, which is given back when it is dropped.
struct Place {
    origin: Arc<Origin>,
    id: u64,
}

impl Place {
    /// Lends the connection to no other request.
    fn retire(self) {
        self.origin.pool().retire(self.id);
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.origin.pool().give_back(self.id);
    }
}
