//! The HTTP listener of `admin.listen`: health, readiness, metrics, and the admin API.

mod connections;
mod guard;
mod routes;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::admin::api::Office;
use crate::health::readiness::Readiness;
use crate::health::vitals::VitalsCache;
use crate::in_force::InForce;
use crate::metrics::Metrics;
use crate::term::pulse::Pulse;

pub use guard::Tokens;

/// Questions of the admin API that are worked on at once. Each takes a connection to the database.
pub const QUESTIONS_AT_ONCE: u32 = 2;

/// Changes by the admin API that are worked on at once. Each takes a connection to the database.
pub const CHANGES_AT_ONCE: u32 = 2;

/// What the listener shows.
#[derive(Clone)]
pub struct Shown {
    /// The numbers of `/metrics`.
    pub metrics: Arc<Metrics>,
    /// What the database adds to them.
    pub vitals: Arc<VitalsCache>,
    /// Whether `/healthz` is well.
    pub pulse: Arc<Pulse>,
    /// The causes of `/readyz`.
    pub readiness: Arc<dyn Readiness>,
}

/// Bound and not yet serving, so that whoever starts it knows the address.
#[derive(Debug)]
pub struct Listener {
    socket: TcpListener,
    address: SocketAddr,
    router: Router,
}

/// The listener cannot start.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// The address is taken, not ours, or not allowed.
    #[error("admin.listen = \"{listen}\" cannot be listened on: {source}; choose a free address of this machine")]
    Bind {
        /// As configured.
        listen: SocketAddr,
        /// The system's own words.
        source: io::Error,
    },
    /// Anybody on the network could ask.
    #[error(
        "admin.listen = \"{listen}\" can be reached from other machines and neither admin.token nor admin.read_token is \
         set: set a token, or listen on 127.0.0.1"
    )]
    Exposed {
        /// As configured.
        listen: SocketAddr,
    },
    /// A guard that lets everybody in.
    #[error("a token of [admin] is empty: set a secret, or leave the key out and listen on 127.0.0.1")]
    EmptyToken,
}

impl Listener {
    /// Listens on `admin.listen`, any free port where it says 0. With a token, all but `/healthz` and `/readyz`
    /// ask for one as `Authorization: Bearer`.
    pub async fn bind(
        listen: SocketAddr,
        tokens: &InForce<Tokens>,
        shown: Shown,
        office: Office,
    ) -> Result<Self, ListenError> {
        tokens.current().guard(listen)?;
        let bound = TcpListener::bind(listen).await.and_then(|socket| Ok((socket.local_addr()?, socket)));
        let (address, socket) = bound.map_err(|source| ListenError::Bind { listen, source })?;
        tracing::info!(%address, "listening");
        Ok(Self { socket, address, router: routes::router(shown, office, tokens) })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers until `stop`, and then what was asked before it.
    pub async fn serve(self, stop: CancellationToken) {
        connections::serve(self.socket, self.router, stop).await;
    }
}
