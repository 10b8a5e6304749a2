//! Making a connection for an adapter that keeps its connections itself: the name, TCP, TLS. What is dialled has been
//! checked by the guard, as in [`super::resolver`].

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use reqwest::dns::Resolve;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use url::{Host, Url};

use super::resolver::GuardedResolver;
use super::{Forbidden, Guard};
use crate::exchange::NoAnswer;
use crate::setup::origin;

/// How long an address may take before the next is tried beside it (RFC 8305, 5).
const STAGGER: Duration = Duration::from_millis(250);

/// A connection, encrypted or not.
pub(crate) trait Wire: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Wire for T {}

/// A connection that was made.
pub(crate) struct Dialled {
    pub(crate) wire: Box<dyn Wire>,
    /// Whether HTTP/2 was agreed upon.
    pub(crate) http2: bool,
}

/// Makes connections to one origin.
pub(crate) struct Dialer {
    url: Url,
    guard: Arc<Guard>,
    /// None: in plain text.
    tls: Option<TlsConnector>,
    patience: Duration,
}

impl Dialer {
    /// For the origin of `url`; `patience` is for a whole connection.
    pub(crate) fn new(url: &Url, guard: Arc<Guard>, tls: ClientConfig, patience: Duration) -> Self {
        let tls = (url.scheme() == "https").then(|| TlsConnector::from(Arc::new(tls)));
        Self { url: url.clone(), guard, tls, patience }
    }

    pub(crate) fn origin(&self) -> &str {
        origin(&self.url)
    }

    pub(crate) fn is_encrypted(&self) -> bool {
        self.tls.is_some()
    }

    /// A new connection; else why there is none. Nothing was sent over it either way.
    pub(crate) async fn dial(&self) -> Result<Dialled, NoAnswer> {
        let dialled = timeout(self.patience, async {
            let addresses = self.addresses().await?;
            let wire = connect(&addresses).await.map_err(|error| self.unreachable(&error))?;
            self.encrypt(wire).await.map_err(|error| self.unreachable(&error))
        });
        dialled.await.unwrap_or_else(|_| Err(self.unreachable(&format!("no answer within {:?}", self.patience))))
    }

    async fn addresses(&self) -> Result<Vec<SocketAddr>, NoAnswer> {
        let port = self.url.port_or_known_default().unwrap_or_default();
        let name = match self.url.host() {
            Some(Host::Ipv4(ip)) => return Ok(vec![(ip, port).into()]),
            Some(Host::Ipv6(ip)) => return Ok(vec![(ip, port).into()]),
            Some(Host::Domain(name)) => name,
            None => "",
        };
        let unresolved = |cause: &dyn ToString| {
            NoAnswer::NotSent(format!("the name of {} cannot be resolved: {}", self.origin(), cause.to_string()))
        };
        let name = name.parse().map_err(|_| unresolved(&"it is not a name"))?;
        let resolved = GuardedResolver::new(Arc::clone(&self.guard)).resolve(name).await;
        let resolved = resolved.map_err(|error| match error.downcast_ref::<Forbidden>() {
            Some(forbidden) => NoAnswer::Impossible(forbidden.to_string()),
            None => unresolved(&error),
        })?;
        Ok(resolved.map(|address| SocketAddr::new(address.ip(), port)).collect())
    }

    async fn encrypt(&self, wire: TcpStream) -> io::Result<Dialled> {
        let Some(tls) = &self.tls else { return Ok(Dialled { wire: Box::new(wire), http2: false }) };
        let host = self.url.host_str().unwrap_or_default().trim_matches(['[', ']']).to_owned();
        let name = ServerName::try_from(host).map_err(io::Error::other)?;
        let wire = tls.connect(name, wire).await?;
        let http2 = wire.get_ref().1.alpn_protocol() == Some(b"h2");
        Ok(Dialled { wire: Box::new(wire), http2 })
    }

    fn unreachable(&self, cause: &dyn ToString) -> NoAnswer {
        NoAnswer::NotSent(format!("cannot connect to {}: {}", self.origin(), cause.to_string()))
    }
}

/// The first of the addresses that answers.
async fn connect(addresses: &[SocketAddr]) -> io::Result<TcpStream> {
    let mut attempts = FuturesUnordered::new();
    let mut wait = Duration::ZERO;
    for &address in addresses {
        attempts.push(async move {
            tokio::time::sleep(wait).await;
            TcpStream::connect(address).await
        });
        wait += STAGGER;
    }
    let mut failure = io::Error::other("its name has no address");
    while let Some(attempt) = attempts.next().await {
        match attempt {
            Ok(stream) => {
                stream.set_nodelay(true)?;
                return Ok(stream);
            }
            Err(error) => failure = error,
        }
    }
    Err(failure)
}
