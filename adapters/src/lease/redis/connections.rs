//! Connections to Redis, each used by one call at a time and none after a failure.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::io::tcp::socket2::TcpKeepalive;
use redis::{AsyncConnectionConfig, Client, ConnectionInfo, RedisResult};

/// Bounds a connection attempt, and the wait for an answer. Callers set tighter bounds where they need them.
pub(super) const TIMEOUT: Duration = Duration::from_secs(1);

/// When a silent peer is first probed, and between probes.
const KEEPALIVE: Duration = Duration::from_secs(5);

/// Finds dead subscriptions by the network's own means, without a command, and says nothing on connecting beyond
/// what is needed.
pub(super) fn tuned(info: ConnectionInfo) -> ConnectionInfo {
    let tcp = info.tcp_settings().clone();
    let keepalive = TcpKeepalive::new().with_time(KEEPALIVE).with_interval(KEEPALIVE).with_retries(3);
    let redis = info.redis_settings().clone().set_skip_set_lib_name();
    info.set_redis_settings(redis).set_tcp_settings(tcp.set_nodelay(true).set_keepalive(keepalive))
}

/// Idle connections, dialled when there is none: at most one attempt per call, none between calls.
pub(super) struct Connections {
    client: Client,
    idle: Mutex<Vec<MultiplexedConnection>>,
}

impl Connections {
    pub(super) fn new(client: Client) -> Self {
        Self { client, idle: Mutex::default() }
    }

    /// Lends a connection to `call`. It is kept only after an answer: an error, and a call that is dropped because
    /// its time is over, close it. So the answer to an abandoned call is never waited for, and the next call finds
    /// out afresh whether Redis is there, and, behind a name, which one. No call is repeated here, since it may have
    /// taken effect: a connection lost while idle costs one call.
    pub(super) async fn with<T>(
        &self,
        call: impl AsyncFnOnce(&mut MultiplexedConnection) -> RedisResult<T>,
    ) -> RedisResult<T> {
        let idle = self.idle().pop();
        let mut connection = match idle {
            Some(connection) => connection,
            None => self.connect().await?,
        };
        let answer = call(&mut connection).await;
        match &answer {
            Ok(_) => self.idle().push(connection),
            // Its siblings lead to the same server.
            Err(_) => self.idle().clear(),
        }
        answer
    }

    async fn connect(&self) -> RedisResult<MultiplexedConnection> {
        let config =
            AsyncConnectionConfig::new().set_connection_timeout(Some(TIMEOUT)).set_response_timeout(Some(TIMEOUT));
        self.client.get_multiplexed_async_connection_with_config(&config).await
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<MultiplexedConnection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
