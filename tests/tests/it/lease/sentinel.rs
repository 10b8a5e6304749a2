//! What the lease does when the primary of its Redis changes.

use std::time::Duration;

use outbox_adapters::{Lease, RedisLease};
use outbox_tests::conformance::lease::{LONG, SEAT, SOON, holder};
use outbox_tests::eventually;
use outbox_tests::servers::Sentinels;
use tokio::time::timeout;
use uuid::Uuid;

/// Longer than the sentinels need to agree and to promote.
const FAILOVER: Duration = Duration::from_mins(2);

/// As a caller bounds its calls: the sixth part of a lease of 6 s.
const BOUND: Duration = Duration::from_secs(1);

fn replicas(servers: &Sentinels) -> (RedisLease, RedisLease) {
    let outbox = Uuid::new_v4().to_string();
    let replica = || RedisLease::new(&servers.url(), "", &outbox, Duration::from_secs(10)).unwrap();
    (replica(), replica())
}

/// Waits until the replica has heard of the lease.
async fn replicated(servers: &Sentinels) {
    let keys = async || redis_text(servers.replica.port(), &["KEYS", "*lease*"]).await;
    let heard = async || keys().await.contains("outbox:").then_some(());
    eventually("the replica has heard of the lease", SOON, heard).await;
}

/// Calls within the caller's bound until there is an answer.
async fn answered<T>(what: &str, call: impl AsyncFn() -> Option<T>) -> T {
    eventually(what, FAILOVER, async || timeout(BOUND, call()).await.ok()?).await
}

#[tokio::test]
async fn after_a_failover_the_lost_lease_is_known_as_lost_and_the_new_primary_keeps_the_next() {
    let servers = Sentinels::start().await;
    let (lease, candidate) = replicas(&servers);
    let leader = holder();
    assert!(lease.acquire(&SEAT, &leader, LONG).await.unwrap());
    assert!(lease.renew(&SEAT, &leader, LONG).await.unwrap());
    // As if the replica had not heard of the lease yet: it is lost with the primary.
    replicated(&servers).await;
    let replica = servers.replica.port();
    redis_text(replica, &["CONFIG", "SET", "replica-read-only", "no"]).await;
    redis_text(replica, &["FLUSHALL"]).await;

    servers.primary.kill().await;

    let renewed = answered("a renewal is answered", async || lease.renew(&SEAT, &leader, LONG).await.ok()).await;
    assert!(!renewed, "a lease was renewed that the new primary never saw");
    let next = holder();
    let won = answered("the new primary is campaigned at", async || candidate.acquire(&SEAT, &next, LONG).await.ok());
    assert!(won.await);
    // A connection that the failover closed costs one call.
    let regained = async || lease.acquire(&SEAT, &leader, LONG).await.ok();
    assert!(!answered("the loser campaigns", regained).await, "two hold the lease");
    assert!(candidate.renew(&SEAT, &next, LONG).await.unwrap());

    timeout(SOON, lease.released(&SEAT)).await.expect("a subscription is made at the new primary");
    assert!(candidate.release(&SEAT, &next).await.unwrap());
    timeout(SOON, lease.released(&SEAT)).await.expect("a release is heard by way of the new primary");
}

#[tokio::test]
async fn a_primary_that_was_demoted_is_left_for_the_new_one() {
    let servers = Sentinels::start().await;
    let (lease, _) = replicas(&servers);
    let leader = holder();
    assert!(lease.acquire(&SEAT, &leader, LONG).await.unwrap());
    assert!(lease.renew(&SEAT, &leader, LONG).await.unwrap());
    // A failover that is asked for does not wait for what the replica has not heard of.
    replicated(&servers).await;

    redis_text(servers.sentinels[0].port(), &["SENTINEL", "FAILOVER", "lease"]).await;

    // It is alive, and refuses to write for a replica.
    // A server that changes its role closes its connections.
    let demoted = async || try_redis(servers.primary.port(), &["ROLE"]).await.ok()?.contains("slave").then_some(());
    eventually("the old primary is a replica", FAILOVER, demoted).await;
    let held = answered("the new primary is asked", async || lease.renew(&SEAT, &leader, LONG).await.ok()).await;
    assert!(held, "a failover in good order lost the lease");
    let role = redis_text(servers.replica.port(), &["ROLE"]).await;
    assert!(role.contains("master"), "{role}");
}

#[tokio::test]
async fn one_sentinel_that_answers_suffices_whichever_it_is() {
    let servers = Sentinels::start().await;
    servers.sentinels[0].kill().await;
    servers.sentinels[1].freeze();
    let (lease, _) = replicas(&servers);
    let leader = holder();
    let won = answered("the last sentinel is asked", async || lease.acquire(&SEAT, &leader, LONG).await.ok());
    assert!(won.await);
    assert!(lease.renew(&SEAT, &leader, LONG).await.unwrap());
}

/// The answer to a command, as the client shows it.
async fn redis_text(port: u16, command: &[&str]) -> String {
    try_redis(port, command).await.unwrap()
}

async fn try_redis(port: u16, command: &[&str]) -> redis::RedisResult<String> {
    let client = redis::Client::open(format!("redis://127.0.0.1:{port}"))?;
    let mut connection = client.get_multiplexed_async_connection().await?;
    let (name, arguments) = command.split_first().unwrap();
    let answer: redis::Value = redis::cmd(name).arg(arguments).query_async(&mut connection).await?;
    Ok(format!("{answer:?}"))
}
