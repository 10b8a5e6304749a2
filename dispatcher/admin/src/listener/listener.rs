//! The listener: a socket that answers.

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::{connections, routes, waiting};
use crate::access::Tokens;
use crate::api::ApiState;
use crate::listen_error::ListenError;
use crate::listener_sources::ListenerSources;
use outbox_dispatcher::metrics::Metrics;
use outbox_dispatcher::reloadable::Reloadable;

/// A listener that is bound and does not serve yet, so that its starter knows the address.
#[derive(Debug)]
pub struct Listener {
    socket: TcpListener,
    address: SocketAddr,
    tokens: Reloadable<Tokens>,
    /// Whether the log says where it listens.
    announced: bool,
}

impl Listener {
    /// Binds `admin.listen`; port 0 means any free port. With a token, every request but `/healthz` and `/readyz` must
    /// send one as `Authorization: Bearer`.
    pub async fn bind(listen: SocketAddr, tokens: Reloadable<Tokens>) -> Result<Self, ListenError> {
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
            tracing::info!(address = %self.address, page = format_args!("http://{}/", self.address), "listening");
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
    pub async fn serve(mut self, shown: ListenerSources, api_state: ApiState, stop: CancellationToken) {
        self.announce();
        connections::serve(self.socket, routes::router(shown, api_state, &self.tokens), stop).await;
    }
}
