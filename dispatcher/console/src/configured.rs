//! The part of the settings that explanations and the desk need, and the destination that a name stands for.

use std::collections::BTreeMap;
use std::time::Duration;

use outbox_desk::{ChannelRunsBy, RetentionRunsBy, RunsBy};
use outbox_schema::origin::origin;
use outbox_store::OnDeadOrdered;

use outbox_config::LeaseTimes;
use outbox_config::{ChannelConfig, Config};

/// The settings that an explanation needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Configured {
    /// The configured channels, by name.
    pub channels: BTreeMap<String, ConfiguredChannel>,
    /// The times of the lease, which say how long the fleet may be without a poller.
    pub lease: LeaseTimes,
}

/// The settings of a channel that an explanation needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConfiguredChannel {
    /// Attempts of a message that has no number of its own.
    pub max_attempts: u32,
    /// How long messages are retried.
    pub max_age: Duration,
    /// Whether a dead letter stops the later messages of its ordering key. A cancelled one never does.
    pub halts: bool,
    /// Whether tenants of the channel take turns.
    pub fair: bool,
}

impl Configured {
    /// The part of `config` that is needed here.
    pub fn of(config: &Config) -> Self {
        let (ttl, term) = (config.lease.ttl, config.lease.term);
        let channel = |its: &ChannelConfig| ConfiguredChannel {
            max_attempts: its.retry.max_attempts,
            max_age: its.retry.max_age,
            halts: its.on_dead_ordered == OnDeadOrdered::Halt,
            fair: its.fair,
        };
        Self {
            channels: config.channels.iter().map(|(name, its)| (name.clone(), channel(its))).collect(),
            lease: LeaseTimes { ttl, term },
        }
    }

    /// What a replica says that it runs by.
    pub fn by(runs_by: &RunsBy) -> Self {
        let ttl = Duration::from_millis(runs_by.lease_ttl_ms);
        let channel = |its: &ChannelRunsBy| ConfiguredChannel {
            max_attempts: its.max_attempts,
            max_age: Duration::from_millis(its.max_age_ms),
            halts: its.halts,
            fair: its.fair,
        };
        let term = Duration::from_millis(runs_by.lease_term_ms);
        Self {
            channels: runs_by.channels.iter().map(|(name, its)| (name.clone(), channel(its))).collect(),
            lease: LeaseTimes { ttl, term },
        }
    }

    /// What a replica runs by that has these settings, and had `started` at its start. Its row says so.
    pub fn runs_by(config: &Config, started: &Config) -> RunsBy {
        let ms = |time: Duration| time.as_millis().try_into().unwrap_or(u64::MAX);
        let channel = |its: ConfiguredChannel| ChannelRunsBy {
            max_attempts: its.max_attempts,
            max_age_ms: ms(its.max_age),
            halts: its.halts,
            fair: its.fair,
        };
        RunsBy {
            lease_store: started.lease.provider.shown(),
            lease_ttl_ms: ms(started.lease.ttl),
            lease_term_ms: ms(started.lease.term),
            channels: Self::of(config).channels.into_iter().map(|(name, its)| (name, channel(its))).collect(),
            retention: Some(RetentionRunsBy {
                success_ms: config.retention.success.map(ms),
                dead_ms: config.retention.dead.map(ms),
            }),
            settings: config.shared(started),
            refused: None,
        }
    }

    /// The channels whose ordering keys halt at a dead letter.
    pub fn halting(&self) -> Vec<String> {
        self.channels.iter().filter(|(_, channel)| channel.halts).map(|(name, _)| name.clone()).collect()
    }
}

/// How similar a configured name must be to be suggested.
const ALIKE: f64 = 0.6;

/// The known name that is most like `name`, where one is alike.
pub fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let alike = known.map(|known| (strsim::normalized_damerau_levenshtein(name, known), known));
    let nearest = alike.filter(|(alike, _)| *alike >= ALIKE).max_by(|one, other| one.0.total_cmp(&other.0));
    nearest.map(|(_, name)| name)
}

/// The error of a name that is neither a channel nor the URL of a destination.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{name:?} is neither a configured channel ({}) nor the URL of a destination, as https://shop.example:443{}", 
    known.join(", "),
    nearest.as_ref().map_or_else(String::new, |name| format!("; did you mean {name}?"))
)]
pub struct UnknownDestination {
    name: String,
    known: Vec<String>,
    nearest: Option<String>,
}

/// The destination or channel that `name` stands for. A whole URL stands for its origin.
pub fn destination_named(name: &str, configured: &Configured) -> Result<String, UnknownDestination> {
    if let Some(origin) = origin(name) {
        return Ok(origin);
    }
    if configured.channels.contains_key(name) {
        return Ok(name.to_owned());
    }
    let known: Vec<_> = configured.channels.keys().cloned().collect();
    let nearest = nearest(name, known.iter().map(String::as_str)).map(str::to_owned);
    Err(UnknownDestination { name: name.to_owned(), known, nearest })
}
