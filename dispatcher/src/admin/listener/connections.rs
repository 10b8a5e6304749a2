//! Connections: few, of one request each, and closed in order at the end. A slow or greedy client must not cost the
//! process memory, nor keep a health probe out for long.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time;
use tokio_util::sync::CancellationToken;

/// Connections at once; more wait in the system's queue.
const CONNECTIONS: usize = 64;

/// How long a client may take to send the head of its request.
const HEAD_PATIENCE: Duration = Duration::from_secs(10);

/// The longest life of a connection: the head, the longest change, and a client that reads slowly.
const LIFETIME: Duration = Duration::from_mins(15);

/// How long answers may take once the process is asked to stop.
const STOP_PATIENCE: Duration = Duration::from_secs(2);

/// How long to wait after the system refused to accept, for want of file descriptors for example.
const ACCEPT_PAUSE: Duration = Duration::from_millis(200);

pub(super) async fn serve(listener: TcpListener, router: Router, stop: CancellationToken) {
    let open = GracefulShutdown::new();
    let slots = Arc::new(Semaphore::new(CONNECTIONS));
    while let Some((stream, slot)) = stop.run_until_cancelled(accept(&listener, &slots)).await {
        tokio::spawn(answer(stream, slot, router.clone(), open.watcher()));
    }
    drop(listener);
    // A request without an answer by then ends with the process.
    let _ = time::timeout(STOP_PATIENCE, open.shutdown()).await;
}

async fn accept(listener: &TcpListener, slots: &Arc<Semaphore>) -> (TcpStream, Option<OwnedSemaphorePermit>) {
    // The semaphore is never closed, so there is always a slot in the end.
    let slot = Arc::clone(slots).acquire_owned().await.ok();
    loop {
        match listener.accept().await {
            Ok((stream, _)) => return (stream, slot),
            Err(error) => {
                tracing::warn!(%error, "the listener could not accept a connection");
                time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

async fn answer(stream: TcpStream, _slot: Option<OwnedSemaphorePermit>, router: Router, open: Watcher) {
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_PATIENCE)
        // Probes and scrapes are seconds apart: an idle connection would only take a slot.
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    // A client that hangs up or talks nonsense is its own business.
    let _ = time::timeout(LIFETIME, open.watch(connection)).await;
}
