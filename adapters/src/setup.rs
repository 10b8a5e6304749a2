//! What channels of every kind are set up from: checked settings, and an HTTP client of their own.

use std::sync::Arc;
use std::time::Duration;

use reqwest::{Certificate, Client, ClientBuilder};
use url::{Position, Url};

use crate::network::Guard;
use crate::network::resolver::GuardedResolver;

/// A channel cannot be set up as its settings say.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("channels.{channel}.{key}: {problem}")]
pub struct SetupError {
    /// The channel's name.
    pub channel: String,
    /// The key within the channel's settings.
    pub key: &'static str,
    /// What is wrong with the value and what is allowed. Never a secret.
    pub problem: String,
}

/// Names the channel in the errors of its settings.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Setup<'a> {
    pub(crate) channel: &'a str,
}

/// The longest that making a connection may take; a connection that was never made is known to carry nothing.
const CONNECT_MAX: Duration = Duration::from_secs(10);

/// Below the 3 minutes after which FCM closes idle connections
/// (<https://firebase.google.com/docs/cloud-messaging/scale-fcm>), and below the usual 2 minutes of others.
const POOL_IDLE: Duration = Duration::from_secs(90);

impl Setup<'_> {
    pub(crate) fn error(self, key: &'static str, problem: impl Into<String>) -> SetupError {
        SetupError { channel: self.channel.to_owned(), key, problem: problem.into() }
    }

    /// A `base_url`: without a query or a fragment, and its path without the slash at the end.
    pub(crate) fn base_url(self, text: &str, guard: &Guard) -> Result<Url, SetupError> {
        const KEY: &str = "base_url";
        let refuse = |problem: String| self.error(KEY, problem);
        let url = Url::parse(text)
            .map_err(|error| refuse(format!("is not a URL ({error}): write one like \"https://host/path\"")))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(refuse(format!("has the scheme {:?}: only http and https are spoken", url.scheme())));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(refuse("holds a user or a password: write them into `auth`".to_owned()));
        }
        if url.query().is_some() || url.fragment().is_some() {
            let plain = &url[..Position::AfterPath];
            return Err(refuse(format!("must end with its path: write {plain:?}")));
        }
        if let Some(host) = url.host() {
            guard.check_host(&host).map_err(|forbidden| refuse(forbidden.to_string()))?;
        }
        Ok(url)
    }

    /// The channel's client: it follows no redirect, retries nothing, asks no proxy, and dials only what `guard` permits.
    /// A request that the pool had not begun to write when its idle connection closed goes over another one:
    /// that is no retry.
    pub(crate) fn client(self, guard: Arc<Guard>, tls_ca: &str, timeout: Duration) -> Result<Client, SetupError> {
        ensure_crypto_provider();
        let roots = self.extra_roots(tls_ca)?;
        let with_system_roots = client_builder(Arc::clone(&guard), timeout).tls_certs_merge(roots.clone());
        with_system_roots
            .build()
            .or_else(|error| {
                // A machine without any root certificate still delivers over plain http, and to `tls_ca`.
                tracing::warn!(channel = self.channel, %error, "system root certificates cannot be used");
                client_builder(guard, timeout).tls_certs_only(roots).build()
            })
            .map_err(|error| self.error("tls_ca", format!("no HTTP client can be built: {error}")))
    }

    fn extra_roots(self, tls_ca: &str) -> Result<Vec<Certificate>, SetupError> {
        if tls_ca.is_empty() {
            return Ok(Vec::new());
        }
        let refuse = |problem: String| self.error("tls_ca", problem);
        let pem =
            std::fs::read(tls_ca).map_err(|error| refuse(format!("the file {tls_ca:?} cannot be read: {error}")))?;
        let roots = Certificate::from_pem_bundle(&pem)
            .map_err(|error| refuse(format!("the file {tls_ca:?} is not PEM: {error}")))?;
        if roots.is_empty() {
            return Err(refuse(format!("the file {tls_ca:?} holds no certificate: give the PEM of the authority")));
        }
        Ok(roots)
    }
}

fn client_builder(guard: Arc<Guard>, timeout: Duration) -> ClientBuilder {
    Client::builder()
        .user_agent(concat!("outbox/", env!("CARGO_PKG_VERSION")))
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .referer(false)
        .no_proxy()
        .dns_resolver(Arc::new(GuardedResolver::new(guard)))
        .connect_timeout(CONNECT_MAX.min(timeout * 2 / 3))
        .tcp_nodelay(true)
        .pool_max_idle_per_host(usize::MAX)
        .pool_idle_timeout(POOL_IDLE)
        .http2_keep_alive_interval(Duration::from_secs(30))
        .http2_keep_alive_timeout(Duration::from_secs(10))
}

/// Makes ring the process's cryptography unless another has been chosen before. Idempotent.
pub fn ensure_crypto_provider() {
    // An error means that a provider is installed already.
    let _ = rustls::crypto::ring::default_provider().install_default();
}

/// `https://host:port`: what errors say of a URL. The rest of it may hold a secret.
pub(crate) fn origin(url: &Url) -> &str {
    &url[..Position::BeforePath]
}
