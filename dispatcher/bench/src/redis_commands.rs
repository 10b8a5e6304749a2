//! What a Redis server was told to do.

use redis::aio::MultiplexedConnection;

use super::number::float;
use outbox_dispatcher::config::{Config, LeaseProvider};

/// A connection that asks for it. None where the lease is elsewhere, or behind sentinels or an authority of one's own.
#[derive(Debug)]
pub(super) struct RedisCommands(Option<MultiplexedConnection>);

impl RedisCommands {
    /// Of the server of the settings.
    pub(super) async fn of(config: &Config) -> Self {
        let client = match &config.lease.provider {
            LeaseProvider::Redis { url, tls_ca } if tls_ca.is_empty() => redis::Client::open(url.expose()).ok(),
            LeaseProvider::Redis { .. } | LeaseProvider::Table => None,
        };
        match client {
            Some(client) => Self(client.get_multiplexed_async_connection().await.ok()),
            None => Self(None),
        }
    }

    /// Commands so far of the whole server, those inside scripts too, and without these questions.
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
