//! Settings: the documented defaults (`defaults.toml`), then a file, then the environment, then flags.
//!
//! Nothing is guessed and nothing is ignored. An unknown key and a value that is not allowed are refused, with their
//! place and with what is allowed. All of them are reported at once. No secret is ever shown.

mod alerts;
mod allowed;
pub(crate) mod channel;
mod check;
mod config;
mod database_url;
mod described;
#[cfg(test)]
mod documented;
mod first_try;
mod key;
mod known;
mod lease_times;
mod lengths;
mod load;
mod merge;
mod outcome_targets;
mod parse;
mod problem;
mod read;
pub mod recurring;
mod schema;
mod secret;
mod sections;
mod setting;
mod settings;
mod shapes;
mod shared;
mod show;
mod source;
mod tables;
#[cfg(test)]
mod tests;
mod units;
mod unknown;
mod url_parameters;

pub use alerts::{AlertFormat, AlertsConfig, DeadRate};
pub use channel::{ChannelConfig, RetryConfig};
pub use check::is_on_loopback;
pub use config::Config;
pub use lease_times::{LeaseTimes, campaign_interval};
pub use outbox_store::Dialect;
pub use outcome_targets::OutcomeTargets;
pub use problem::{ConfigError, Problem};
pub use schema::schema;
pub use secret::{SecretText, SecretUrl, is_secret_header};
pub use sections::{
    AdminConfig, DatabaseConfig, DispatchConfig, LeaseConfig, LeaseProvider, LogFormat, RetentionConfig,
    TelemetryConfig, Wakeup,
};
pub use source::{DEFAULT_FILE, Sources, parse_assignment};
pub use units::format_time;
