//! A server that answers, or does not, as a test tells it to.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// What to do about a request that has been read.
#[derive(Debug, Clone)]
pub(crate) enum Reply {
    /// Send this; the connection stays open.
    Whole(String),
    /// Close the connection without a word.
    Drop,
    /// Never answer.
    Silence,
    /// Send this, then a byte from time to time for ever.
    Trickle(String),
    /// Send this, then as many bytes as are taken.
    Flood(String),
}

/// An answer with a body.
pub(crate) fn reply(status: u16, headers: &str, body: &str) -> Reply {
    Reply::Whole(format!("HTTP/1.1 {status} Said\r\n{headers}Content-Length: {}\r\n\r\n{body}", body.len()))
}

/// A request as it came.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    /// Request line and header lines.
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Seen {
    pub(crate) fn line(&self) -> &str {
        self.head.lines().next().unwrap()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().skip(1).find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
}

type Script = dyn Fn(&Seen) -> Reply + Send + Sync;

#[derive(Default)]
struct Record {
    seen: Mutex<Vec<Seen>>,
    connections: AtomicUsize,
    flooded: AtomicUsize,
}

pub(crate) struct StandIn {
    pub(crate) port: u16,
    record: Arc<Record>,
    listening: tokio::task::JoinHandle<()>,
}

impl Drop for StandIn {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

impl StandIn {
    /// Answers each request as `script` says.
    pub(crate) async fn start(script: impl Fn(&Seen) -> Reply + Send + Sync + 'static) -> Self {
        Self::listen(Arc::new(script), None).await
    }

    /// The same behind TLS, with a certificate for `localhost` in `tests/it/tls_cert.pem`.
    pub(crate) async fn start_tls(script: impl Fn(&Seen) -> Reply + Send + Sync + 'static) -> Self {
        Self::listen(Arc::new(script), Some(tls_acceptor(&[]))).await
    }

    async fn listen(script: Arc<Script>, tls: Option<TlsAcceptor>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let record = Arc::new(Record::default());
        let listening = tokio::spawn({
            let record = Arc::clone(&record);
            async move {
                loop {
                    let (stream, _) = listener.accept().await.unwrap();
                    record.connections.fetch_add(1, Ordering::SeqCst);
                    tokio::spawn(greet(stream, tls.clone(), Arc::clone(&script), Arc::clone(&record)));
                }
            }
        });
        Self { port, record, listening }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.record.seen.lock().clone()
    }

    pub(crate) fn connections(&self) -> usize {
        self.record.connections.load(Ordering::SeqCst)
    }

    /// How many bytes of floods were taken.
    pub(crate) fn flooded(&self) -> usize {
        self.record.flooded.load(Ordering::SeqCst)
    }
}

/// A certificate for `localhost`, and the protocols to offer.
pub(crate) fn tls_acceptor(alpn: &[&[u8]]) -> TlsAcceptor {
    outbox_adapters::ensure_crypto_provider();
    let certificate = CertificateDer::from_pem_slice(include_bytes!("tls_cert.pem")).unwrap();
    let key = PrivateKeyDer::from_pem_slice(include_bytes!("tls_key.pem")).unwrap();
    let mut config = ServerConfig::builder().with_no_client_auth().with_single_cert(vec![certificate], key).unwrap();
    config.alpn_protocols = alpn.iter().map(|protocol| protocol.to_vec()).collect();
    TlsAcceptor::from(Arc::new(config))
}

async fn greet(stream: TcpStream, tls: Option<TlsAcceptor>, script: Arc<Script>, record: Arc<Record>) {
    match tls {
        None => converse(stream, script, record).await,
        Some(tls) => {
            if let Ok(stream) = tls.accept(stream).await {
                converse(stream, script, record).await;
            }
        }
    }
}

async fn converse(mut stream: impl AsyncRead + AsyncWrite + Unpin, script: Arc<Script>, record: Arc<Record>) {
    while let Some(seen) = read_request(&mut stream).await {
        record.seen.lock().push(seen.clone());
        match script(&seen) {
            Reply::Whole(answer) => stream.write_all(answer.as_bytes()).await.unwrap(),
            Reply::Drop => return,
            Reply::Silence => std::future::pending().await,
            Reply::Trickle(head) => {
                stream.write_all(head.as_bytes()).await.unwrap();
                while stream.write_all(b"x").await.is_ok() {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
                return;
            }
            Reply::Flood(head) => {
                stream.write_all(head.as_bytes()).await.unwrap();
                while let Ok(written) = stream.write(&[b'x'; 4096]).await {
                    record.flooded.fetch_add(written, Ordering::SeqCst);
                }
                return;
            }
        }
    }
}

async fn read_request(stream: &mut (impl AsyncRead + Unpin)) -> Option<Seen> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    let mut seen = Seen { head: String::from_utf8_lossy(&head).into_owned(), body: String::new() };
    let mut body = vec![0; seen.header("content-length").unwrap_or("0").parse().unwrap()];
    stream.read_exact(&mut body).await.ok()?;
    seen.body = String::from_utf8(body).unwrap();
    Some(seen)
}
