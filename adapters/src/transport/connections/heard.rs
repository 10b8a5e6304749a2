//! What was heard on a wire, whatever hyper makes of it. A receiver whose answer of HTTP/1 begins with a status of 2xx has taken the
//! message, also where the rest of the head is too large, is malformed, or never comes.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use hyper::StatusCode;
use parking_lot::{Mutex, MutexGuard};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// The longest beginning of a line that is looked at: `HTTP/1.1 200 `, where what follows the status does not matter.
const LINE: usize = 13;

/// What was heard on one connection. Clones are of the same connection.
#[derive(Clone, Debug, Default)]
pub(super) struct Heard(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    answer: Beginning,
    error: Option<io::Error>,
}

/// The beginning of an answer, up to its status.
#[derive(Debug, Default)]
struct Beginning {
    /// The beginning of the line that is being read.
    line: Vec<u8>,
    /// Whether that line stands in the head of an interim answer (`1xx`), which the answer follows.
    in_interim: bool,
    status: Option<StatusCode>,
}

impl Heard {
    /// Notes that a request is about to be written: what comes from here on is its answer.
    pub(super) fn begin(&self) {
        self.state().answer = Beginning::default();
    }

    /// The status of the answer, where its line was read and says that the message was taken.
    pub(super) fn accepted(&self) -> Option<StatusCode> {
        self.state().answer.status.filter(StatusCode::is_success)
    }

    /// The error that ended the reading.
    pub(super) fn error(&self) -> Option<io::Error> {
        self.state().error.take()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock()
    }
}

impl Beginning {
    fn hear(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            if self.status.is_some() {
                return;
            }
            if byte == b'\n' {
                self.end_line();
            } else if self.line.len() < LINE {
                self.line.push(byte);
                self.look();
            }
        }
    }

    fn end_line(&mut self) {
        if matches!(self.line.as_slice(), b"" | b"\r") {
            self.in_interim = false;
        } else {
            // The line may end with its status.
            self.line.push(b'\r');
            self.look();
        }
        self.line.clear();
    }

    /// Looks for a status, which is complete with what follows its three digits.
    fn look(&mut self) {
        let status = self.line.strip_prefix(b"HTTP/1.1 ").or_else(|| self.line.strip_prefix(b"HTTP/1.0 "));
        let Some(&[a, b, c, ref after @ ..]) = status else { return };
        if self.in_interim || !matches!(after, [b' ' | b'\r']) {
            return;
        }
        match StatusCode::from_bytes(&[a, b, c]) {
            Ok(status) if status.is_informational() => self.in_interim = true,
            Ok(status) => self.status = Some(status),
            Err(_) => {}
        }
    }
}

/// A wire that is listened to.
pub(super) struct Listened<W> {
    wire: W,
    heard: Heard,
}

impl<W> Listened<W> {
    pub(super) fn new(wire: W, heard: Heard) -> Self {
        Self { wire, heard }
    }
}

impl<W: AsyncRead + Unpin> AsyncRead for Listened<W> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.wire).poll_read(cx, buffer);
        match &read {
            Poll::Ready(Ok(())) => self.heard.state().answer.hear(&buffer.filled()[before..]),
            // The error itself goes to hyper, which says nothing of it where no request waits.
            Poll::Ready(Err(error)) => {
                self.heard.state().error = Some(io::Error::new(error.kind(), error.to_string()));
            }
            Poll::Pending => {}
        }
        read
    }
}

impl<W: AsyncWrite + Unpin> AsyncWrite for Listened<W> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.wire).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.wire).poll_write_vectored(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.wire.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.wire).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.wire).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_status_of_an_answer_is_heard_however_its_bytes_arrive() {
        for (answer, status) in [
            ("HTTP/1.1 200 OK\r\nX: y", Some(200)),
            ("HTTP/1.1 204\r\n", Some(204)),
            ("HTTP/1.0 202\n", Some(202)),
            ("HTTP/1.1 20", None),
            ("HTTP/1.1 200", None),
            ("HTTP/1.1 500 Not\r\nHTTP/1.1 200 OK\r\n", None),
            ("HTTP/1.1 103 Early\r\nLink: x\r\n\r\nHTTP/1.1 201 Created\r\n", Some(201)),
            ("HTTP/1.1 103 Early\r\nHTTP/1.1 200 OK\r\n", None),
            ("HTTP/1.1 100\r\n\r\nHTTP/1.1 503 Busy\r\n", None),
            ("SSH-2.0-x\r\n200 OK\r\n", None),
        ] {
            for size in [1, 2, 5, answer.len()] {
                let heard = Heard::default();
                heard.begin();
                answer.as_bytes().chunks(size).for_each(|part| heard.state().answer.hear(part));
                assert_eq!(heard.accepted().map(|status| status.as_u16()), status, "{answer:?} by {size}");
                heard.begin();
                assert_eq!(heard.accepted(), None, "the next request has no answer yet");
            }
        }
    }
}
