//! A bound on what a peer sends without an answer. hyper reads on for as long as something comes, and an HTTP/1 peer may send any
//! number of interim answers (`1xx`), an HTTP/2 peer any number of `PING` or `SETTINGS`. Such a peer would keep a thread busy.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::task::AtomicWaker;
use hyper::body::{Body, Frame, SizeHint};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Bytes that a peer may send without an answer. It is more than the longest head that hyper reads, and more than the read-ahead of
/// a body. 100 answers at once on an HTTP/2 connection fit in.
const MOST: i64 = 1024 * 1024;

/// Bytes that may come with each part of a body: how it is framed and encrypted.
const FRAME: i64 = 64;

/// What the peer of a connection may still send. Clones are of the same connection.
#[derive(Clone, Debug)]
pub(crate) struct Allowance(Arc<State>);

#[derive(Debug)]
struct State {
    /// Bytes that may still come. Negative: the connection is at its end.
    left: AtomicI64,
    answers: AtomicU64,
    is_ended: AtomicBool,
    /// The task of the connection.
    task: AtomicWaker,
}

impl Allowance {
    pub(crate) fn new() -> Self {
        let (left, answers, is_ended) = (AtomicI64::new(MOST), AtomicU64::new(0), AtomicBool::new(false));
        Self(Arc::new(State { left, answers, is_ended, task: AtomicWaker::new() }))
    }

    /// Notes that the head of an answer came.
    pub(crate) fn answered(&self) {
        self.0.answers.fetch_add(1, Ordering::Relaxed);
        self.grant(MOST);
    }

    /// The number of answers that came so far.
    pub(crate) fn answers(&self) -> u64 {
        self.0.answers.load(Ordering::Relaxed)
    }

    /// Ends the connection at once, whatever its peer still sends.
    fn end(&self) {
        self.0.is_ended.store(true, Ordering::Release);
        self.0.task.wake();
    }

    /// Allows `bytes` more, up to the whole.
    fn grant(&self, bytes: i64) {
        let more = |left: i64| (left >= 0).then(|| left.saturating_add(bytes).min(MOST));
        let _ = self.0.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
    }

    fn spend(&self, bytes: usize) -> io::Result<()> {
        self.0.left.fetch_sub(i64::try_from(bytes).unwrap_or(i64::MAX), Ordering::Relaxed);
        self.check()
    }

    fn check(&self) -> io::Result<()> {
        if self.0.is_ended.load(Ordering::Acquire) {
            return Err(io::Error::other("it was given up"));
        }
        if self.0.left.load(Ordering::Relaxed) < 0 {
            return Err(io::Error::other(format!("more than {} MiB came without an answer", MOST / 1024 / 1024)));
        }
        Ok(())
    }

    /// Where nothing can be read or written, has the task woken at the end of the connection.
    fn watch<T>(&self, polled: Poll<io::Result<T>>, cx: &Context<'_>) -> Poll<io::Result<T>> {
        if polled.is_pending() {
            self.0.task.register(cx.waker());
            self.check()?;
        }
        polled
    }
}

/// The use of a connection. When the last who uses it is gone, the connection closes in good order, or ends at once where its peer
/// may never let that happen.
#[derive(Debug)]
pub(crate) struct Hold {
    allowance: Allowance,
    ends_at_once: AtomicBool,
}

impl Hold {
    pub(crate) fn new(allowance: Allowance) -> Self {
        Self { allowance, ends_at_once: AtomicBool::new(false) }
    }

    pub(crate) fn allowance(&self) -> &Allowance {
        &self.allowance
    }

    /// Says whether the connection is to end at once.
    pub(crate) fn ends_at_once(&self, at_once: bool) {
        self.ends_at_once.store(at_once, Ordering::Relaxed);
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        if *self.ends_at_once.get_mut() {
            self.allowance.end();
        }
    }
}

/// A connection whose peer sends no more than its allowance.
pub(crate) struct Limited<W> {
    wire: W,
    allowance: Allowance,
}

impl<W> Limited<W> {
    pub(crate) fn new(wire: W) -> Self {
        Self { wire, allowance: Allowance::new() }
    }

    pub(crate) fn allowance(&self) -> Allowance {
        self.allowance.clone()
    }
}

impl<W: AsyncRead + Unpin> AsyncRead for Limited<W> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.allowance.check()?;
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.wire).poll_read(cx, buffer);
        let spent = self.allowance.spend(buffer.filled().len() - before);
        // A read that failed has read nothing.
        spent.inspect_err(|_| buffer.set_filled(before))?;
        self.allowance.watch(read, cx)
    }
}

impl<W: AsyncWrite + Unpin> AsyncWrite for Limited<W> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.wire).poll_write(cx, bytes);
        self.allowance.watch(written, cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.wire).poll_write_vectored(cx, slices);
        self.allowance.watch(written, cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.wire.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.wire).poll_flush(cx);
        self.allowance.watch(flushed, cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let shut = Pin::new(&mut self.wire).poll_shutdown(cx);
        self.allowance.watch(shut, cx)
    }
}

/// The body of an answer. What is read of it is allowed again, as it is a part of the answer. A part without bytes is not.
#[derive(Debug)]
pub(crate) struct Counted<B> {
    body: B,
    allowance: Allowance,
}

impl<B> Counted<B> {
    pub(crate) fn new(body: B, allowance: Allowance) -> Self {
        Self { body, allowance }
    }
}

impl<B: Body<Data = Bytes> + Unpin> Body for Counted<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(cx);
        if let Poll::Ready(Some(Ok(frame))) = &polled
            && let Some(part) = frame.data_ref().filter(|part| !part.is_empty())
        {
            self.allowance.grant(i64::try_from(part.len()).unwrap_or(MOST).saturating_add(FRAME));
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::future::poll_fn;
    use std::time::Duration;

    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    const WHOLE: usize = 1024 * 1024;

    /// A body of one part.
    struct Part(Option<Bytes>);

    impl Body for Part {
        type Data = Bytes;
        type Error = io::Error;

        fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
            Poll::Ready(self.0.take().map(|part| Ok(Frame::data(part))))
        }
    }

    fn limited(bytes: Vec<u8>) -> (Limited<std::io::Cursor<Vec<u8>>>, Allowance) {
        let wire = Limited::new(std::io::Cursor::new(bytes));
        let allowance = wire.allowance();
        (wire, allowance)
    }

    #[tokio::test]
    async fn a_peer_may_send_a_mebibyte_without_an_answer_and_no_more() {
        let (mut wire, _) = limited(vec![0; WHOLE]);
        assert_eq!(wire.read_to_end(&mut Vec::new()).await.unwrap(), WHOLE);
        let (mut wire, allowance) = limited(vec![0; WHOLE + 1]);
        let error = wire.read_to_end(&mut Vec::new()).await.unwrap_err();
        assert_eq!(error.to_string(), "more than 1 MiB came without an answer");
        allowance.answered();
        assert!(wire.read(&mut [0; 1]).await.is_err(), "an answer comes too late then");
    }

    #[tokio::test]
    async fn with_each_answer_as_much_may_come_again() {
        let (mut wire, allowance) = limited(vec![0; 3 * WHOLE]);
        for answers in 1..=3 {
            wire.read_exact(&mut vec![0; WHOLE]).await.unwrap();
            allowance.answered();
            assert_eq!(allowance.answers(), answers);
        }
    }

    #[tokio::test]
    async fn what_is_read_of_a_body_may_come_again_and_a_body_without_bytes_brings_nothing() {
        let (mut wire, allowance) = limited(vec![0; 2 * WHOLE]);
        wire.read_exact(&mut vec![0; WHOLE]).await.unwrap();
        for (bytes, more) in [(10, 74), (0, 0)] {
            let mut body = Counted::new(Part(Some(vec![0; bytes].into())), allowance.clone());
            while poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await.is_some() {}
            assert_eq!(allowance.0.left.load(Ordering::Relaxed), more);
            wire.read_exact(&mut vec![0; bytes + 64 * usize::from(bytes > 0)]).await.unwrap();
        }
        assert!(wire.read(&mut [0; 1]).await.is_err());
    }

    #[tokio::test]
    async fn a_connection_that_ends_at_once_does_so_while_it_waits_to_read_or_to_write() {
        for writes in [false, true] {
            let (near, _far) = tokio::io::duplex(16);
            let mut wire = Limited::new(near);
            let hold = Hold::new(wire.allowance());
            let task = tokio::spawn(async move {
                if writes { wire.write_all(&[0; 17]).await } else { wire.read(&mut [0; 1]).await.map(drop) }
            });
            tokio::time::sleep(Duration::from_millis(50)).await;
            assert!(!task.is_finished());
            hold.ends_at_once(true);
            drop(hold);
            let ended = tokio::time::timeout(Duration::from_secs(20), task).await.unwrap().unwrap();
            assert_eq!(ended.unwrap_err().to_string(), "it was given up");
        }
    }
}
