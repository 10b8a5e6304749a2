//! Channels as they are configured.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use ipnet::IpNet;
use outbox_schema::InDoubtPolicy;

use super::secret::SecretText;

/// A configured way out.
#[derive(Debug, Clone, PartialEq)]
pub struct ChannelConfig {
    /// As rows name it.
    pub name: String,
    /// One deadline for a whole request.
    pub timeout: Duration,
    /// What becomes of a row that is in doubt.
    pub in_doubt: InDoubtPolicy,
    /// When to try again, and when to give up.
    pub retry: RetryConfig,
    /// What it is, and what only its kind has.
    pub kind: ChannelKind,
}

/// When to try again, and when to give up.
#[derive(Debug, Clone, PartialEq)]
pub struct RetryConfig {
    /// Attempts in all, the first included, where the row does not say so itself.
    pub max_attempts: u32,
    /// Longest wait before the second attempt (full jitter).
    pub base: Duration,
    /// Growth of the longest wait per attempt; at least 1.
    pub factor: f64,
    /// Upper limit of that growth; at least `base`.
    pub max: Duration,
    /// Age since the first attempt at which a message is retried no more.
    pub max_age: Duration,
}

/// What a channel is.
#[derive(Debug, Clone, PartialEq)]
pub enum ChannelKind {
    /// Requests to URLs.
    Http(HttpSettings),
    /// Firebase Cloud Messaging.
    Fcm(FcmSettings),
}

/// What only HTTP channels have.
#[derive(Clone, PartialEq, Eq)]
pub struct HttpSettings {
    /// What targets that are a path are appended to; empty where every target is a whole URL.
    pub base_url: String,
    /// `POST`, `PUT` or `PATCH`.
    pub method: String,
    /// Headers of every request, below those of the row. Names and values are fit for HTTP.
    pub headers: BTreeMap<String, String>,
    /// Credentials.
    pub auth: Option<Auth>,
    /// How the header `Idempotency-Key` is written.
    pub idempotency_key: IdempotencyKey,
    /// Networks that are closed by default and that this channel may reach.
    pub allow_networks: Vec<IpNet>,
    /// PEM file of authorities to trust beside the system's; empty for none.
    pub tls_ca: String,
}

impl fmt::Debug for HttpSettings {
    /// Without the values of headers: some are keys.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpSettings")
            .field("base_url", &self.base_url)
            .field("method", &self.method)
            .field("headers", &self.headers.keys())
            .field("auth", &self.auth)
            .field("idempotency_key", &self.idempotency_key)
            .field("allow_networks", &self.allow_networks)
            .field("tls_ca", &self.tls_ca)
            .finish()
    }
}

/// What only FCM channels have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FcmSettings {
    /// The Firebase project; empty for that of the `credentials`.
    pub project_id: String,
    /// Key file of a service account; empty for Google's application default credentials.
    pub credentials: String,
    /// Where FCM is.
    pub base_url: String,
    /// Networks that are closed by default and that this channel may reach.
    pub allow_networks: Vec<IpNet>,
    /// PEM file of authorities to trust beside the system's; empty for none.
    pub tls_ca: String,
}

/// How the header `Idempotency-Key` is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdempotencyKey {
    /// As a structured-field string, `"key"` (draft-ietf-httpapi-idempotency-key-header).
    Quoted,
    /// The key as it is.
    Bare,
    /// Not at all.
    Off,
}

/// Credentials of a channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Auth {
    /// `Authorization: Bearer TOKEN`.
    Bearer(Secret),
    /// `Authorization: Basic …` (RFC 7617).
    Basic {
        /// Before the colon.
        user: String,
        /// After it.
        password: Secret,
    },
    /// A header of the receiver's own.
    Header {
        /// Fit for HTTP.
        name: String,
        /// The whole value.
        value: Secret,
    },
}

/// Where a secret is. Read when the channel is set up, so that commands which send nothing do not need it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Secret {
    /// In the settings themselves.
    Literal(SecretText),
    /// In this environment variable.
    Env(String),
    /// In this file, without the white space at its end.
    File(PathBuf),
}
