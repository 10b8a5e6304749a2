//! What the lease does in a cluster: which node it goes to, and what it does when that is gone or the slot moves.

use std::time::Duration;

use outbox_adapters::{Lease, RedisLease};
use outbox_tests::conformance::lease::{LONG, SEAT, SOON, holder};
use outbox_tests::eventually;
use outbox_tests::servers::{Cluster, Redis};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::time::timeout;
use uuid::Uuid;

use crate::outboxes;
use crate::program::{HTTP, Program};

/// Longer than the nodes need to agree and to promote.
const FAILOVER: Duration = Duration::from_mins(2);

/// As a caller bounds its calls: the sixth part of a lease of 6 s.
const BOUND: Duration = Duration::from_secs(1);

fn lease(url: &str, outbox: &str) -> RedisLease {
    RedisLease::new(url, "", outbox, Duration::from_secs(10)).unwrap()
}

fn outbox() -> String {
    Uuid::new_v4().to_string()
}

/// The key of the lease.
fn key(outbox: &str) -> String {
    format!("outbox:{{{outbox}}}:lease:0")
}

/// Calls within the caller's bound until there is an answer.
async fn answered<T>(what: &str, call: impl AsyncFn() -> Option<T>) -> T {
    eventually(what, FAILOVER, async || timeout(BOUND, call()).await.ok()?).await
}

#[tokio::test]
async fn each_node_leads_to_the_one_that_has_the_lease_also_where_the_url_names_one_server() {
    let cluster = Cluster::start().await;
    let outbox = outbox();
    for node in &cluster.nodes {
        for scheme in ["redis", "redis+cluster"] {
            let lease = lease(&format!("{scheme}://127.0.0.1:{}", node.port()), &outbox);
            let leader = holder();
            assert!(lease.acquire(&SEAT, &leader, LONG).await.unwrap());
            assert!(lease.renew(&SEAT, &leader, LONG).await.unwrap());
            assert_eq!(lease.current(&SEAT).await.unwrap().unwrap().holder, leader.as_str());
            assert_eq!(lease.missing_rights().await.unwrap(), None);
            assert!(lease.release(&SEAT, &leader).await.unwrap());
            timeout(SOON, lease.released(&SEAT)).await.expect("a subscription is made");
            assert!(lease.acquire(&SEAT, &leader, LONG).await.unwrap());
            assert!(lease.release(&SEAT, &leader).await.unwrap());
            timeout(SOON, lease.released(&SEAT)).await.expect("a release is heard by way of any node");
        }
    }
    // Who named one server is told to name more, where that is not the one with the lease by chance.
    let owner = cluster.owner(0, &key(&outbox)).await.unwrap();
    for (place, node) in cluster.nodes.iter().enumerate() {
        let lease = lease(&format!("redis://127.0.0.1:{}", node.port()), &outbox);
        lease.current(&SEAT).await.unwrap();
        let advice = lease.advice();
        assert_eq!(advice.is_some(), place != owner, "{advice:?}");
        assert!(advice.is_none_or(|advice| advice.contains("redis+cluster://")));
    }
}

#[tokio::test]
async fn after_the_death_of_its_node_the_lease_is_kept_by_the_one_that_takes_its_place() {
    let cluster = Cluster::start().await;
    let outbox = outbox();
    let (first, candidate) = (lease(&cluster.url(), &outbox), lease(&cluster.url(), &outbox));
    let leader = holder();
    assert!(first.acquire(&SEAT, &leader, LONG).await.unwrap());
    assert!(first.renew(&SEAT, &leader, LONG).await.unwrap());
    let owner = cluster.owner(0, &key(&outbox)).await.unwrap();

    cluster.nodes[owner].kill().await;

    let next = holder();
    // The lease may be lost with the node: its replica need not have heard of it.
    let renewed = answered("a renewal is answered", async || first.renew(&SEAT, &leader, LONG).await.ok()).await;
    let won =
        answered("the next node is campaigned at", async || candidate.acquire(&SEAT, &next, LONG).await.ok()).await;
    assert_ne!(renewed, won, "one of them has the lease");
    let (lease, holder) = if won { (&candidate, &next) } else { (&first, &leader) };
    timeout(SOON, first.released(&SEAT)).await.expect("a subscription is made at a node that lives");
    // A connection that was lost while idle costs one call.
    assert!(answered("the lease is released", async || lease.release(&SEAT, holder).await.ok()).await);
    timeout(SOON, first.released(&SEAT)).await.expect("a release is heard by way of a node that lives");

    // The node comes back as a replica, and sends who asks it on.
    cluster.nodes[owner].restart().await;
    let back = lease_at(&cluster, owner, &outbox);
    let newest = self::holder();
    assert!(answered("the old node sends calls on", async || back.acquire(&SEAT, &newest, LONG).await.ok()).await);
    assert!(lease.current(&SEAT).await.unwrap().is_some_and(|held| held.holder == newest.as_str()));
}

fn lease_at(cluster: &Cluster, place: usize, outbox: &str) -> RedisLease {
    lease(&format!("redis+cluster://127.0.0.1:{}", cluster.nodes[place].port()), outbox)
}

#[tokio::test]
async fn a_slot_that_moves_to_a_new_node_takes_its_lease_along() {
    let mut cluster = Cluster::start().await;
    let (outbox, leader) = (outbox(), holder());
    let lease = lease(&cluster.url(), &outbox);
    assert!(lease.acquire(&SEAT, &leader, LONG).await.unwrap());
    assert!(lease.renew(&SEAT, &leader, LONG).await.unwrap());
    let new = cluster.add_node().await;
    cluster.move_slot(&key(&outbox), new).await;
    assert_eq!(cluster.owner(new, &key(&outbox)).await, Some(new));
    // Both its connections are sent on, and no call fails for it.
    assert!(lease.renew(&SEAT, &leader, LONG).await.unwrap());
    assert!(lease.acquire(&SEAT, &leader, LONG).await.unwrap());
    assert!(!lease.acquire(&SEAT, &holder(), LONG).await.unwrap());
}

#[tokio::test]
async fn nodes_that_do_not_answer_are_passed_over() {
    let cluster = Cluster::start().await;
    let outbox = outbox();
    let owner = cluster.owner(0, &key(&outbox)).await.unwrap();
    // Replicas, in the first places of the URL: the others agree without them.
    let silent: Vec<_> = (3..cluster.nodes.len()).filter(|place| *place != owner).take(2).collect();
    let hosts = [silent[0], silent[1], owner].map(|place| format!("127.0.0.1:{}", cluster.nodes[place].port()));
    for place in &silent {
        cluster.nodes[*place].freeze();
    }
    let lease = lease(&format!("redis+cluster://{}", hosts.join(",")), &outbox);
    let leader = holder();
    assert!(answered("the next node is asked", async || lease.acquire(&SEAT, &leader, LONG).await.ok()).await);
    for place in &silent {
        cluster.nodes[*place].thaw();
    }
}

/// Answers each command as a node does that was cut off from its cluster, and still sends clients to one that is dead.
async fn cut_off() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut asked = [0; 4096];
                while matches!(client.read(&mut asked).await, Ok(1..)) {
                    if client.write_all(b"-MOVED 1 127.0.0.1:1\r\n").await.is_err() {
                        return;
                    }
                }
            });
        }
    });
    port
}

#[tokio::test]
async fn a_node_that_sends_calls_to_a_dead_one_is_left_for_the_next() {
    let cluster = Cluster::start().await;
    let url = format!("redis+cluster://127.0.0.1:{},127.0.0.1:{}", cut_off().await, cluster.nodes[0].port());
    let (lease, leader) = (lease(&url, &outbox()), holder());
    assert!(lease.acquire(&SEAT, &leader, LONG).await.is_err(), "the first node was not asked");
    assert!(lease.acquire(&SEAT, &leader, LONG).await.unwrap());
    assert!(lease.renew(&SEAT, &leader, LONG).await.unwrap());
}

#[tokio::test]
async fn fifty_replicas_that_wait_cost_a_cluster_little_more_than_one_server() {
    const CAMPAIGNS: u64 = 20;
    let (cluster, server) = (Cluster::start().await, Redis::start().await);
    let calls = async |url: &str, ports: &[u16]| {
        let outbox = outbox();
        let leader = lease(url, &outbox);
        assert!(leader.acquire(&SEAT, &holder(), LONG).await.unwrap());
        let before = commands(ports).await;
        for _ in 0..50 {
            let (candidate, waiting) = (lease(url, &outbox), holder());
            for _ in 0..CAMPAIGNS {
                assert!(!candidate.acquire(&SEAT, &waiting, LONG).await.unwrap());
            }
        }
        commands(ports).await - before
    };
    let ports: Vec<_> = cluster.nodes.iter().map(outbox_tests::servers::Server::port).collect();
    let in_cluster = calls(&cluster.url(), &ports).await;
    let alone = calls(&server.url(), &[server.port()]).await;
    assert!(alone >= 50 * CAMPAIGNS, "{alone}");
    assert!(in_cluster * 10 <= alone * 12, "{in_cluster} in the cluster, {alone} on one server");
}

/// The commands of clients that these servers have counted, without the nodes' own and without these questions.
async fn commands(ports: &[u16]) -> u64 {
    let mut sum = 0;
    for port in ports {
        let client = redis::Client::open(format!("redis://127.0.0.1:{port}")).unwrap();
        let mut connection = client.get_multiplexed_async_connection().await.unwrap();
        let stats: String = redis::cmd("INFO").arg("commandstats").query_async(&mut connection).await.unwrap();
        let of_clients =
            |name: &str| !["info", "ping", "replconf", "psync", "cluster"].iter().any(|own| name.starts_with(own));
        let counted = |line: &str| {
            let (name, rest) = line.strip_prefix("cmdstat_")?.split_once(":calls=")?;
            let number = |text: &str| text.split(',').next()?.parse::<u64>().ok();
            let rejected = rest.split_once("rejected_calls=").and_then(|(_, rest)| number(rest)).unwrap_or_default();
            of_clients(name).then(|| number(rest).unwrap_or_default() + rejected)
        };
        sum += stats.lines().filter_map(counted).sum::<u64>();
    }
    sum
}

#[tokio::test]
async fn check_says_to_name_more_nodes_where_the_url_names_one_server() {
    let cluster = Cluster::start().await;
    let outbox = &outboxes::migrated().await[0];
    let told = async |url: &str| {
        let settings = format!("{HTTP}[lease]\nprovider = \"redis\"\nurl = \"{url}\"\n");
        let text = Program::new(&outbox.test.url, &settings).run(&["check"]).await.done();
        text.lines().find(|line| line.starts_with("lease")).unwrap().to_owned()
    };
    // The node with the lease shows nothing of its cluster. It may be the first.
    let mut warned = 0;
    for node in &cluster.nodes[..2] {
        let line = told(&format!("redis://127.0.0.1:{}", node.port())).await;
        assert!(line.contains("the lease store answers"), "{line}");
        warned += usize::from(line.contains("warning") && line.contains("redis+cluster://HOST:PORT"));
    }
    assert!(warned >= 1);
    let line = told(&cluster.url()).await;
    assert!(line.contains("nobody polls") && !line.contains("HOST:PORT"), "{line}");
}
