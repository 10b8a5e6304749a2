//! Connections: few, of one request each, and closed in order at the end. A slow or greedy client must not cost the
//! process memory, nor keep a health probe out.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::Router;
use axum::http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use hyper_util::service::TowerToHyperService;
use parking_lot::{Mutex, MutexGuard};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time;
use tokio_util::sync::CancellationToken;

use crate::page::SIGN_IN;

/// Connections that wait at once: for the head of their request, or for a slot. For one more, the one that has waited
/// longest is closed.
const WAITING: usize = 128;

/// Connections that are answered at once. Probes of health have as many of their own, and so has the form to sign in: whoever
/// knows no token can fill that, and no more.
const SLOTS: usize = 64;

/// How long a client may take to send the head of its request.
const HEAD_PATIENCE: Duration = Duration::from_secs(2);

/// The longest life of a connection: the head, the longest change, and a client that reads slowly.
const LIFETIME: Duration = Duration::from_mins(15);

/// How long answers may take once the process is asked to stop.
const STOP_PATIENCE: Duration = Duration::from_secs(2);

/// How long to wait after the system refused to accept, for want of file descriptors for example.
const ACCEPT_PAUSE: Duration = Duration::from_millis(200);

pub(super) async fn serve(listener: TcpListener, router: Router, stop: CancellationToken) {
    let open = serve_until(&listener, router, &stop).await;
    drop(listener);
    finish(open).await;
}

/// Answers the requests that are there, for a while. A request without an answer by then ends with the process.
pub(super) async fn finish(open: GracefulShutdown) {
    let _ = time::timeout(STOP_PATIENCE, open.shutdown()).await;
}

/// Lets the connections that are open have their request and their answer: to close them would fail a probe that has just
/// come.
pub(super) async fn let_end(open: GracefulShutdown) {
    time::sleep(HEAD_PATIENCE).await;
    finish(open).await;
}

/// Takes connections until `stop`. Returns those that are open then.
pub(super) async fn serve_until(listener: &TcpListener, router: Router, stop: &CancellationToken) -> GracefulShutdown {
    let open = GracefulShutdown::new();
    let queue = Arc::new(Queue::new());
    while let Some(stream) = stop.run_until_cancelled(accept(listener)).await {
        tokio::spawn(answer(stream, Arc::new(Place::new(&queue)), router.clone(), open.watcher()));
        // A connection whose head is there leaves the queue before the next one joins it.
        tokio::task::yield_now().await;
    }
    open
}

async fn accept(listener: &TcpListener) -> TcpStream {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => return stream,
            Err(error) => {
                tracing::warn!(%error, "the listener could not accept a connection");
                time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

async fn answer(stream: TcpStream, place: Arc<Place>, router: Router, open: Watcher) {
    let answers = TowerToHyperService::new(router);
    let service = service_fn(|request: Request<Incoming>| {
        let (place, answers) = (Arc::clone(&place), answers.clone());
        async move {
            place.take_slot(request.uri().path()).await;
            answers.call(request).await
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_PATIENCE)
        // Probes and scrapes are seconds apart: an idle connection would only take a slot.
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), service);
    // A client that hangs up or talks nonsense is its own business.
    let answered = time::timeout(LIFETIME, open.watch(connection));
    let _ = place.closed.run_until_cancelled(answered).await;
}

/// The connections that wait, by the order in which they came.
struct Queue {
    waiting: Mutex<Waiting>,
    slots: Arc<Semaphore>,
    probes: Arc<Semaphore>,
    sign_ins: Arc<Semaphore>,
}

#[derive(Default)]
struct Waiting {
    came: u64,
    by_number: BTreeMap<u64, CancellationToken>,
}

impl Queue {
    fn new() -> Self {
        let slots = || Arc::new(Semaphore::new(SLOTS));
        Self { waiting: Mutex::default(), slots: slots(), probes: slots(), sign_ins: slots() }
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock()
    }
}

/// The place of one connection in the queue, and its slot once it has left the queue.
struct Place {
    queue: Arc<Queue>,
    number: u64,
    /// Cancelled where the connection has to make room.
    closed: CancellationToken,
    slot: OnceLock<OwnedSemaphorePermit>,
}

impl Place {
    fn new(queue: &Arc<Queue>) -> Self {
        let closed = CancellationToken::new();
        let mut waiting = queue.waiting();
        waiting.came += 1;
        let number = waiting.came;
        waiting.by_number.insert(number, closed.clone());
        if waiting.by_number.len() > WAITING
            && let Some((_, longest)) = waiting.by_number.pop_first()
        {
            longest.cancel();
        }
        drop(waiting);
        Self { queue: Arc::clone(queue), number, closed, slot: OnceLock::new() }
    }

    /// Waits for a slot, and leaves the queue.
    async fn take_slot(&self, path: &str) {
        let slots = match path {
            "/healthz" | "/readyz" => &self.queue.probes,
            SIGN_IN => &self.queue.sign_ins,
            _ => &self.queue.slots,
        };
        // The semaphore is never closed, so there is always a slot in the end.
        if let Ok(slot) = Arc::clone(slots).acquire_owned().await {
            let _ = self.slot.set(slot);
        }
        self.leave();
    }

    fn leave(&self) {
        self.queue.waiting().by_number.remove(&self.number);
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.leave();
    }
}
