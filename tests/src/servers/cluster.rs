//! A cluster: three nodes that share the slots, and a replica of each
//! (<https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/>).

use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{FromRedisValue, RedisResult};

use super::redis::{RedisKind, RedisTlsKind, Transport, authority};
use super::server::{Server, free_port};
use crate::eventually;

/// The slots of every cluster.
const SLOTS: u16 = 16_384;

/// Nodes with slots, and as many replicas.
const OWNERS: u16 = 3;

/// How long a node is silent before the others take it to be gone.
pub const NODE_TIMEOUT: Duration = Duration::from_secs(1);

/// Far longer than anything takes: the machine may be busy with other tests.
const PATIENCE: Duration = Duration::from_mins(2);

/// Nodes in the clear.
pub type Cluster = Nodes<RedisKind>;

/// Nodes that speak TLS only, also to each other.
pub type ClusterTls = Nodes<RedisTlsKind>;

/// See [`Cluster`].
#[derive(Debug)]
pub struct Nodes<K> {
    /// Those that own slots at first, and then the replica of each.
    pub nodes: Vec<Server<K>>,
    /// The ports at which the nodes speak to each other.
    between: Vec<u16>,
}

impl<K: Transport> Nodes<K> {
    /// Starts all of them and waits until each knows the others.
    pub async fn start() -> Self {
        let mut cluster = Self { nodes: Vec::new(), between: Vec::new() };
        for _ in 0..2 * OWNERS {
            cluster.start_node().await;
        }
        for nth in 0..OWNERS {
            let (first, last) =
                (SLOTS / OWNERS * nth, if nth == OWNERS - 1 { SLOTS } else { SLOTS / OWNERS * (nth + 1) });
            cluster.tell::<()>(usize::from(nth), &["ADDSLOTSRANGE", &first.to_string(), &(last - 1).to_string()]).await;
        }
        for nth in 0..OWNERS {
            let (owner, replica) = (usize::from(nth), usize::from(OWNERS + nth));
            let of = cluster.id(owner).await;
            let follows = async || cluster.try_to_tell::<()>(replica, &["REPLICATE", &of]).await.ok();
            eventually("a replica knows the node that it is to follow", PATIENCE, follows).await;
        }
        cluster.whole().await;
        cluster
    }

    /// Adds a node without slots. Returns its place.
    pub async fn add_node(&mut self) -> usize {
        let place = self.start_node().await;
        self.whole().await;
        place
    }

    async fn start_node(&mut self) -> usize {
        let between = free_port();
        let options = format!(
            "--cluster-enabled yes --cluster-config-file nodes.conf --cluster-port {between} --cluster-node-timeout {} {}",
            NODE_TIMEOUT.as_millis(),
            if K::SCHEME == "rediss" { "--tls-cluster yes" } else { "" }
        );
        self.nodes.push(Server::<K>::start_as(move |_, port| K::serving(port, &options)).await);
        self.between.push(between);
        let place = self.nodes.len() - 1;
        // Two nodes without a number of their own may claim the same.
        self.tell::<()>(place, &["SET-CONFIG-EPOCH", &(place + 1).to_string()]).await;
        if place > 0 {
            let (port, between) = (self.nodes[0].port().to_string(), self.between[0].to_string());
            self.tell::<()>(place, &["MEET", "127.0.0.1", &port, &between]).await;
        }
        place
    }

    /// Waits until each node knows all, and each replica follows its node.
    async fn whole(&self) {
        for place in 0..self.nodes.len() {
            let knows_all = async || {
                let info: String = self.try_to_tell(place, &["INFO"]).await.ok()?;
                let nodes: String = self.try_to_tell(place, &["NODES"]).await.ok()?;
                let all = format!("cluster_known_nodes:{}\r", self.nodes.len());
                let is_settled =
                    !nodes.contains("handshake") && !nodes.contains("fail") && !nodes.contains("disconnected");
                let replicas = nodes.lines().filter(|line| line.contains("slave")).count();
                (info.contains("cluster_state:ok")
                    && info.contains(&all)
                    && is_settled
                    && replicas == usize::from(OWNERS))
                .then_some(())
            };
            eventually("each node of the cluster knows the others", PATIENCE, knows_all).await;
            let connection = self.connect(place).await.unwrap();
            let follows = async || {
                let mut connection = connection.clone();
                let info: String = redis::cmd("INFO").arg("replication").query_async(&mut connection).await.ok()?;
                (info.contains("role:master") || info.contains("master_link_status:up")).then_some(())
            };
            eventually("each replica follows its node", PATIENCE, follows).await;
        }
    }

    /// As `lease.url` takes it.
    pub fn url(&self) -> String {
        let hosts: Vec<_> = self.nodes.iter().map(|node| format!("127.0.0.1:{}", node.port())).collect();
        format!("{}+cluster://{}", K::SCHEME, hosts.join(","))
    }

    /// PEM file of the authority of the certificates; empty in the clear.
    pub fn authority(&self) -> String {
        if K::SCHEME == "rediss" { authority(&self.nodes[0]) } else { String::new() }
    }

    /// The place of the node that owns the slot of this key, as far as the node at `asked` knows.
    pub async fn owner(&self, asked: usize, key: &str) -> Option<usize> {
        let slot: u16 = self.try_to_tell(asked, &["KEYSLOT", key]).await.ok()?;
        let nodes: String = self.try_to_tell(asked, &["NODES"]).await.ok()?;
        let owns = |range: &str| {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            let bound = |text: &str| text.parse::<u16>().ok();
            bound(first).zip(bound(last)).is_some_and(|(first, last)| (first..=last).contains(&slot))
        };
        let line = nodes.lines().find(|line| !line.contains("fail") && line.split(' ').skip(8).any(owns))?;
        let address = line.split(' ').nth(1)?.split(['@', ',']).next()?;
        let port: u16 = address.rsplit_once(':')?.1.parse().ok()?;
        self.nodes.iter().position(|node| node.port() == port)
    }

    /// Moves the slot of this key with all its keys to the node at `to`, as `redis-cli --cluster reshard` does.
    pub async fn move_slot(&self, key: &str, to: usize) {
        let from = self.owner(to, key).await.expect("each slot has a node");
        let slot: u16 = self.tell(to, &["KEYSLOT", key]).await;
        let slot = slot.to_string();
        let (giver, taker) = (self.id(from).await, self.id(to).await);
        self.tell::<()>(to, &["SETSLOT", &slot, "IMPORTING", &giver]).await;
        self.tell::<()>(from, &["SETSLOT", &slot, "MIGRATING", &taker]).await;
        let keys: Vec<String> = self.tell(from, &["GETKEYSINSLOT", &slot, "1000"]).await;
        for key in keys {
            let port = self.nodes[to].port().to_string();
            let mut connection = self.connect(from).await.unwrap();
            let mut migrate = redis::cmd("MIGRATE");
            migrate.arg(&["127.0.0.1", &port, &key, "0", "5000"]);
            migrate.query_async::<String>(&mut connection).await.unwrap();
        }
        for place in [to, from] {
            self.tell::<()>(place, &["SETSLOT", &slot, "NODE", &taker]).await;
        }
    }

    /// The keys of a pattern on all nodes that answer.
    pub async fn keys(&self, pattern: &str) -> Vec<String> {
        let mut keys = Vec::new();
        for place in 0..self.nodes.len() {
            if let Ok(mut connection) = self.connect(place).await {
                let found: RedisResult<Vec<String>> =
                    redis::cmd("KEYS").arg(pattern).query_async(&mut connection).await;
                keys.extend(found.unwrap_or_default());
            }
        }
        keys
    }

    async fn id(&self, place: usize) -> String {
        self.tell(place, &["MYID"]).await
    }

    async fn tell<T: FromRedisValue>(&self, place: usize, words: &[&str]) -> T {
        self.try_to_tell(place, words).await.unwrap()
    }

    async fn try_to_tell<T: FromRedisValue>(&self, place: usize, words: &[&str]) -> RedisResult<T> {
        redis::cmd("CLUSTER").arg(words).query_async(&mut self.connect(place).await?).await
    }

    async fn connect(&self, place: usize) -> RedisResult<MultiplexedConnection> {
        let url = format!("{}://127.0.0.1:{}", K::SCHEME, self.nodes[place].port());
        let client = if K::SCHEME == "rediss" {
            let root_cert = Some(std::fs::read(self.authority()).unwrap());
            redis::Client::build_with_tls(url, redis::TlsCertificates { client_tls: None, root_cert })
        } else {
            redis::Client::open(url)
        };
        client?.get_multiplexed_async_connection().await
    }
}
