//! Settings: the documented defaults ([`DEFAULTS`]), then a file, then the environment, then flags.
//!
//! Nothing is guessed and nothing is ignored. An unknown key and a value that is not allowed are refused, with their
//! place and with what is allowed. All of them are reported at once. No secret is ever shown.

mod alerts;
pub(crate) mod channel;
mod check;
mod database_url;
mod described;
mod first_try;
mod key;
mod known;
mod merge;
mod problem;
mod read;
mod schema;
mod secret;
mod shared;
mod show;
mod source;
mod units;
mod unknown;
mod url_parameters;

#[cfg(test)]
mod documented;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::time::Duration;

use axum::http::HeaderName;

pub use alerts::{AlertFormat, AlertsConfig, DeadRate};
pub use channel::{ChannelConfig, ChannelKind, RetryConfig};
pub(crate) use check::is_on_loopback;
pub use known::DEFAULTS;
pub use outbox_schema::Dialect;
pub use problem::{ConfigError, Problem};
pub use schema::schema;
pub use secret::{SecretText, SecretUrl, is_secret_header};

pub use crate::telemetry::LogFormat;
pub use source::{DEFAULT_FILE, Sources, parse_assignment};
pub(crate) use units::format_time;

/// All settings, checked. [`DEFAULTS`] has the meaning, the default and the allowed values of each.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// The database of the outbox.
    pub database: DatabaseConfig,
    /// The lease.
    pub lease: LeaseConfig,
    /// The dispatch loop.
    pub dispatch: DispatchConfig,
    /// How long finished messages are kept.
    pub retention: RetentionConfig,
    /// The admin listener.
    pub admin: AdminConfig,
    /// Logs, traces and metrics.
    pub telemetry: TelemetryConfig,
    /// What is told to people without their asking. None: nothing is.
    pub alerts: Option<AlertsConfig>,
    /// The channels, by name. There is at least one.
    pub channels: BTreeMap<String, ChannelConfig>,
    settings: merge::Settings,
    /// Why the default of `database.url` is not to be used.
    no_default_database: Option<Problem>,
}

impl Config {
    /// The keys that differ in `anew` and that are read only at the start. A key whose value follows from another of
    /// them is left out.
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

    /// Checks that there is a database to use: see [`Self::uses_default_database`]. Commands that use none need not ask.
    ///
    /// # Errors
    /// `database.url` is not set, and something else is.
    pub fn require_database(&self) -> Result<(), ConfigError> {
        self.no_default_database.clone().map_or(Ok(()), |problem| Err(ConfigError { problems: vec![problem] }))
    }

    /// Whether `database.url` is its default: for a first try, where nothing is set.
    pub fn uses_default_database(&self) -> bool {
        first_try::is_default(&self.settings)
    }

    /// The keys of all settings but those of channels, such as `lease.ttl`.
    pub fn fixed_keys() -> Vec<String> {
        known::KNOWN.fixed.iter().map(|(key, _)| key.to_string()).collect()
    }

    /// The keys of all settings, with those of the configured channels.
    pub fn keys(&self) -> Vec<String> {
        let of_channels = self.channels.iter().flat_map(|(name, channel)| {
            let kind = match channel.kind {
                ChannelKind::Http(_) => known::Kind::Http,
                ChannelKind::Fcm(_) => known::Kind::Fcm,
            };
            known::KNOWN.of_channel(&key::Key::of_channel(name), kind)
        });
        Self::fixed_keys().into_iter().chain(of_channels.map(|key| key.to_string())).collect()
    }

    /// Puts the sources over the defaults, and checks all settings.
    ///
    /// # Errors
    /// Every unknown key and every wrong value in the sources.
    pub fn load(sources: &Sources) -> Result<Self, ConfigError> {
        Self::of(sources, |_| true)
    }

    /// The same for who looks at an outbox and sends nothing: channels whose settings are wrong are left out, and what is wrong with
    /// them is told beside.
    ///
    /// # Errors
    /// As [`Self::load`], where something else is wrong.
    pub fn load_without_wrong_channels(sources: &Sources) -> Result<(Self, Vec<Problem>), ConfigError> {
        let error = match Self::load(sources) {
            Ok(config) => return Ok((config, Vec::new())),
            Err(error) => error,
        };
        let named =
            |problem: &Problem| key::Key::dotted(&problem.key).channel().map(|name| name.trim_matches('"').to_owned());
        let wrong: BTreeSet<_> = error.problems.iter().filter_map(named).collect();
        let is_right = |key: &key::Key| key.channel().is_none_or(|name| !wrong.contains(name));
        match Self::of(sources, is_right) {
            Ok(config) => Ok((config, error.problems)),
            Err(_) => Err(error),
        }
    }

    /// Loads the settings whose keys are `wanted`.
    fn of(sources: &Sources, wanted: impl Fn(&key::Key) -> bool) -> Result<Self, ConfigError> {
        let mut problems = Vec::new();
        let known: Vec<_> = known::KNOWN.fixed.iter().map(|(key, _)| key.clone()).collect();
        let mut givens = source::gather(sources, &known, &mut problems);
        givens.retain(|key, _| wanted(key));
        let settings = merge::complete(givens, &mut problems);
        let file = sources.file.as_ref().map(|(path, _)| path.as_path());
        let no_default_database = first_try::refusal(&settings, file);
        let config = check::config(settings, no_default_database, &mut problems);
        problem::in_order(&mut problems);
        config.filter(|_| problems.is_empty()).ok_or(ConfigError { problems })
    }
}

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
    /// A key in Redis.
    Redis {
        /// The server, or its sentinels.
        url: SecretUrl,
        /// A PEM file of the authorities to trust instead of the system's. Empty: the system's.
        tls_ca: String,
    },
}

impl LeaseProvider {
    /// The lease store without secrets: `table`, or a URL.
    pub fn shown(&self) -> String {
        match self {
            Self::Table => "table".to_owned(),
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
    /// The word in the settings.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Notify => "notify",
            Self::Redis => "redis",
            Self::Off => "off",
        }
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
    /// The token of clients that may ask.
    pub read_token: Option<SecretText>,
    /// The token of clients that may read the metrics. With any token, every request but those for health and readiness
    /// needs one.
    pub metrics_token: Option<SecretText>,
    /// Whether clients that may only ask see payloads and headers of messages.
    pub read_payloads: bool,
    /// The header by which a proxy names the person at the page.
    pub user_header: Option<HeaderName>,
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
