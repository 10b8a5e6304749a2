//! How many requests at a time the server of an HTTP/2 connection takes, as its `SETTINGS` say (RFC 9113, 6.5.2). A request beyond
//! that number would wait inside the connection, where nobody knows whether it was sent.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::task::AtomicWaker;
use hyper::client::conn::http2;
use hyper::rt::Executor;
use hyper_util::rt::TokioIo;
use tokio::sync::watch;

use super::body::Body;

/// The connection to a server whose wire is `W`.
type Connection<W> = http2::Connection<TokioIo<W>, Body, Rounds>;

/// What the server says of the requests that it takes at a time. 0: nothing yet, or none.
pub(super) type Streams = watch::Receiver<usize>;

/// Runs the tasks of one connection. After each round of one, who drives the connection looks at what its server says: hyper tells
/// nobody when `SETTINGS` come.
#[derive(Clone, Default)]
pub(super) struct Rounds(Arc<AtomicWaker>);

impl<F> Executor<F> for Rounds
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    fn execute(&self, task: F) {
        let driver = Arc::clone(&self.0);
        tokio::spawn(async move {
            let mut task = pin!(task);
            poll_fn(|context| {
                let polled = task.as_mut().poll(context);
                driver.wake();
                polled
            })
            .await
        });
    }
}

/// Drives a connection to its end, which is reported to its requests.
pub(super) fn drive<W>(mut connection: Connection<W>, rounds: Rounds) -> Streams
where
    W: tokio::io::AsyncRead + tokio::io::AsyncWrite + Send + Unpin + 'static,
{
    let (says, streams) = watch::channel(0);
    tokio::spawn(poll_fn(move |context| {
        rounds.0.register(context.waker());
        let polled = connection.poll_unpin(context);
        let most = connection.current_max_send_streams();
        says.send_if_modified(|said| std::mem::replace(said, most) != most);
        polled
    }));
    streams
}

/// Waits until the server says that it takes requests. The error says that the connection has ended before.
pub(super) async fn greeted(streams: &mut Streams) -> Result<(), watch::error::RecvError> {
    streams.wait_for(|most| *most > 0).await.map(drop)
}
