//! The connections of the stand-in: TLS, HTTP/2 with 100 requests at a time, and how they end.

use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;

use super::lingering::Lingering;
use super::shared::Shared;

pub(super) async fn listen(
    listener: TcpListener,
    tls: Option<(TlsAcceptor, u32)>,
    routes: Router,
    shared: Arc<Shared>,
) {
    loop {
        // Out of file descriptors, perhaps: others may end.
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let _ = stream.set_nodelay(true);
        match &tls {
            Some((tls, streams)) => {
                drop(tokio::spawn(encrypted(stream, tls.clone(), *streams, routes.clone(), shared.clone())));
            }
            None => drop(tokio::spawn(plain(stream, routes.clone()))),
        }
    }
}

async fn plain(stream: TcpStream, routes: Router) {
    let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), TowerToHyperService::new(routes)).await;
}

async fn encrypted(stream: TcpStream, tls: TlsAcceptor, streams: u32, routes: Router, shared: Arc<Shared>) {
    let Ok(stream) = tls.accept(stream).await else { return };
    let is_http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
    let _counted = shared.connected();
    let activity = Arc::new(Activity::default());
    let service = {
        let activity = activity.clone();
        service_fn(move |request| serve(request, routes.clone(), activity.clone()))
    };
    let mut goaway = shared.goaway.subscribe();
    goaway.mark_unchanged();
    let io = TokioIo::new(Lingering::new(stream));
    if is_http2 {
        let mut http2 = http2::Builder::new(TokioExecutor::new());
        http2.timer(TokioTimer::new()).max_concurrent_streams(streams);
        let mut connection = pin!(http2.serve_connection(io, service));
        tokio::select! {
            _ = connection.as_mut() => return,
            () = leaving(goaway, &activity, &shared) => (),
        }
        connection.as_mut().graceful_shutdown();
        let _ = connection.await;
    } else {
        let mut connection = pin!(http1::Builder::new().serve_connection(io, service));
        tokio::select! {
            _ = connection.as_mut() => return,
            () = leaving(goaway, &activity, &shared) => (),
        }
        connection.as_mut().graceful_shutdown();
        let _ = connection.await;
    }
}

/// Until the connection is to be closed: it was told so, or was idle for too long.
async fn leaving(mut goaway: watch::Receiver<u64>, activity: &Activity, shared: &Shared) {
    let idle = async {
        loop {
            let Some(limit) = shared.idle_limit() else {
                tokio::time::sleep(Duration::from_millis(200)).await;
                continue;
            };
            let before = activity.begun.load(Ordering::SeqCst);
            tokio::time::sleep(limit).await;
            let is_unused = before == activity.begun.load(Ordering::SeqCst);
            if is_unused && activity.open.load(Ordering::SeqCst) == 0 {
                return;
            }
        }
    };
    tokio::select! {
        _ = goaway.changed() => (),
        () = idle => (),
    }
}

/// What goes on on a connection.
#[derive(Debug, Default)]
struct Activity {
    begun: AtomicUsize,
    open: AtomicUsize,
}

async fn serve(
    request: Request<Incoming>,
    routes: Router,
    activity: Arc<Activity>,
) -> Result<Response<Body>, Infallible> {
    activity.begun.fetch_add(1, Ordering::SeqCst);
    activity.open.fetch_add(1, Ordering::SeqCst);
    let answer = hyper::service::Service::call(&TowerToHyperService::new(routes), request).await;
    activity.open.fetch_sub(1, Ordering::SeqCst);
    answer
}
