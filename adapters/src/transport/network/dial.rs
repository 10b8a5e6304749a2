//! Making a connection: the name, TCP, TLS. The guard has checked each address that is dialled: see
//! [`super::resolver`].

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use outbox_schema::words::own_authority;
use rustix::net::sockopt;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use url::{Host, Url};

use super::allowance::{Allowance, Limited};
use super::resolver::{Lookup, ResolveError, Resolver, System};
use super::wire::{Tcp, Wire};
use super::{Guard, port_of, tls};
use crate::setup::origin;
use crate::transport::no_answer::NoAnswer;

/// How long an address may take before the next one is tried beside it (RFC 8305, 5).
const STAGGER: Duration = Duration::from_millis(250);

/// How long a connection is idle before it is probed, and how often it is probed in vain before it is closed.
const KEEPALIVE: Duration = Duration::from_secs(15);
const KEEPALIVE_TRIES: u32 = 3;

/// How long the peer may leave written data untaken before the connection is closed, in milliseconds.
const UNTAKEN_MS: u32 = 30_000;

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Wire for T {}

/// A connection that was made.
pub(crate) struct Dialled {
    pub(crate) wire: Box<dyn Wire>,
    /// What its peer may still send.
    pub(crate) allowance: Allowance,
    /// Whether HTTP/2 was agreed upon.
    pub(crate) http2: bool,
}

/// Makes connections to one origin.
pub(crate) struct Dialer<L = System> {
    url: Url,
    resolver: Resolver<L>,
    /// The TLS of the origin. None: plain text.
    tls: Option<TlsConnector>,
    patience: Duration,
}

impl Dialer {
    /// A dialer for the origin of `url`. `patience` is the time for making a whole connection.
    pub(crate) fn new(url: &Url, guard: Arc<Guard>, tls: &TlsConnector, patience: Duration) -> Self {
        let tls = (url.scheme() == "https").then(|| tls.clone());
        Self { url: url.clone(), resolver: Resolver::new(guard), tls, patience }
    }
}

impl<L: Lookup> Dialer<L> {
    pub(crate) fn origin(&self) -> &str {
        origin(&self.url)
    }

    pub(crate) fn is_encrypted(&self) -> bool {
        self.tls.is_some()
    }

    pub(crate) fn patience(&self) -> Duration {
        self.patience
    }

    /// A new connection. The error says why there is none. Either way, nothing was sent over it.
    pub(crate) async fn dial(&self) -> Result<Dialled, NoAnswer> {
        let dialled = timeout(self.patience, async {
            let addresses = self.addresses().await?;
            let wire = connect(&addresses, STAGGER).await.map_err(|error| self.unreachable(&error))?;
            self.encrypt(Limited::new(wire)).await.map_err(|error| self.unreachable(&error))
        });
        dialled.await.unwrap_or_else(|_| Err(self.unreachable(&format!("no answer within {:?}", self.patience))))
    }

    async fn addresses(&self) -> Result<Vec<SocketAddr>, NoAnswer> {
        let port = port_of(&self.url);
        self.resolver.check(&self.url).map_err(|forbidden| NoAnswer::Impossible(forbidden.to_string()))?;
        let name = match self.url.host() {
            Some(Host::Ipv4(ip)) => return Ok(vec![(ip, port).into()]),
            Some(Host::Ipv6(ip)) => return Ok(vec![(ip, port).into()]),
            Some(Host::Domain(name)) => name,
            None => "",
        };
        self.resolver.resolve(name, port).await.map_err(|error| match error {
            ResolveError::Forbidden(forbidden) => NoAnswer::Impossible(forbidden.to_string()),
            ResolveError::Unresolved(cause) => {
                NoAnswer::NotSent(format!("the name of {} cannot be resolved: {cause}", self.origin()))
            }
        })
    }

    async fn encrypt(&self, wire: Tcp) -> io::Result<Dialled> {
        let allowance = wire.allowance();
        let Some(connector) = &self.tls else { return Ok(Dialled { wire: Box::new(wire), allowance, http2: false }) };
        let host = self.url.host_str().unwrap_or_default().trim_matches(['[', ']']).to_owned();
        let name = ServerName::try_from(host).map_err(io::Error::other)?;
        let wire = connector.connect(name, wire).await?;
        let http2 = wire.get_ref().1.alpn_protocol() == Some(b"h2");
        Ok(Dialled { wire: tls::wire(wire), allowance, http2 })
    }

    fn unreachable(&self, cause: &dyn ToString) -> NoAnswer {
        let cause = cause.to_string();
        let cause = own_authority(&cause, "name that certificate in the channel's tls_ca").unwrap_or(cause);
        NoAnswer::NotSent(format!("cannot connect to {}: {cause}", self.origin()))
    }
}

/// Connects to the first address that answers. The next address is tried beside those before it after `stagger`, or
/// once one has failed.
async fn connect(addresses: &[SocketAddr], stagger: Duration) -> io::Result<TcpStream> {
    let mut addresses = addresses.iter();
    let mut attempts = FuturesUnordered::new();
    let mut failure = io::Error::other("its name has no address");
    loop {
        let next = addresses.next();
        attempts.extend(next.map(|&address| TcpStream::connect(address)));
        let wait = if next.is_some() { stagger } else { Duration::MAX };
        match timeout(wait, attempts.next()).await {
            Ok(Some(Ok(stream))) => {
                stream.set_nodelay(true)?;
                ask_whether_it_holds(&stream)?;
                return Ok(stream);
            }
            Ok(Some(Err(error))) => failure = error,
            Ok(None) => return Err(failure),
            Err(_) => {}
        }
    }
}

/// Lets the kernel find out within a minute that the peer is gone, even while the connection is idle, or that the peer
/// takes no data. A request over a dead connection would be in doubt, and closing a stuck one would wait.
fn ask_whether_it_holds(stream: &TcpStream) -> io::Result<()> {
    sockopt::set_socket_keepalive(stream, true)?;
    sockopt::set_tcp_keepidle(stream, KEEPALIVE)?;
    sockopt::set_tcp_keepintvl(stream, KEEPALIVE)?;
    sockopt::set_tcp_keepcnt(stream, KEEPALIVE_TRIES)?;
    sockopt::set_tcp_user_timeout(stream, UNTAKEN_MS)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use tokio::net::TcpListener;

    use super::super::resolver::tests::resolver;
    use super::*;

    /// Listeners on 127.0.0.2 and 127.0.0.1. Another program may have the same port there.
    async fn two_of_one_port() -> (TcpListener, std::net::TcpListener) {
        loop {
            let permitted = TcpListener::bind("127.0.0.2:0").await.unwrap();
            if let Ok(forbidden) = std::net::TcpListener::bind(("127.0.0.1", permitted.local_addr().unwrap().port())) {
                forbidden.set_nonblocking(true).unwrap();
                return (permitted, forbidden);
            }
        }
    }

    /// Each connection looks its name up once, and dials the answer.
    #[tokio::test]
    async fn a_client_never_dials_what_a_rebinding_name_turns_into() {
        let (permitted, forbidden) = two_of_one_port().await;
        let port = permitted.local_addr().unwrap().port();
        let dialer = Dialer {
            url: Url::parse(&format!("http://hooks.example.com:{port}/")).unwrap(),
            resolver: resolver(&["127.0.0.2/32"], &[&["127.0.0.2"], &["127.0.0.1"]]),
            tls: None,
            patience: Duration::from_secs(10),
        };
        assert!(dialer.dial().await.is_ok_and(|dialled| !dialled.http2));
        permitted.accept().await.unwrap();
        let Err(NoAnswer::Impossible(error)) = dialer.dial().await else { panic!("dialled") };
        assert!(error.contains("resolves only to addresses like 127.0.0.1"), "{error}");
        assert_eq!(forbidden.accept().unwrap_err().kind(), io::ErrorKind::WouldBlock, "nobody called");
    }

    #[tokio::test]
    async fn the_next_address_is_tried_as_soon_as_one_has_failed() {
        let (closed, open) =
            (TcpListener::bind("127.0.0.1:0").await.unwrap(), TcpListener::bind("127.0.0.1:0").await.unwrap());
        let addresses = [closed.local_addr().unwrap(), open.local_addr().unwrap()];
        drop(closed);
        let connected = timeout(Duration::from_secs(20), connect(&addresses, Duration::MAX)).await.unwrap();
        assert_eq!(connected.unwrap().peer_addr().unwrap(), addresses[1]);
        let refused = connect(&addresses[..1], Duration::MAX).await.unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
    }

    #[tokio::test]
    async fn an_address_that_is_forbidden_is_not_dialled_either() {
        let tls = None;
        let (url, patience) = (Url::parse("http://169.254.169.254/").unwrap(), Duration::from_secs(10));
        let dialer = Dialer { url, resolver: resolver(&[], &[]), tls, patience };
        assert!(matches!(dialer.dial().await, Err(NoAnswer::Impossible(_))));
    }
}
