//! TLS to origins: the same for all of them, except for the certificate that some are shown. Also recognises a server
//! that refused the certificate, which proves that it read no request.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use rustls::{AlertDescription, ClientConfig, Error, ProtocolVersion};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use url::Url;

use super::wire::{Tcp, Wire};

/// The TLS of a channel.
pub(crate) struct Tls {
    plain: TlsConnector,
    certified: Option<Certified>,
}

struct Certified {
    tls: TlsConnector,
    /// The only origin that is shown the certificate. None: any server that asks for one.
    only_to: Option<Url>,
}

impl Tls {
    /// TLS that is the same for all origins.
    pub(crate) fn new(plain: ClientConfig) -> Self {
        Self { plain: Arc::new(plain).into(), certified: None }
    }

    /// Shows a certificate, by `certified`, to the origin of `only_to`, or to any server that asks for one.
    pub(crate) fn with_certificate(self, certified: ClientConfig, only_to: Option<Url>) -> Self {
        Self { certified: Some(Certified { tls: Arc::new(certified).into(), only_to }), ..self }
    }

    /// The TLS settings for the origin of `url`.
    pub(crate) fn to(&self, url: &Url) -> &TlsConnector {
        self.certified(url).map_or(&self.plain, |certified| &certified.tls)
    }

    fn certified(&self, url: &Url) -> Option<&Certified> {
        let certified = self.certified.as_ref()?;
        let may_see = certified.only_to.as_ref().is_none_or(|only| only.origin() == url.origin());
        may_see.then_some(certified)
    }
}

/// The beginning of the error where a server ended the handshake over the client's certificate.
const REFUSED: &str = "it did not take the certificate it was shown, or wants one";

/// The alerts about a client's certificate and its signature. Servers send them only during the handshake (RFC 8446,
/// 6.2).
const OF_CERTIFICATES: [AlertDescription; 8] = [
    AlertDescription::BadCertificate,
    AlertDescription::CertificateExpired,
    AlertDescription::CertificateRequired,
    AlertDescription::CertificateRevoked,
    AlertDescription::CertificateUnknown,
    AlertDescription::DecryptError,
    AlertDescription::UnknownCA,
    AlertDescription::UnsupportedCertificate,
];

/// The connection over `stream`, whose handshake is over on this side.
pub(crate) fn wire(stream: TlsStream<Tcp>) -> Box<dyn Wire> {
    match stream.get_ref().1.protocol_version() {
        Some(ProtocolVersion::TLSv1_3) => Box::new(Unheard { stream, heard: false }),
        // Before TLS 1.3 the server has accepted the certificate by then.
        Some(_) | None => Box::new(stream),
    }
}

/// Whether the error comes from a server that ended the handshake over a certificate. Such a server has read nothing.
pub(crate) fn is_refused_certificate(error: &io::Error) -> bool {
    // It is recognised by its words, since HTTP/2 keeps nothing else of the error.
    error.get_ref().is_some_and(|inner| inner.to_string().starts_with(REFUSED))
}

/// Since TLS 1.3 a client may write before the server has judged its certificate, and hears the verdict when it reads
/// (RFC 8446, 4.4.2.4). On this connection the server may have said nothing yet. Then an alert about the certificate
/// ends the handshake, and is about nothing later.
struct Unheard<S> {
    stream: S,
    heard: bool,
}

impl<S: AsyncRead + Unpin> AsyncRead for Unheard<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = ready!(Pin::new(&mut self.stream).poll_read(cx, buffer));
        self.heard |= buffer.filled().len() > before;
        let read = read.map_err(|error| match of_certificate(&error) {
            Some(alert) if !self.heard => io::Error::new(error.kind(), format!("{REFUSED}: {alert:?}")),
            Some(_) | None => error,
        });
        Poll::Ready(read)
    }
}

fn of_certificate(error: &io::Error) -> Option<AlertDescription> {
    match error.get_ref()?.downcast_ref()? {
        Error::AlertReceived(alert) => OF_CERTIFICATES.contains(alert).then_some(*alert),
        _ => None,
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Unheard<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use tokio::io::AsyncReadExt;

    use super::*;

    /// A server that says some bytes, and then an alert.
    struct Says(&'static [u8], AlertDescription);

    impl AsyncRead for Says {
        fn poll_read(mut self: Pin<&mut Self>, _: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
            if self.0.is_empty() {
                return Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidData, Error::AlertReceived(self.1))));
            }
            buffer.put_slice(std::mem::take(&mut self.0));
            Poll::Ready(Ok(()))
        }
    }

    async fn proves_that_nothing_was_read(says: Says) -> bool {
        let mut wire = Unheard { stream: says, heard: false };
        let error = wire.read_to_end(&mut Vec::new()).await.unwrap_err();
        is_refused_certificate(&error)
    }

    #[tokio::test]
    async fn an_alert_over_the_certificate_is_proof_as_long_as_the_server_has_said_nothing_else() {
        for alert in OF_CERTIFICATES {
            assert!(proves_that_nothing_was_read(Says(b"", alert)).await, "{alert:?}");
            assert!(!proves_that_nothing_was_read(Says(b"HTTP/1.1 200 OK", alert)).await, "{alert:?}");
        }
        for alert in [AlertDescription::AccessDenied, AlertDescription::InternalError, AlertDescription::CloseNotify] {
            assert!(!proves_that_nothing_was_read(Says(b"", alert)).await, "{alert:?}");
        }
    }
}
