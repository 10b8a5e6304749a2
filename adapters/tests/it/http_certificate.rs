//! Channels with a certificate of their own (mTLS).

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use outbox_adapters::http::{HttpChannel, Settings};
use outbox_adapters::{Adapter, TlsRoots};
use outbox_store::{DeadReason, Outcome};
use parking_lot::Mutex;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::{RootCertStore, ServerConfig};

use crate::http::{channel, delivery, loopback, trusting};

const LONG: Duration = Duration::from_secs(20);

/// An authority, and the files of a certificate that it signed.
struct Identity {
    authority: CertificateDer<'static>,
    files: PathBuf,
}

impl Identity {
    fn new(name: &str) -> Self {
        Self::signed_by(name, name)
    }

    /// By an authority that calls itself so.
    fn signed_by(common_name: &str, name: &str) -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, common_name);
        let authority = CertifiedIssuer::self_signed(params, key).unwrap();
        let key = KeyPair::generate().unwrap();
        let certificate =
            CertificateParams::new(vec!["outbox".to_owned()]).unwrap().signed_by(&key, &authority).unwrap();
        let files = std::env::temp_dir().join(format!("outbox-certificate-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&files).unwrap();
        std::fs::write(files.join("cert.pem"), certificate.pem()).unwrap();
        std::fs::write(files.join("key.pem"), key.serialize_pem()).unwrap();
        let both = key.serialize_pem() + &certificate.pem();
        std::fs::write(files.join("in-one-line.pem"), both.replace('\n', "\\n")).unwrap();
        std::fs::write(files.join("both.pem"), both).unwrap();
        Self { authority: authority.der().clone(), files }
    }

    fn file(&self, name: &str) -> String {
        self.files.join(name).to_str().unwrap().to_owned()
    }
}

impl Drop for Identity {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.files);
    }
}

/// A server at `localhost` that asks for certificates, and says of each request whether there was one.
struct Server {
    port: u16,
    shown: Arc<Mutex<Vec<bool>>>,
}

impl Server {
    /// Trusts that authority alone; where `required`, it takes nobody without a certificate.
    async fn start(authority: &CertificateDer<'static>, required: bool, status: u16, alpn: &[&str]) -> Self {
        outbox_adapters::ensure_crypto_provider();
        let mut roots = RootCertStore::empty();
        roots.add(authority.clone()).unwrap();
        let verifier = WebPkiClientVerifier::builder(Arc::new(roots));
        let verifier = if required { verifier } else { verifier.allow_unauthenticated() };
        let certificate = CertificateDer::from_pem_slice(include_bytes!("tls_cert.pem")).unwrap();
        let key = PrivateKeyDer::from_pem_slice(include_bytes!("tls_key.pem")).unwrap();
        let mut config = ServerConfig::builder()
            .with_client_cert_verifier(verifier.build().unwrap())
            .with_single_cert(vec![certificate], key)
            .unwrap();
        config.alpn_protocols = alpn.iter().map(|protocol| protocol.as_bytes().to_vec()).collect();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = Self { port: listener.local_addr().unwrap().port(), shown: Arc::default() };
        let shown = server.shown.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let Ok(mut stream) = acceptor.accept(stream).await else { continue };
                let mut bytes = [0; 4096];
                if stream.read(&mut bytes).await.unwrap_or(0) > 0 {
                    shown.lock().push(stream.get_ref().1.peer_certificates().is_some());
                    let answer = format!("HTTP/1.1 {status} Said\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
                    stream.write_all(answer.as_bytes()).await.unwrap();
                    let _ = stream.shutdown().await;
                }
            }
        });
        server
    }

    fn url(&self) -> String {
        format!("https://localhost:{}", self.port)
    }

    fn shown(&self) -> Vec<bool> {
        self.shown.lock().clone()
    }
}

fn settings(base_url: &str, identity: Option<&Identity>) -> Settings {
    let file = |name| identity.map(|identity| identity.file(name)).unwrap_or_default();
    Settings { base_url: base_url.to_owned(), tls_cert: file("cert.pem"), tls_key: file("key.pem"), ..trusting() }
}

#[tokio::test]
async fn a_server_that_wants_a_certificate_is_shown_that_of_the_channel() {
    let identity = Identity::new("shown");
    let server = Server::start(&identity.authority, true, 204, &[]).await;
    let mut in_one_file = settings("", Some(&identity));
    (in_one_file.tls_cert, in_one_file.tls_key) = (identity.file("both.pem"), identity.file("both.pem"));
    for settings in [settings(&server.url(), Some(&identity)), settings("", Some(&identity)), in_one_file] {
        let adapter = channel(&settings, LONG, true);
        let answer = adapter.deliver(delivery(&format!("{}/hook", server.url()))).await;
        assert_eq!(answer.outcome, Outcome::Delivered { receipt: None }, "{answer:?}");
    }
    assert_eq!(server.shown(), [true, true, true]);
}

#[tokio::test]
async fn a_certificate_is_shown_to_the_base_url_only() {
    let identity = Identity::new("base");
    let base = Server::start(&identity.authority, false, 204, &[]).await;
    let other = Server::start(&identity.authority, false, 204, &[]).await;
    let adapter = channel(&settings(&base.url(), Some(&identity)), LONG, false);
    for target in [format!("{}/a", base.url()), format!("{}/b", other.url())] {
        let answer = adapter.deliver(delivery(&target)).await;
        assert_eq!(answer.outcome, Outcome::Delivered { receipt: None }, "{answer:?}");
    }
    assert_eq!((base.shown(), other.shown()), (vec![true], vec![false]));
}

#[tokio::test]
async fn a_server_that_takes_no_other_certificate_has_read_nothing_and_nothing_is_in_doubt() {
    let (trusted, another) = (Identity::new("trusted"), Identity::new("another"));
    let forged = Identity::signed_by("trusted", "forged");
    for alpn in [&[][..], &["h2"]] {
        let server = Server::start(&trusted.authority, true, 204, alpn).await;
        for identity in [None, Some(&another), Some(&forged)] {
            let adapter = channel(&settings(&server.url(), identity), LONG, true);
            let answer = adapter.deliver(delivery("/hook")).await;
            assert_eq!(answer.outcome, Outcome::Retry { not_before: None }, "{alpn:?}: {answer:?}");
            let error = answer.error.unwrap();
            assert!(error.contains("it did not take the certificate it was shown, or wants one"), "{alpn:?}: {error}");
        }
        assert!(server.shown().is_empty());
    }
}

#[tokio::test]
async fn a_certificate_without_rights_is_a_refused_credential_where_that_has_one_origin() {
    let identity = Identity::new("rights");
    let server = Server::start(&identity.authority, true, 403, &[]).await;
    let target = format!("{}/hook", server.url());
    let answer = channel(&settings(&server.url(), Some(&identity)), LONG, false).deliver(delivery(&target)).await;
    assert_eq!(
        answer.outcome,
        Outcome::Refused { not_before: None, identity: outbox_store::Identity::Credential },
        "{answer:?}"
    );
    let answer = channel(&settings("", Some(&identity)), LONG, false).deliver(delivery(&target)).await;
    assert_eq!(answer.outcome, Outcome::Dead { reason: DeadReason::Permanent }, "{answer:?}");
}

#[tokio::test]
async fn a_channel_that_trusts_its_own_authority_alone_delivers_to_it_and_to_no_other() {
    let identity = Identity::new("alone");
    let server = Server::start(&identity.authority, false, 204, &[]).await;
    let alone = |tls_ca: String| Settings { tls_ca, tls_roots: TlsRoots::None, ..trusting() };
    for (settings, outcome) in [
        (alone(trusting().tls_ca), Outcome::Delivered { receipt: None }),
        (alone(identity.file("cert.pem")), Outcome::Retry { not_before: None }),
    ] {
        let answer = channel(&settings, LONG, false).deliver(delivery(&server.url())).await;
        assert_eq!(answer.outcome, outcome, "{answer:?}");
    }
}

#[test]
fn a_certificate_that_cannot_be_used_is_refused_with_the_file_and_without_the_key() {
    let (one, another) = (Identity::new("one"), Identity::new("two"));
    let nowhere = "/nonexistent/file";
    for (cert, key, named, said) in [
        (nowhere.to_owned(), one.file("key.pem"), "tls_cert", "cannot be read"),
        (one.file("key.pem"), one.file("key.pem"), "tls_cert", "holds no certificate"),
        (one.file("cert.pem"), nowhere.to_owned(), "tls_key", "cannot be read"),
        (one.file("cert.pem"), one.file("cert.pem"), "tls_key", "holds no private key"),
        (one.file("cert.pem"), another.file("key.pem"), "tls_key", "it is not the key of that certificate"),
        // A parser that is told of it quotes all of it.
        (one.file("in-one-line.pem"), one.file("key.pem"), "tls_cert", "is not PEM"),
    ] {
        let settings = Settings { tls_cert: cert, tls_key: key, ..loopback() };
        let refused = HttpChannel::new("hooks", &settings, LONG, false, None).unwrap_err().to_string();
        assert!(refused.starts_with(&format!("channels.hooks.{named}: ")) && refused.contains(said), "{refused}");
        assert!(!refused.contains("PRIVATE KEY") && !refused.contains("45, 45, 45"), "{refused}");
    }
}
