//! The commands that a Redis server has run.

use redis::aio::MultiplexedConnection;

use super::number::float;
use outbox_config::{Config, LeaseProvider};

/// A connection that asks for the number of commands. None where the lease is not in a plain Redis: in a table, behind
/// sentinels, or behind the operator's own certificate authority.
#[derive(Debug)]
pub(super) struct RedisCommands(Option<MultiplexedConnection>);

impl RedisCommands {
    /// Connects to the Redis server of the settings.
    pub(super) async fn of(config: &Config) -> Self {
        let client = match &config.lease.provider {
            LeaseProvider::Redis { url, tls_ca } if tls_ca.is_empty() => redis::Client::open(url.expose()).ok(),
            LeaseProvider::Redis { .. } | LeaseProvider::Table | LeaseProvider::Session => None,
        };
        match client {
            Some(client) => Self(client.get_multiplexed_async_connection().await.ok()),
            None => Self(None),
        }
    }

    /// The commands that the whole server has run so far. Commands inside scripts count, INFO commands do not.
    pub(super) async fn count(&mut self) -> Option<f64> {
        let stats: String = redis::cmd("INFO").arg("commandstats").query_async(self.0.as_mut()?).await.ok()?;
        Some(float(calls(&stats)))
    }
}

fn calls(stats: &str) -> u64 {
    let lines = stats.lines().filter_map(|line| line.strip_prefix("cmdstat_")?.split_once(":calls="));
    let calls = lines.filter(|(command, _)| *command != "info");
    calls.filter_map(|(_, rest)| rest.split(',').next()?.parse::<u64>().ok()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_counted_without_the_question() {
        assert_eq!(calls("# Commandstats\r\ncmdstat_set:calls=7,usec=1\r\ncmdstat_info:calls=3,usec=1\r\n"), 7);
    }
}
