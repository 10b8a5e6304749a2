//! A connection that is closed only after the other side has closed it, or has had time to: closing while something
//! unread has come throws away what was said last (RFC 9112, 9.6), as which requests were not taken.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::server::TlsStream;

const PATIENCE: Duration = Duration::from_secs(2);

pub(super) struct Lingering(Option<TlsStream<TcpStream>>);

impl Lingering {
    pub(super) fn new(stream: TlsStream<TcpStream>) -> Self {
        Self(Some(stream))
    }

    fn stream(&mut self) -> Pin<&mut TlsStream<TcpStream>> {
        Pin::new(self.0.as_mut().expect("it is there until it is dropped"))
    }
}

impl Drop for Lingering {
    fn drop(&mut self) {
        let Some(mut stream) = self.0.take() else { return };
        tokio::spawn(tokio::time::timeout(PATIENCE, async move {
            let _ = stream.shutdown().await;
            tokio::io::copy(&mut stream, &mut tokio::io::sink()).await
        }));
    }
}

impl AsyncRead for Lingering {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.stream().poll_read(cx, buffer)
    }
}

impl AsyncWrite for Lingering {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.stream().poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream().poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream().poll_shutdown(cx)
    }
}
