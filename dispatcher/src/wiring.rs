//! Gives the ports their implementations: the one place that names stores and leases. Channels come from their kinds.

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::Context;
use outbox_adapters::{
    ChannelSetup, Hints, Lease, RedisHints, RedisLease, RedisLink, SessionLease, SetupError, TableLease,
};
use outbox_store::{ConnectOptions, Database, DeliveryRecord, InDoubtPolicy, Lineages, OnDeadOrdered, Retention};

use crate::destinations::{Limits, RateLimit};
use crate::poller::channels::{Channel, Retry};
use outbox_config::{ChannelConfig, Config, LeaseProvider, Wakeup};

/// The connections of a lease in a table: one to campaign or renew, one to look at it.
const TABLE_LEASE_CONNECTIONS: u32 = 2;

/// The same of a lease that a session holds, and that session.
const SESSION_LEASE_CONNECTIONS: u32 = 3;

/// The lease of the settings, for the outbox `outbox_id`, in a process that knows of `lineages`. A lease in the database has its own
/// connections: a renewal must not wait behind claims and marks.
pub async fn lease(config: &Config, outbox_id: &str, lineages: &Arc<Lineages>) -> anyhow::Result<Arc<dyn Lease>> {
    Ok(match &config.lease.provider {
        LeaseProvider::Redis { url, tls_ca } => {
            let lease = RedisLease::new(url.expose(), tls_ca, outbox_id, config.lease.ttl)?;
            Arc::new(lease.for_all(lineages.clone()))
        }
        LeaseProvider::Table => Arc::new(match database_to_poll(config, TABLE_LEASE_CONNECTIONS, lineages).await? {
            Database::Postgres(pool) => TableLease::Postgres(pool),
            Database::MySql(pool) => TableLease::MySql(pool),
            Database::Sqlite(pool) => TableLease::Sqlite(pool),
        }),
        LeaseProvider::Session => {
            let database = database_to_poll(config, SESSION_LEASE_CONNECTIONS, lineages).await?;
            Arc::new(SessionLease::new(database, outbox_id).await?)
        }
    })
}

/// How the connections to the Redis of the lease are protected. None where the lease is in the database.
pub fn lease_link(config: &Config) -> Option<RedisLink> {
    match &config.lease.provider {
        LeaseProvider::Redis { url, .. } => RedisLink::of(url.expose()).ok(),
        LeaseProvider::Table | LeaseProvider::Session => None,
    }
}

/// The wake-ups of applications, by the settings, for the outbox `outbox_id`. None: only the poller itself takes wake-ups.
pub fn wake_ups(config: &Config, outbox_id: &str) -> anyhow::Result<Option<Arc<dyn Hints>>> {
    Ok(match (config.dispatch.wakeup, &config.lease.provider) {
        (Wakeup::Redis, LeaseProvider::Redis { url, tls_ca }) => {
            Some(Arc::new(RedisHints::new(url.expose(), tls_ca, outbox_id, config.lease.ttl)?))
        }
        (Wakeup::Redis, LeaseProvider::Table | LeaseProvider::Session) | (Wakeup::Notify | Wakeup::Off, _) => None,
    })
}

/// The database of the settings, with at most this many connections. A SQLite file that does not exist is not created.
pub async fn database(config: &Config, connections: u32) -> anyhow::Result<Database> {
    config.require_database()?;
    let connected = Database::connect_to_existing(&options(config, connections)).await;
    connected.with_context(|| which_database(config))
}

/// The same for a poller: no connection leads to a server that a failover left behind, or that takes no writes.
pub async fn database_to_poll(config: &Config, connections: u32, lineages: &Arc<Lineages>) -> anyhow::Result<Database> {
    config.require_database()?;
    let connected =
        Database::connect_to_poll(&options(config, connections), lineages, config.database.durability).await;
    connected.with_context(|| which_database(config))
}

/// The same for what people ask of a replica: a server that takes no writes will do.
pub async fn database_to_ask(config: &Config, connections: u32, lineages: &Arc<Lineages>) -> anyhow::Result<Database> {
    let connected = Database::connect_to_ask(&options(config, connections), lineages, config.database.durability).await;
    connected.with_context(|| which_database(config))
}

/// The same for what makes the tables: a SQLite file that does not exist is created.
pub async fn database_or_new_file(config: &Config, connections: u32) -> anyhow::Result<Database> {
    config.require_database()?;
    let connected = Database::connect(&options(config, connections)).await;
    connected.with_context(|| which_database(config))
}

fn options(config: &Config, connections: u32) -> ConnectOptions<'_> {
    ConnectOptions { url: config.database.url.expose(), schema: config.database.schema.as_deref(), connections }
}

/// The database that the settings name, in words for errors.
pub fn which_database(config: &Config) -> String {
    let of_default = if config.uses_default_database() { " (its default: it is not set)" } else { "" };
    format!("database.url is {}{of_default}", config.database.url)
}

/// How long the settings keep finished messages.
pub fn retention(config: &Config) -> Retention {
    let continues = |channel: &&ChannelConfig| channel.on_dead_ordered == OnDeadOrdered::Continue;
    let continuing = config.channels.values().filter(continues).map(|channel| channel.name.clone()).collect();
    Retention { success: config.retention.success, dead: config.retention.dead, continuing }
}

/// The channels of the settings. No message reaches `own`, the address of the listener.
pub fn channels(config: &Config, own: SocketAddr) -> Result<Vec<Channel>, SetupError> {
    config.channels.values().map(|config| channel(config, own)).collect()
}

/// One channel of the settings, by itself. No message reaches `own`, the address of the listener.
pub fn channel(config: &ChannelConfig, own: SocketAddr) -> Result<Channel, SetupError> {
    let (settings, retry) = (&config.settings, &config.retry);
    let rate = config.rate.map(|per_second| RateLimit { per_second, rise: settings.rise() });
    let adapter = settings.build(&ChannelSetup {
        name: &config.name,
        timeout: config.timeout,
        at_most_once: config.in_doubt == InDoubtPolicy::DeadLetter,
        keeps_answers: config.record_deliveries == DeliveryRecord::Full,
        own,
    })?;
    Ok(Channel {
        name: config.name.clone(),
        adapter,
        sends_json: settings.sends_json(),
        timeout: config.timeout,
        in_doubt: config.in_doubt,
        on_dead_ordered: config.on_dead_ordered,
        retry: Retry {
            max_attempts: retry.max_attempts,
            base: retry.base,
            factor: retry.factor,
            max: retry.max,
            floor: settings.retry_floor(),
            max_age: retry.max_age,
        },
        limits: Limits { max_in_flight: config.max_in_flight, rate },
        max_message_bytes: config.max_message_bytes,
        fair: config.fair,
        record_deliveries: config.record_deliveries,
        outcomes: config.outcomes.clone(),
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use outbox_config::Sources;

    #[test]
    fn fcm_is_given_ten_seconds_before_any_retry() {
        let file = "[channels.hook]\nkind = \"http\"\n[channels.push]\nkind = \"fcm\"\nproject_id = \"shop\"";
        let sources = Sources { file: Some(("outbox.toml".into(), file.to_owned())), ..Sources::default() };
        let config = Config::load(&sources).expect("the settings are valid");
        let floor = |name: &str| config.channels[name].settings.retry_floor();
        assert_eq!(floor("push"), Duration::from_secs(10));
        assert_eq!(floor("hook"), Duration::ZERO);
    }
}
