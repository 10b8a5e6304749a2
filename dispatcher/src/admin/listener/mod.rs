//! The HTTP listener of `admin.listen`: health, readiness, metrics, and the admin API.

mod connections;
mod guard;
mod routes;
mod waiting;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::admin::api::Office;
use crate::destinations::DestinationsNow;
use crate::health::readiness::Readiness;
use crate::health::vitals::VitalsCache;
use crate::in_force::InForce;
use crate::metrics::Metrics;
use crate::term::pulse::Pulse;

pub use guard::Tokens;
pub(crate) use guard::{ANOTHER_NAME, ONLY_READS, Role, names_this_machine};

/// Questions of the admin API that are worked on at once. Each takes a connection to the database.
pub const QUESTIONS_AT_ONCE: u32 = 2;

/// Changes by the admin API that are worked on at once. Each takes a connection to the database.
pub const CHANGES_AT_ONCE: u32 = 2;

/// What health, readiness and metrics are read from.
#[derive(Clone)]
pub struct ListenerSources {
    /// The numbers of `/metrics`.
    pub metrics: Arc<Metrics>,
    /// The numbers that the database adds to `/metrics`.
    pub vitals: Arc<VitalsCache>,
    /// The pulse of the loop: decides whether `/healthz` is well.
    pub pulse: Arc<Pulse>,
    /// The source of the causes in `/readyz`.
    pub readiness: Arc<dyn Readiness>,
    /// What the poller knows of its destinations.
    pub destinations: DestinationsNow,
}

/// A listener that is bound and does not serve yet, so that its starter knows the address.
#[derive(Debug)]
pub struct Listener {
    socket: TcpListener,
    address: SocketAddr,
    tokens: InForce<Tokens>,
    /// Whether the log says where it listens.
    announced: bool,
}

/// The listener cannot start.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// The address is taken, is not one of this machine, or is not allowed.
    #[error("admin.listen = \"{listen}\" cannot be listened on: {source}; choose a free address of this machine")]
    Bind {
        /// The configured address.
        listen: SocketAddr,
        /// The words of the operating system.
        source: io::Error,
    },
    /// Other machines reach the listener, and no token is set.
    #[error(
        "admin.listen = \"{listen}\" can be reached from other machines and no token of [admin] is set: set \
         admin.token, or listen on 127.0.0.1"
    )]
    Exposed {
        /// The configured address.
        listen: SocketAddr,
    },
    /// A token is empty: it would let every client in.
    #[error("a token of [admin] is empty: set a secret, or leave the key out and listen on 127.0.0.1")]
    EmptyToken,
}

impl Listener {
    /// Binds `admin.listen`; port 0 means any free port. With a token, every request but `/healthz` and `/readyz` must
    /// send one as `Authorization: Bearer`.
    pub async fn bind(listen: SocketAddr, tokens: InForce<Tokens>) -> Result<Self, ListenError> {
        tokens.current().guard(listen)?;
        let bound = TcpListener::bind(listen).await.and_then(|socket| Ok((socket.local_addr()?, socket)));
        let (address, socket) = bound.map_err(|source| ListenError::Bind { listen, source })?;
        Ok(Self { socket, address, tokens, announced: false })
    }

    /// The address of the listener.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Says once that it answers, and where.
    fn announce(&mut self) {
        if !std::mem::replace(&mut self.announced, true) {
            tracing::info!(address = %self.address, "listening");
        }
    }

    /// Answers probes and scrapes while the replica cannot begin, until `stop`: it is alive, and not ready for this cause.
    #[must_use]
    pub async fn wait(
        mut self,
        metrics: Arc<Metrics>,
        cause: watch::Receiver<String>,
        stop: CancellationToken,
    ) -> Self {
        self.announce();
        let open = connections::serve_until(&self.socket, waiting::router(metrics, cause, &self.tokens), &stop).await;
        tokio::spawn(connections::let_end(open));
        self
    }

    /// Answers requests until `stop`, and then those that came before it.
    pub async fn serve(mut self, shown: ListenerSources, office: Office, stop: CancellationToken) {
        self.announce();
        connections::serve(self.socket, routes::router(shown, office, &self.tokens), stop).await;
    }
}
