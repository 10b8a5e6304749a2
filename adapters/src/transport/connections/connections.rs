//! The connections of a channel, by origin.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use hyper::body::Incoming;
use hyper::header::HeaderMap;
use hyper::{Response, StatusCode};
use parking_lot::{Mutex, MutexGuard};
use tokio::time::Instant;
use url::Url;

use super::kept::Kept;
use super::origin::{LentConnection, Origin};
use super::request::Request;
use crate::setup::origin as origin_of;
use crate::transport::exchange::{self, HeadAlone, Read};
use crate::transport::network::Guard;
use crate::transport::network::allowance::Counted;
use crate::transport::network::dial::Dialer;
use crate::transport::network::tls::Tls;
use crate::transport::no_answer::NoAnswer;

/// How often long idle connections are closed.
const SWEEP: Duration = Duration::from_secs(30);

/// The most origins whose connections are kept. Beyond it those close that nobody has used for longest: rows may name any number of
/// hosts, and a process has only so many files.
const MOST_ORIGINS: usize = 512;

/// The connections of a channel, by origin. A connection is opened only when it is needed.
pub(crate) struct Connections {
    head_alone: HeadAlone,
    guard: Arc<Guard>,
    tls: Tls,
    patience: Duration,
    kept: Kept,
    origins: Arc<Origins>,
}

type Origins = Mutex<HashMap<String, Known>>;

struct Known {
    origin: Arc<Origin>,
    used: Instant,
}

impl Connections {
    /// Connections to the addresses that `guard` permits. `patience` is the time for making one, and `kept` says how
    /// long it is used.
    pub(crate) fn new(head_alone: HeadAlone, guard: Arc<Guard>, tls: Tls, patience: Duration, kept: Kept) -> Self {
        Self { head_alone, guard, tls, patience, kept, origins: Arc::default() }
    }

    /// Sends `request`, and waits for the status and the headers of its answer.
    ///
    /// # Cancel safety
    /// Dropping the call leaves the request in doubt.
    pub(crate) async fn send(&self, request: &Request, deadline: Instant) -> Result<Answered, NoAnswer> {
        let (response, lent) = self.origin(&request.url).send(request, self.head_alone, deadline).await?;
        Ok(Answered { response: response.map(|body| lent.counted(body)), lent })
    }

    fn origin(&self, url: &Url) -> Arc<Origin> {
        let mut origins = lock(&self.origins);
        let used = Instant::now();
        if let Some(known) = origins.get_mut(origin_of(url)) {
            known.used = used;
            return Arc::clone(&known.origin);
        }
        if origins.is_empty() {
            tokio::spawn(sweep(Arc::downgrade(&self.origins)));
        }
        let dialer = Dialer::new(url, Arc::clone(&self.guard), self.tls.to(url), self.patience);
        let origin = Arc::new(Origin::new(dialer, self.kept));
        if origins.len() >= MOST_ORIGINS {
            close_half(&mut origins);
        }
        origins.insert(origin_of(url).to_owned(), Known { origin: Arc::clone(&origin), used });
        origin
    }
}

impl std::fmt::Debug for Connections {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connections").finish_non_exhaustive()
    }
}

/// Closes idle connections, and forgets origins without connections, as long as there are any.
async fn sweep(origins: Weak<Origins>) {
    loop {
        tokio::time::sleep(SWEEP).await;
        let Some(origins) = origins.upgrade() else { return };
        let mut origins = lock(&origins);
        // A sender holds the origin too.
        origins.retain(|_, known| known.origin.sweep() || known.is_in_use());
        if origins.is_empty() {
            return;
        }
    }
}

/// Closes the connections of half of the origins: of those that nobody has used for longest.
fn close_half(origins: &mut HashMap<String, Known>) {
    let mut idle: Vec<Instant> = origins.values().filter(|known| !known.is_in_use()).map(|known| known.used).collect();
    let half = idle.len().min(origins.len() / 2);
    if let Some(last) = half.checked_sub(1) {
        let last = *idle.select_nth_unstable(last).1;
        origins.retain(|_, known| known.is_in_use() || known.used > last);
    }
}

impl Known {
    fn is_in_use(&self) -> bool {
        Arc::strong_count(&self.origin) > 1
    }
}

fn lock(origins: &Origins) -> MutexGuard<'_, HashMap<String, Known>> {
    origins.lock()
}

/// An answer whose body has not been read. A connection whose body is read to its end is kept for the next request.
/// Otherwise it is dropped.
pub(crate) struct Answered {
    response: Response<Counted<Incoming>>,
    lent: LentConnection,
}

impl Answered {
    pub(crate) fn status(&self) -> StatusCode {
        self.response.status()
    }

    pub(crate) fn headers(&self) -> &HeaderMap {
        self.response.headers()
    }

    /// Reads the body up to the cap and the deadline. A body that does not arrive whole is what did arrive.
    pub(crate) async fn read(self, deadline: Instant) -> Read {
        let (head, mut body) = self.response.into_parts();
        let (bytes, whole) = exchange::read(&mut body, deadline).await;
        if whole {
            self.lent.keep();
        }
        Read { status: head.status, headers: head.headers, body: bytes }
    }

    /// Reads a body and throws it away. Gives up, and drops the connection, where that takes too long or the body is
    /// too large.
    pub(crate) async fn drain(mut self, deadline: Instant) {
        if exchange::drain(self.response.body_mut(), deadline).await {
            self.lent.keep();
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use bytes::Bytes;
    use hyper::Method;
    use hyper::body::Body as _;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;
    use crate::setup::{POOL_IDLE, Setup, TlsRoots};

    /// Accepts connections and answers the first request of each. Says over its channel when one is closed.
    async fn server() -> (Url, tokio::sync::mpsc::UnboundedReceiver<()>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = Url::parse(&format!("http://{}/", listener.local_addr().unwrap())).unwrap();
        let (closed, closings) = tokio::sync::mpsc::unbounded_channel();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let closed = closed.clone();
                tokio::spawn(async move {
                    let mut bytes = [0; 4096];
                    assert!(stream.read(&mut bytes).await.unwrap() > 0);
                    stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").await.unwrap();
                    assert_eq!(stream.read(&mut bytes).await.unwrap_or(0), 0, "asked twice");
                    let _ = closed.send(());
                });
            }
        });
        (url, closings)
    }

    fn connections() -> Connections {
        let setup = Setup { channel: "hooks" };
        let guard = Guard::new("hooks", &["127.0.0.0/8".parse().unwrap()], None);
        Connections::new(
            HeadAlone::MayBeActedUpon,
            Arc::new(guard),
            Tls::new(setup.tls("", TlsRoots::System, &[]).unwrap()),
            Duration::from_secs(10),
            Kept { idle: POOL_IDLE, age: 10 * POOL_IDLE },
        )
    }

    async fn post(connections: &Connections, url: &Url) -> Answered {
        let request = Request {
            method: Method::POST,
            url: url.clone(),
            headers: HeaderMap::new(),
            body: Bytes::from_static(b"{}"),
            permit: Arc::new(|| true),
            recorder: None,
        };
        let answered = connections.send(&request, deadline()).await.unwrap();
        assert!(answered.response.body().is_end_stream());
        answered
    }

    fn deadline() -> Instant {
        Instant::now() + Duration::from_secs(20)
    }

    #[tokio::test]
    async fn connections_that_nobody_uses_are_closed_and_their_origins_forgotten() {
        let (url, mut closings) = server().await;
        let connections = connections();
        post(&connections, &url).await.drain(deadline()).await;
        assert_eq!(lock(&connections.origins).len(), 1);
        tokio::time::pause();
        tokio::time::advance(POOL_IDLE + SWEEP).await;
        tokio::time::resume();
        tokio::time::timeout(Duration::from_secs(20), closings.recv()).await.unwrap().unwrap();
        assert_eq!(lock(&connections.origins).len(), 0);
        post(&connections, &url).await.drain(deadline()).await;
        assert_eq!(lock(&connections.origins).len(), 1, "and found again");
    }

    #[tokio::test]
    async fn no_more_origins_are_kept_than_there_may_be_and_the_last_used_are() {
        let listener = TcpListener::bind("0.0.0.0:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut bytes = [0; 4096];
                assert!(stream.read(&mut bytes).await.unwrap() > 0);
                stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").await.unwrap();
                tokio::spawn(async move { while stream.read(&mut bytes).await.is_ok_and(|read| read > 0) {} });
            }
        });
        let connections = connections();
        for host in 0..MOST_ORIGINS + MOST_ORIGINS / 2 {
            let url = format!("http://127.0.{}.{}:{port}/", host / 250, 1 + host % 250);
            post(&connections, &Url::parse(&url).unwrap()).await.drain(deadline()).await;
            let origins = lock(&connections.origins);
            assert!(origins.len() <= MOST_ORIGINS && origins.contains_key(url.trim_end_matches('/')), "{url}");
        }
    }

    #[tokio::test]
    async fn an_origin_is_not_forgotten_while_somebody_sends_to_it() {
        let (url, mut closings) = server().await;
        let connections = connections();
        let answered = post(&connections, &url).await;
        tokio::time::pause();
        tokio::time::advance(2 * POOL_IDLE).await;
        tokio::time::sleep(SWEEP).await;
        answered.drain(deadline()).await;
        let origins = lock(&connections.origins).len();
        assert_eq!((origins, closings.is_empty()), (1, true), "its connection is kept");
        closings.recv().await.unwrap();
    }

    #[tokio::test]
    async fn a_channel_that_is_set_up_anew_closes_its_connections() {
        let (url, mut closings) = server().await;
        let connections = connections();
        post(&connections, &url).await.drain(deadline()).await;
        drop(connections);
        closings.recv().await.unwrap();
    }
}
