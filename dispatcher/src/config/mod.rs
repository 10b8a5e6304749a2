//! Settings: the documented defaults ([`DEFAULTS`]), then a file, then the environment, then flags.
//!
//! Nothing is guessed and nothing is ignored: a key that does not exist, or a value that is not allowed, is refused
//! with where it stands and what is meant, and all of them at once. No secret is ever shown.

pub mod channel;
mod check;
mod database_url;
mod described;
mod key;
mod known;
mod merge;
mod problem;
mod read;
mod schema;
mod secret;
mod show;
mod source;
mod units;
mod unknown;

#[cfg(test)]
mod documented;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

pub use channel::{ChannelConfig, ChannelKind, RetryConfig};
pub(crate) use check::is_on_loopback;
pub use known::DEFAULTS;
pub use outbox_schema::Dialect;
pub use problem::{ConfigError, Problem};
pub use schema::schema;
pub use secret::{SecretText, SecretUrl};

pub use crate::telemetry::LogFormat;
pub use source::{DEFAULT_FILE, Sources, parse_assignment};

/// All settings, checked. What each means, its default and what is allowed: [`DEFAULTS`].
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// Where the outbox is.
    pub database: DatabaseConfig,
    /// The right to poll.
    pub lease: LeaseConfig,
    /// The loop.
    pub dispatch: DispatchConfig,
    /// How long what is finished is kept.
    pub retention: RetentionConfig,
    /// The listener.
    pub admin: AdminConfig,
    /// Logs, traces and metrics.
    pub telemetry: TelemetryConfig,
    /// The ways out, by name. At least one.
    pub channels: BTreeMap<String, ChannelConfig>,
    settings: merge::Settings,
}

impl Config {
    /// The keys by which `anew` differs, and which are read at the start only. What follows from another of them is not
    /// named beside it.
    pub fn needs_restart(&self, anew: &Self) -> Vec<String> {
        let differs = |key: &key::Key| {
            let value = |config: &Self| config.settings.get(key).map(|setting| setting.value.clone());
            value(self) != value(anew)
        };
        let needs = |setting: &&merge::Setting| {
            let follows = matches!(&setting.origin, merge::Origin::Follows(decider) if differs(decider));
            !follows && !setting.key.is_reloadable() && differs(&setting.key)
        };
        anew.settings.iter().filter(needs).map(|setting| setting.key.to_string()).collect()
    }

    /// Whether any setting comes from a file.
    pub fn comes_from_a_file(&self) -> bool {
        self.settings.iter().any(|setting| matches!(setting.origin, merge::Origin::File { .. }))
    }

    /// Puts the sources over the defaults and checks the whole.
    ///
    /// # Errors
    /// Every unknown key and every wrong value in the sources.
    pub fn load(sources: &Sources) -> Result<Self, ConfigError> {
        let mut problems = Vec::new();
        let known: Vec<_> = known::KNOWN.fixed.iter().map(|(key, _)| key.clone()).collect();
        let givens = source::gather(sources, &known, &mut problems);
        let settings = merge::complete(givens, &mut problems);
        let config = check::config(settings, &mut problems);
        config.filter(|_| problems.is_empty()).ok_or(ConfigError { problems })
    }
}

/// `[database]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatabaseConfig {
    /// With its password.
    pub url: SecretUrl,
    /// What the URL leads to.
    pub dialect: Dialect,
    /// The schema that holds the tables; PostgreSQL only.
    pub schema: Option<String>,
    /// What `migrate` stores and `run` compares.
    pub environment: String,
}

/// `[lease]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaseConfig {
    /// Where the lease is kept.
    pub provider: LeaseProvider,
    /// How long it outlives the last renewal: 1 s to 10 min.
    pub ttl: Duration,
    /// How long one replica polls before it hands over: 1 s to 1 d. May be shorter than `ttl`.
    pub term: Duration,
}

/// Where the lease is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LeaseProvider {
    /// A row in the outbox database.
    Table,
    /// A key in Redis.
    Redis {
        /// The server, or its sentinels.
        url: SecretUrl,
        /// PEM file of the authorities to trust instead of the system's; empty: the system's.
        tls_ca: String,
    },
}

/// `[dispatch]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DispatchConfig {
    /// Longest wait between two polls: 10 ms to 1 h.
    pub poll_interval: Duration,
    /// How the poller hears of new rows before the next poll.
    pub wakeup: Wakeup,
    /// Messages claimed and not yet marked at one time, per process: 1 to 100,000.
    pub max_in_flight: u32,
    /// Bytes of payload held at one time; at least 1 MiB.
    pub max_bytes: u64,
    /// How long a stopping process waits for what it has in flight: up to 1 h.
    pub drain_timeout: Duration,
}

/// How the poller hears of new rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wakeup {
    /// The database says so (PostgreSQL).
    Notify,
    /// Applications publish on the Redis of the lease.
    Redis,
    /// Not before the next poll.
    Off,
}

impl Wakeup {
    /// As settings say it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Notify => "notify",
            Self::Redis => "redis",
            Self::Off => "off",
        }
    }
}

/// `[retention]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetentionConfig {
    /// Messages that were delivered: 1 s to 10 years; none: for ever.
    pub success: Option<Duration>,
    /// Dead letters, likewise.
    pub dead: Option<Duration>,
}

/// `[admin]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdminConfig {
    /// Address of the listener; on loopback where there is no `token`.
    pub listen: SocketAddr,
    /// Lets a client of the listener read and change things.
    pub token: Option<SecretText>,
    /// Lets it read. With either, all but the health pair ask for one.
    pub read_token: Option<SecretText>,
}

/// `[telemetry]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TelemetryConfig {
    /// Where traces and metrics are sent by OTLP over HTTP.
    pub otlp_endpoint: Option<SecretUrl>,
    /// How a log line is written.
    pub log_format: LogFormat,
    /// The least severe line that is written.
    pub log_level: tracing::Level,
}
