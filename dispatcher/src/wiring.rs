//! Where the ports get their implementations: the one place that names stores, leases and adapters.

use std::sync::Arc;
use std::time::Duration;

use outbox_adapters::{Adapter, Lease, LeaseUrlError, RedisLease, SetupError, TableLease, fcm, http};
use outbox_schema::{Database, InDoubtPolicy};

use crate::channels::{Channel, Retry};
use crate::config::{ChannelConfig, ChannelKind, Config, LeaseProvider};

/// The lease of the settings, for the outbox `outbox_id` in `database`.
pub fn lease(config: &Config, database: &Database, outbox_id: &str) -> Result<Arc<dyn Lease>, LeaseUrlError> {
    Ok(match &config.lease.provider {
        LeaseProvider::Redis(url) => Arc::new(RedisLease::new(url.expose(), outbox_id)?),
        LeaseProvider::Table => Arc::new(match database {
            Database::Postgres(pool) => TableLease::Postgres(pool.clone()),
            Database::MySql(pool) => TableLease::MySql(pool.clone()),
            Database::Sqlite(pool) => TableLease::Sqlite(pool.clone()),
        }),
    })
}

/// The channels of the settings.
pub fn channels(config: &Config) -> Result<Vec<Channel>, SetupError> {
    config.channels.values().map(channel).collect()
}

fn channel(config: &ChannelConfig) -> Result<Channel, SetupError> {
    let retry = &config.retry;
    Ok(Channel {
        name: config.name.clone(),
        adapter: adapter(config, config.timeout)?,
        timeout: config.timeout,
        in_doubt: config.in_doubt,
        retry: Retry {
            max_attempts: retry.max_attempts,
            base: retry.base,
            factor: retry.factor,
            max: retry.max,
            max_age: retry.max_age,
        },
    })
}

fn adapter(config: &ChannelConfig, timeout: Duration) -> Result<Arc<dyn Adapter>, SetupError> {
    let at_most_once = config.in_doubt == InDoubtPolicy::DeadLetter;
    Ok(match &config.kind {
        ChannelKind::Http(settings) => Arc::new(http::HttpChannel::new(&config.name, settings, timeout, at_most_once)?),
        ChannelKind::Fcm(settings) => Arc::new(fcm::FcmChannel::new(&config.name, settings, timeout, at_most_once)?),
    })
}
