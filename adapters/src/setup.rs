//! What channels of every kind need to be set up: checked settings, and TLS.

use std::sync::Arc;
use std::time::Duration;

use rustls::client::Resumption;
use rustls::client::danger::ServerCertVerifier;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::Verifier;
use url::{Position, Url};

use crate::transport::connections::Kept;
use crate::transport::network::{Guard, OwnAuthority};

/// Why a channel cannot be set up with its settings.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("channels.{channel}.{key}: {problem}")]
pub struct SetupError {
    /// The name of the channel.
    pub channel: String,
    /// The key within the channel's settings.
    pub key: &'static str,
    /// What is wrong with the value and what is allowed. Never contains a secret.
    pub problem: String,
}

/// The authorities that a channel trusts beside those of its `tls_ca`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TlsRoots {
    /// Those of the system.
    System,
    /// None: only those of `tls_ca`.
    None,
}

impl TlsRoots {
    /// The words of the settings.
    pub(crate) const WORDS: [(&str, Self); 2] = [("system", Self::System), ("none", Self::None)];
}

/// Names the channel in errors about its settings.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Setup<'a> {
    pub(crate) channel: &'a str,
}

/// The longest time that making a connection may take. A connection that was never made has carried no request.
const CONNECT_MAX: Duration = Duration::from_secs(10);

/// The texts that [`base_url`] accepts, in words.
pub const BASE_URL: &str = "a URL with http:// or https://, without user, query and fragment";

/// Parses a URL to which paths can be appended.
///
/// # Errors
/// What is wrong with the URL, without its text: it may hold a password. `credentials` is the setting where a password
/// belongs.
pub fn base_url(text: &str, credentials: &str) -> Result<Url, String> {
    let url =
        Url::parse(text).map_err(|error| format!("it is not a URL ({error}): write one like https://host/path"))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(format!("it has the scheme {:?}: only http and https are spoken", url.scheme()));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(format!("it has a user in it: credentials belong in {credentials}"));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err("it has a query or a fragment, and paths are appended to it".to_owned());
    }
    Ok(url)
}

/// How long an idle connection is kept: less than the 3 minutes after which FCM closes it
/// (<https://firebase.google.com/docs/cloud-messaging/scale-fcm>), and less than the usual 2 minutes of others.
pub(crate) const POOL_IDLE: Duration = Duration::from_secs(90);

/// How long an idle connection of HTTP/1 is kept where a message is sent at most once. A server closes one without a word, and a
/// request that crosses the closing is in doubt. Servers wait for at least 2 seconds.
const POOL_IDLE_AT_MOST_ONCE: Duration = Duration::from_secs(1);

/// How long the connections of a channel are kept, at most for `age`.
pub(crate) fn kept(at_most_once: bool, age: Duration) -> Kept {
    Kept { idle: if at_most_once { POOL_IDLE_AT_MOST_ONCE } else { POOL_IDLE }, age }
}

/// How often a connection with requests on it is probed, and how long it may take to answer.
pub(crate) const PING_INTERVAL: Duration = Duration::from_secs(30);
pub(crate) const PING_PATIENCE: Duration = Duration::from_secs(10);

/// The name of this program in requests.
pub(crate) const USER_AGENT: &str = concat!("outbox/", env!("CARGO_PKG_VERSION"));

/// How long making a connection may take, where a whole attempt may take `timeout`.
pub(crate) fn connect_patience(timeout: Duration) -> Duration {
    CONNECT_MAX.min(timeout * 2 / 3)
}

impl Setup<'_> {
    pub(crate) fn error(self, key: &'static str, problem: impl Into<String>) -> SetupError {
        SetupError { channel: self.channel.to_owned(), key, problem: problem.into() }
    }

    /// A `base_url` that this channel may reach. `credentials` is the setting where a password belongs.
    pub(crate) fn base_url(self, text: &str, credentials: &str, guard: &Guard) -> Result<Url, SetupError> {
        let refuse = |problem: String| self.error("base_url", problem);
        let url = base_url(text, credentials).map_err(refuse)?;
        guard.check(&url).map_err(|forbidden| refuse(forbidden.to_string()))?;
        Ok(url)
    }

    /// The TLS settings of the channel: it trusts the authorities of the file `tls_ca` and, by `roots`, the system's. It
    /// offers `protocols`.
    pub(crate) fn tls(self, tls_ca: &str, roots: TlsRoots, protocols: &[&str]) -> Result<ClientConfig, SetupError> {
        ensure_crypto_provider();
        let extra = self.extra_roots(tls_ca)?;
        let mut only_extra = RootCertStore::empty();
        for root in &extra {
            let added = only_extra.add(root.clone());
            added.map_err(|_| {
                self.error(
                    "tls_ca",
                    format!("the file {tls_ca:?} holds a certificate that is damaged, or not of X.509"),
                )
            })?;
        }
        let builder = ClientConfig::builder();
        let provider = builder.crypto_provider();
        let system: Option<Arc<dyn ServerCertVerifier>> = match roots {
            TlsRoots::None => None,
            TlsRoots::System => match Verifier::new_with_extra_roots(extra.clone(), Arc::clone(provider)) {
                Ok(verifier) => Some(Arc::new(verifier)),
                Err(error) => {
                    // A machine without any root certificate still delivers over plain http, and to servers of `tls_ca`.
                    tracing::warn!(channel = self.channel, %error, "system root certificates cannot be used");
                    None
                }
            },
        };
        let named =
            if extra.is_empty() { None } else { OwnAuthority::verifier(extra, &only_extra, system.clone(), provider) };
        let builder = match named.or(system) {
            Some(verifier) => builder.dangerous().with_custom_certificate_verifier(verifier),
            None => builder.with_root_certificates(only_extra),
        };
        let mut config = builder.with_no_client_auth();
        config.alpn_protocols = protocols.iter().map(|protocol| protocol.as_bytes().to_vec()).collect();
        Ok(config)
    }

    /// The same with the certificate of the PEM file `cert`, whose private key is in the file `key`. It resumes no
    /// session that began without the certificate, and no session of its own is resumed without it.
    pub(crate) fn certified(self, plain: &ClientConfig, cert: &str, key: &str) -> Result<ClientConfig, SetupError> {
        let chain = self.certificates("tls_cert", cert)?;
        let pem = self.read("tls_key", key)?;
        // The parser's message may quote the file, so it is left out.
        let secret = PrivateKeyDer::from_pem_slice(&pem).map_err(|_| {
            self.error(
                "tls_key",
                format!("the file {key:?} holds no private key: give the PEM of one without a password"),
            )
        })?;
        let certified = CertifiedKey::from_der(chain, secret, plain.crypto_provider()).map_err(|error| {
            let problem = match error {
                rustls::Error::InconsistentKeys(_) => "it is not the key of that certificate".to_owned(),
                // The parser's message may quote the file, so it is left out.
                _ => "allowed are certificates of X.509 version 3 with keys of RSA (2,048 bits or more), ECDSA (P-256, P-384) or Ed25519"
                    .to_owned(),
            };
            self.error("tls_key", format!("{key:?} cannot be used with {cert:?}: {problem}"))
        })?;
        let mut config = plain.clone();
        config.client_auth_cert_resolver = Arc::new(SingleCertAndKey::from(certified));
        config.resumption = Resumption::default();
        Ok(config)
    }

    fn extra_roots(self, tls_ca: &str) -> Result<Vec<CertificateDer<'static>>, SetupError> {
        if tls_ca.is_empty() { Ok(Vec::new()) } else { self.certificates("tls_ca", tls_ca) }
    }

    /// The certificates of a PEM file: at least one.
    fn certificates(self, key: &'static str, file: &str) -> Result<Vec<CertificateDer<'static>>, SetupError> {
        let pem = self.read(key, file)?;
        let certificates = CertificateDer::pem_slice_iter(&pem)
            .collect::<Result<Vec<_>, _>>()
            // The parser's message may quote the file, so it is left out.
            .map_err(|_| {
                self.error(
                    key,
                    format!("the file {file:?} is not PEM: give certificates as \"-----BEGIN CERTIFICATE-----\""),
                )
            })?;
        if certificates.is_empty() {
            return Err(self.error(key, format!("the file {file:?} holds no certificate: give the PEM of one")));
        }
        Ok(certificates)
    }

    fn read(self, key: &'static str, file: &str) -> Result<Vec<u8>, SetupError> {
        std::fs::read(file).map_err(|error| self.error(key, format!("the file {file:?} cannot be read: {error}")))
    }
}

/// Makes ring the process's cryptography unless another has been chosen before. Idempotent.
pub fn ensure_crypto_provider() {
    // An error means that a provider is installed already.
    let _ = rustls::crypto::ring::default_provider().install_default();
}

/// The origin `https://host:port` of a URL, for errors. The rest of the URL may hold a secret.
pub(crate) fn origin(url: &Url) -> &str {
    &url[..Position::BeforePath]
}
