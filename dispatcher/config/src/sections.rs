//! The settings of each section.

use std::net::SocketAddr;
use std::time::Duration;

use hyper::header::HeaderName;
use outbox_store::{Dialect, Durability};

use super::secret::{SecretText, SecretUrl};

/// The settings of `[database]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatabaseConfig {
    /// The URL with its password.
    pub url: SecretUrl,
    /// The dialect that the URL implies.
    pub dialect: Dialect,
    /// The schema that holds the tables; PostgreSQL only.
    pub schema: Option<String>,
    /// The environment that `migrate` stores and `run` compares.
    pub environment: String,
    /// Which commits wait for a standby.
    pub durability: Durability,
}

/// The settings of `[lease]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaseConfig {
    /// Where the lease is kept.
    pub provider: LeaseProvider,
    /// How long the lease outlives its last renewal: 1 s to 10 min.
    pub ttl: Duration,
    /// How long one replica polls before it hands over: 1 s to 1 d. It may be shorter than `ttl`.
    pub term: Duration,
}

/// Where the lease is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LeaseProvider {
    /// A row in the outbox database.
    Table,
    /// A lock of a session of the outbox database.
    Session,
    /// A key in Redis.
    Redis {
        /// The server, its sentinels, or nodes of its cluster.
        url: SecretUrl,
        /// A PEM file of the authorities to trust instead of the system's. Empty: the system's.
        tls_ca: String,
    },
}

impl LeaseProvider {
    /// Whether the lease is in the outbox database.
    pub fn is_in_database(&self) -> bool {
        matches!(self, Self::Table | Self::Session)
    }

    /// The lease store without secrets: `table`, `session`, or a URL.
    pub fn shown(&self) -> String {
        match self {
            Self::Table => "table".to_owned(),
            Self::Session => "session".to_owned(),
            Self::Redis { url, .. } => url.to_string(),
        }
    }
}

/// The settings of `[dispatch]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DispatchConfig {
    /// The longest wait between two polls: 10 ms to 1 h.
    pub poll_interval: Duration,
    /// How the poller learns of new rows before the next poll.
    pub wakeup: Wakeup,
    /// The most messages claimed and not yet marked at one time, per process: 1 to 100,000.
    pub max_in_flight: u32,
    /// The most bytes of payload in memory at one time; at least 1 MiB.
    pub max_bytes: u64,
    /// How long a stopping process waits for its messages in flight: up to 1 h.
    pub drain_timeout: Duration,
}

/// How the poller learns of new rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wakeup {
    /// The database notifies the poller (PostgreSQL).
    Notify,
    /// Applications publish on the Redis of the lease.
    Redis,
    /// The poller learns of them at its next poll.
    Off,
}

impl Wakeup {
    /// The words of the settings.
    pub(super) const WORDS: [(&str, Self); 3] = [("notify", Self::Notify), ("redis", Self::Redis), ("off", Self::Off)];

    /// The word in the settings.
    pub fn as_str(self) -> &'static str {
        Self::WORDS.iter().find(|(_, wakeup)| *wakeup == self).map_or("", |(word, _)| word)
    }
}

/// The settings of `[retention]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetentionConfig {
    /// How long delivered messages are kept: 1 s to 10 years. None: for ever.
    pub success: Option<Duration>,
    /// How long dead letters are kept: 1 s to 10 years. None: for ever.
    pub dead: Option<Duration>,
    /// How long figures over time are kept: 1 s to 10 years. None: for ever.
    pub figures: Option<Duration>,
    /// How long runs of jobs are kept, but for the newest of each: 1 s to 10 years. None: for ever.
    pub jobs: Option<Duration>,
}

/// The settings of `[admin]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdminConfig {
    /// The address of the listener. It is on loopback where there is no `token`.
    pub listen: SocketAddr,
    /// The name of the replica for people. None: the name of its host.
    pub instance: Option<String>,
    /// The token of clients that may ask and change.
    pub token: Option<SecretText>,
    /// The token of clients that may ask, and send again what is there.
    pub retry_token: Option<SecretText>,
    /// The token of clients that may ask.
    pub read_token: Option<SecretText>,
    /// The token of clients that may read the metrics. With any token, every request but those for health and readiness
    /// needs one.
    pub metrics_token: Option<SecretText>,
    /// Whether clients that may only ask see payloads and headers of messages.
    pub read_payloads: bool,
    /// The header by which a proxy names the person at the page.
    pub user_header: Option<HeaderName>,
    /// The people who operate, as the proxy names them. All others may retry at most. None: everybody.
    pub operators: Vec<String>,
}

impl AdminConfig {
    /// The token of a command that asks a replica: the one that allows the most.
    pub fn for_requests(&self) -> Option<&SecretText> {
        [&self.token, &self.retry_token, &self.read_token].into_iter().flatten().next()
    }
}

/// The settings of `[telemetry]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TelemetryConfig {
    /// The receiver of traces and metrics, by OTLP over HTTP.
    pub otlp_endpoint: Option<SecretUrl>,
    /// The page of a trace, where `{trace_id}` stands for its id. None: the page leads to no trace.
    pub trace_url: Option<String>,
    /// The format of a log line.
    pub log_format: LogFormat,
    /// The least severe level that is logged.
    pub log_level: tracing::Level,
}

/// The format of log lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    /// Text for people.
    Text,
    /// One JSON object per line.
    Json,
}

impl LogFormat {
    /// The words of the settings.
    pub(super) const WORDS: [(&str, Self); 2] = [("text", Self::Text), ("json", Self::Json)];
}
