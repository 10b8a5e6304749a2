//! A stand-in for FCM: TLS, HTTP/2, a limit of streams to a connection, and a fixed time to an answer. It also hands
//! out tokens, to any caller.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use axum::Json;
use axum::body::{Body, to_bytes};
use axum::http::{Request, Response};
use axum::routing::post;
use hyper::body::Incoming;
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use parking_lot::Mutex;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use super::book::{Book, enter};

/// The streams to a connection, as FCM allows them.
pub(crate) const STREAMS: u32 = 100;

/// The time from a request to its answer.
pub(crate) const THINKING: Duration = Duration::from_millis(100);

/// A certificate for 127.0.0.1 that is its own authority. Its key is public, so it proves nothing.
pub(crate) const CERTIFICATE: &str = include_str!("throw_away_cert.pem");
const KEY: &str = include_str!("throw_away_key.pem");

/// The longest body. A message has about 250 bytes, and JSON around them.
const LONGEST: usize = 64 * 1024;

/// Listens on loopback. Returns the URL for messages and the URL for tokens.
pub(super) async fn listen(book: Arc<Mutex<Arc<Book>>>) -> anyhow::Result<(String, String)> {
    let (messages, tokens) = (TcpListener::bind("127.0.0.1:0").await?, TcpListener::bind("127.0.0.1:0").await?);
    let (url, token_url) =
        (format!("https://{}", messages.local_addr()?), format!("http://{}/token", tokens.local_addr()?));
    let acceptor = TlsAcceptor::from(Arc::new(tls()?));
    tokio::spawn(async move {
        while let Ok((socket, _)) = messages.accept().await {
            tokio::spawn(converse(socket, acceptor.clone(), book.clone()));
        }
    });
    let token = async || Json(json!({"access_token": "bench", "token_type": "Bearer", "expires_in": 3600}));
    let router = axum::Router::new().route("/token", post(token));
    tokio::spawn(async move { axum::serve(tokens, router).await });
    Ok((url, token_url))
}

fn tls() -> anyhow::Result<ServerConfig> {
    outbox_adapters::ensure_crypto_provider();
    let certificate = CertificateDer::from_pem_slice(CERTIFICATE.as_bytes()).context("the certificate of a bench")?;
    let key = PrivateKeyDer::from_pem_slice(KEY.as_bytes()).context("the key of a bench")?;
    let mut config = ServerConfig::builder().with_no_client_auth().with_single_cert(vec![certificate], key)?;
    config.alpn_protocols = vec![b"h2".to_vec()];
    Ok(config)
}

async fn converse(socket: TcpStream, acceptor: TlsAcceptor, book: Arc<Mutex<Arc<Book>>>) {
    let _ = socket.set_nodelay(true);
    let Ok(socket) = acceptor.accept(socket).await else { return };
    let service = service_fn(move |request| answer(request, book.clone()));
    let mut server = http2::Builder::new(TokioExecutor::new());
    server.max_concurrent_streams(STREAMS);
    // The connection ends when the client closes it.
    let _ = server.serve_connection(TokioIo::new(socket), service).await;
}

async fn answer(request: Request<Incoming>, book: Arc<Mutex<Arc<Book>>>) -> Result<Response<Body>, Infallible> {
    let body = to_bytes(Body::new(request.into_body()), LONGEST).await.unwrap_or_default();
    enter(&book, &body);
    tokio::time::sleep(THINKING).await;
    let name = json!({"name": "projects/bench/messages/1"});
    Ok(Response::new(Body::from(name.to_string())))
}
