//! All settings, checked.

use std::collections::BTreeMap;

use super::alerts::AlertsConfig;
use super::channel::ChannelConfig;
use super::problem::{ConfigError, Problem};
use super::recurring::RecurringConfig;
use super::sections::{AdminConfig, DatabaseConfig, DispatchConfig, LeaseConfig, RetentionConfig, TelemetryConfig};
use super::setting::{Origin, Setting};
use super::settings::Settings;
use super::{first_try, key, known};

/// All settings, checked. `docs/settings.md` has the meaning, the default and the allowed values of each.
#[derive(Debug, Clone)]
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
    /// The channels, by name. There is at least one, unless wrong ones were left out.
    pub channels: BTreeMap<String, ChannelConfig>,
    /// The recurring messages, by name.
    pub recurring: BTreeMap<String, RecurringConfig>,
    pub(super) settings: Settings,
    /// Why the default of `database.url` is not to be used.
    pub(super) no_default_database: Option<Problem>,
}

impl Config {
    /// The keys that differ in `anew` and that are read only at the start. A key whose value follows from another of
    /// them is left out.
    pub fn needs_restart(&self, anew: &Self) -> Vec<String> {
        let differs = |key: &key::Key| {
            let value = |config: &Self| config.settings.get(key).map(|setting| setting.value.clone());
            value(self) != value(anew)
        };
        let needs = |setting: &&Setting| {
            let follows = matches!(&setting.origin, Origin::Follows(decider) if differs(decider));
            !follows && !setting.key.is_reloadable() && differs(&setting.key)
        };
        anew.settings.iter().filter(needs).map(|setting| setting.key.to_string()).collect()
    }

    /// Whether any setting comes from a file.
    pub fn comes_from_a_file(&self) -> bool {
        self.settings.iter().any(|setting| matches!(setting.origin, Origin::File { .. }))
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
        known::KNOWN.fixed().map(|(key, _)| key.to_string()).collect()
    }

    /// The keys of all settings, with those of the configured channels and recurring messages.
    pub fn keys(&self) -> Vec<String> {
        let of_channels = self.channels.iter().flat_map(|(name, channel)| {
            let kind = known::KNOWN.kind_named(channel.kind);
            kind.map(|kind| known::KNOWN.of_channel(&key::Key::of_channel(name), kind)).unwrap_or_default()
        });
        let of_recurring = self
            .recurring
            .keys()
            .flat_map(|name| known::KNOWN.recurring.iter().map(|row| key::Key::of_recurring(name).child(row.name)));
        let named = of_channels.chain(of_recurring).map(|key| key.to_string());
        Self::fixed_keys().into_iter().chain(named).collect()
    }
}
