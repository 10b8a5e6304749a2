//! A primary, its replica, and the sentinels that make the replica the primary when that is gone.

use std::time::Duration;

use redis::aio::MultiplexedConnection;

use super::redis::{RedisKind, RedisTlsKind, Transport, authority};
use super::server::Server;
use crate::eventually;

/// The name under which the sentinels know the primary.
const SERVICE: &str = "lease";

/// How many agree that the primary is gone.
const QUORUM: usize = 2;

/// Far longer than anything takes: the machine may be busy with other tests.
const PATIENCE: Duration = Duration::from_mins(2);

/// Servers in the clear.
pub type Sentinels = Watched<RedisKind>;

/// Servers that speak TLS only, also to each other.
pub type SentinelsTls = Watched<RedisTlsKind>;

/// See [`Sentinels`].
#[derive(Debug)]
pub struct Watched<K> {
    /// At first.
    pub primary: Server<K>,
    /// What takes its place.
    pub replica: Server<K>,
    /// Three.
    pub sentinels: Vec<Server<K>>,
}

impl<K: Transport> Watched<K> {
    /// Starts all of them and waits until a failover is possible.
    pub async fn start() -> Self {
        let primary = Server::<K>::start().await;
        let of = primary.port();
        let replica =
            Server::<K>::start_as(move |_, port| K::serving(port, &format!("--replicaof 127.0.0.1 {of}"))).await;
        let mut sentinels = Vec::new();
        for _ in 0..3 {
            let configuration = format!(
                "sentinel monitor {SERVICE} 127.0.0.1 {of} {QUORUM}\n\
                 sentinel down-after-milliseconds {SERVICE} 1000\n\
                 sentinel failover-timeout {SERVICE} 3000\n"
            );
            sentinels
                .push(Server::<K>::start_as(move |_, port| K::configured(port, &configuration, "--sentinel")).await);
        }
        let watched = Self { primary, replica, sentinels };
        for sentinel in &watched.sentinels {
            eventually("each sentinel knows the replica and the other sentinels", PATIENCE, async || {
                let mut connection = watched.connect(sentinel).await?;
                let mut ask = redis::cmd("SENTINEL");
                let primary: std::collections::HashMap<String, String> =
                    ask.arg("MASTER").arg(SERVICE).query_async(&mut connection).await.ok()?;
                (primary["num-slaves"] == "1" && primary["num-other-sentinels"] == "2").then_some(())
            })
            .await;
        }
        let synchronised = async || {
            let mut connection = watched.connect(&watched.replica).await?;
            let info: String = redis::cmd("INFO").arg("replication").query_async(&mut connection).await.ok()?;
            info.contains("master_link_status:up").then_some(())
        };
        eventually("the replica follows its primary", PATIENCE, synchronised).await;
        watched
    }

    /// As `lease.url` takes it.
    pub fn url(&self) -> String {
        let hosts: Vec<_> = self.sentinels.iter().map(|sentinel| format!("127.0.0.1:{}", sentinel.port())).collect();
        format!("{}+sentinel://{}/{SERVICE}", K::SCHEME, hosts.join(","))
    }

    /// PEM file of the authority of the certificates; empty in the clear.
    pub fn authority(&self) -> String {
        if K::SCHEME == "rediss" { authority(&self.primary) } else { String::new() }
    }

    async fn connect(&self, server: &Server<K>) -> Option<MultiplexedConnection> {
        let url = format!("{}://127.0.0.1:{}", K::SCHEME, server.port());
        let client = if K::SCHEME == "rediss" {
            let root_cert = Some(std::fs::read(self.authority()).unwrap());
            redis::Client::build_with_tls(url, redis::TlsCertificates { client_tls: None, root_cert })
        } else {
            redis::Client::open(url)
        };
        client.unwrap().get_multiplexed_async_connection().await.ok()
    }
}
