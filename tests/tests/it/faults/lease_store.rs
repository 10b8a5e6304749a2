//! The lease store forgets, hangs, cannot be reached, or is replaced by one that never heard of the lease.

use std::time::{Duration, Instant};

use outbox_tests::eventually;
use outbox_tests::faults::{CHANGES, Figures, Run, Setup, repeat};
use outbox_tests::fleet::{PATIENCE, Poller, Settings};
use outbox_tests::proxy::{Passage, Proxy};
use outbox_tests::servers::{self, Cluster, Redis, Sentinels};

use super::{IN_FLIGHT, MEASURED};

/// From Redis' return to the next delivery.
const RESUMED: Duration = Duration::from_secs(2);

async fn on_postgres(redis: String, max_in_flight: u32) -> Setup {
    let database = servers::postgres().await.database().await;
    Setup { database, redis: Some(redis), max_in_flight, fault_points: false }
}

/// How a lease is forgotten.
#[derive(Debug, Clone, Copy)]
enum Forgets {
    Restarted,
    Flushed,
    Deleted,
}

#[tokio::test]
async fn a_redis_that_forgets_gives_two_believers_for_a_renewal_and_one_valid_epoch() {
    repeat("Redis forgets the lease, PostgreSQL", async |dice, figures| {
        for in_flight in IN_FLIGHT {
            let redis = Redis::start().await;
            let mut run = Run::begin(on_postgres(redis.url(), in_flight).await, |settings| settings).await;
            let ways = [Forgets::Restarted, Forgets::Flushed, Forgets::Deleted];
            for nth in 0..CHANGES {
                let poller = run.poller_at_work().await;
                run.strikes(&poller);
                // Each way at least once, in any order after that.
                match ways.get(nth).copied().unwrap_or_else(|| dice.one_of(&ways)) {
                    Forgets::Restarted => {
                        redis.kill().await;
                        redis.restart().await;
                    }
                    Forgets::Flushed => redis.command(&["FLUSHALL"]).await,
                    Forgets::Deleted => {
                        for key in redis.keys("outbox:*:lease:*").await {
                            redis.command(&["DEL", &key]).await;
                        }
                    }
                }
                note_believers(&run, &poller, figures).await;
            }
            let messages = run.stage.application.committed.len();
            let report = run.end(figures).await;
            report.assert_all_delivered(messages);
            figures.assert_no_duplicates(&report);
        }
    })
    .await;
}

/// The term of the loser ends with its next renewal or claim; the other's epoch is the valid one.
async fn note_believers(run: &Run, loser: &Poller, figures: &mut Figures) {
    let winner = run.successor(loser).await;
    let reason = run.term_ended(loser).await;
    assert!(["lost", "fenced", "renewal_failed"].contains(&reason.as_str()), "the loser ended by {reason}");
    let led = run.fleet.led();
    let of = |poller: &Poller| {
        let holders = run.fleet.lines(poller.place, "term.began");
        let line = holders.into_iter().find(|line| line["epoch"] == poller.epoch.to_string().as_str()).unwrap();
        led.iter().find(|term| line["holder"] == term.holder.as_str()).cloned().unwrap()
    };
    let (ended, began) = (of(loser).ended.expect("it has ended"), of(&winner).began);
    let both = ended.duration_since(began).unwrap_or_default();
    let renewal = run.fleet.settings().ttl / 3 + run.fleet.settings().ttl / 6;
    figures.bounded(&format!("two believers (a renewal: {renewal:.2?})"), both, renewal, run.lateness());
}

/// How Redis is out of reach.
#[derive(Debug, Clone, Copy)]
enum Silence {
    Hung,
    Unreachable,
    Refused,
    Late,
    /// Connections from before stay dead also when new ones are answered again.
    Vanished,
}

#[tokio::test]
async fn without_redis_sends_stop_before_trust_ends_and_work_resumes_when_it_returns() {
    repeat("Redis hung or unreachable, PostgreSQL", async |dice, figures| {
        for in_flight in IN_FLIGHT {
            let redis = Redis::start().await;
            let proxy = Proxy::to(redis.port());
            let setup = on_postgres(proxy.before(&redis.url()), in_flight).await;
            let mut run = Run::begin(setup, |settings| settings).await;
            let ways = [Silence::Hung, Silence::Unreachable, Silence::Refused, Silence::Late, Silence::Vanished];
            for nth in 0..MEASURED {
                let poller = run.poller_at_work().await;
                let struck = run.strikes(&poller);
                let connections = proxy.connections();
                let way = ways.get(nth).copied().unwrap_or_else(|| dice.one_of(&ways));
                silence(way, &redis, &proxy);
                let reason = run.term_ended(&poller).await;
                assert_eq!(reason, "renewal_failed");
                // Enough to send for whoever would send.
                run.stage.application.insert(4 * run.in_flight(), "/hook").await;
                let ttl = run.fleet.settings().ttl;
                tokio::time::sleep(dice.up_to(2 * ttl)).await;
                let trusted = struck + ttl + figures.allowed(run.lateness());
                let sent = run.stage.receiver.requests().iter().filter(|request| request.arrived > trusted).count();
                assert_eq!(sent, 0, "{way:?}: sent without trust");
                let (away, dialled) = (struck.elapsed(), proxy.connections() - connections);
                figures.count("connections dialled by 3 replicas while Redis was away", dialled);
                // A campaign and a subscription each, once a second at most, and what was open before.
                let patient = 3 * (6 + 3 * usize::try_from(away.as_secs()).unwrap());
                assert!(dialled <= patient, "{way:?}: {dialled} connections dialled in {away:?}");

                let back = Instant::now();
                end_silence(way, &redis, &proxy);
                let next = async || {
                    let requests = run.stage.receiver.requests();
                    requests.into_iter().find(|request| request.arrived > back)
                };
                let resumed = eventually("deliveries go on", PATIENCE, next).await.arrived - back;
                let what = format!("from the return of Redis to the next delivery (bound {RESUMED:?})");
                figures.bounded(&what, resumed, RESUMED, run.lateness());
            }
            let messages = run.stage.application.committed.len();
            run.end(figures).await.assert_all_delivered(messages);
        }
    })
    .await;
}

fn silence(way: Silence, redis: &Redis, proxy: &Proxy) {
    match way {
        Silence::Hung => redis.freeze(),
        Silence::Unreachable => proxy.set(Passage::Hole),
        Silence::Refused => {
            proxy.set(Passage::Refuse);
            proxy.cut();
        }
        // Later than any call waits for.
        Silence::Late => proxy.set(Passage::Late(Duration::from_millis(800))),
        Silence::Vanished => proxy.vanish(),
    }
}

fn end_silence(way: Silence, redis: &Redis, proxy: &Proxy) {
    match way {
        Silence::Hung => redis.thaw(),
        Silence::Unreachable | Silence::Refused | Silence::Late => proxy.set(Passage::Open),
        Silence::Vanished => proxy.come_back(),
    }
}

#[tokio::test]
async fn a_replica_that_never_saw_the_lease_takes_the_place_of_its_primary() {
    repeat("a replica promoted that never saw the lease, PostgreSQL", async |_, figures| {
        for in_flight in IN_FLIGHT {
            let servers = [Redis::start().await, Redis::start().await];
            let proxy = Proxy::to(servers[0].port());
            let setup = on_postgres(proxy.before(&servers[0].url()), in_flight).await;
            let mut run = Run::begin(setup, |settings| settings).await;
            for nth in 0..CHANGES {
                let (primary, replica) = (&servers[nth % 2], &servers[(nth + 1) % 2]);
                // Replication is asynchronous, and here it is so slow that nothing arrives.
                let link = Proxy::to(primary.port());
                link.set(Passage::Hole);
                replica.command(&["FLUSHALL"]).await;
                replica.command(&["REPLICAOF", "127.0.0.1", &link.port().to_string()]).await;
                let poller = run.poller_at_work().await;
                run.strikes(&poller);
                replica.command(&["REPLICAOF", "NO", "ONE"]).await;
                proxy.lead_to(replica.port());
                proxy.cut();
                note_believers(&run, &poller, figures).await;
            }
            let messages = run.stage.application.committed.len();
            let report = run.end(figures).await;
            report.assert_all_delivered(messages);
            figures.assert_no_duplicates(&report);
        }
    })
    .await;
}

#[tokio::test]
async fn sentinels_promote_a_replica_that_never_saw_the_lease() {
    repeat("Sentinel promotes a replica that never saw the lease, PostgreSQL", async |_, figures| {
        let redis = Sentinels::start().await;
        let setup = on_postgres(redis.url(), 16).await;
        let mut run = Run::begin(setup, |settings| Settings { term: Duration::from_secs(2), ..settings }).await;
        let poller = run.poller_at_work().await;
        let struck = run.strikes(&poller);
        // As if it had been too slow to hear of the lease.
        redis.replica.command(&["CONFIG", "SET", "replica-read-only", "no"]).await;
        redis.replica.command(&["FLUSHALL"]).await;
        redis.primary.kill().await;
        run.successor(&poller).await;
        figures.time("from the death of the primary to the next term, sentinels agreeing after 1 s", struck.elapsed());
        run.enough_hand_overs().await;
        let messages = run.stage.application.committed.len();
        let report = run.end(figures).await;
        report.assert_all_delivered(messages);
        figures.assert_no_duplicates(&report);
    })
    .await;
}

/// From the death of a node to the election of its replica: the timeout, and what the replica and the others take to agree
/// (<https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/#replica-election-and-promotion>).
async fn elected(cluster: &Cluster, dead: usize, key: &str) {
    let asked = (dead + 1) % cluster.nodes.len();
    let elected = async || cluster.owner(asked, key).await.filter(|owner| *owner != dead).map(drop);
    eventually("the cluster elects another node", PATIENCE, elected).await;
}

/// The key of the lease, which names the outbox.
async fn key_of_the_lease(cluster: &Cluster) -> String {
    let key = async || cluster.keys("outbox:*:lease:0").await.pop();
    eventually("a replica holds the lease", PATIENCE, key).await
}

#[tokio::test]
async fn a_cluster_elects_another_node_for_the_lease() {
    repeat("the node of the lease killed, Redis Cluster, PostgreSQL", async |_, figures| {
        let cluster = Cluster::start().await;
        let mut run = begin_with_short_terms(&cluster).await;
        let key = key_of_the_lease(&cluster).await;
        let owner = cluster.owner(0, &key).await.expect("each slot has a node");
        let poller = run.poller_at_work().await;
        let struck = run.strikes(&poller);
        cluster.nodes[owner].kill().await;
        elected(&cluster, owner, &key).await;
        figures.time("from the death of the node to the election", struck.elapsed());
        let since = Instant::now();
        run.stage.application.insert(4 * run.in_flight(), "/hook").await;
        let next = async || run.stage.receiver.requests().into_iter().find(|request| request.arrived > since);
        let resumed = eventually("deliveries go on", PATIENCE, next).await.arrived - since;
        let what = format!("from the election to the next delivery (bound {RESUMED:?})");
        figures.bounded(&what, resumed, RESUMED, run.lateness());
        run.enough_hand_overs().await;
        let messages = run.stage.application.committed.len();
        let report = run.end(figures).await;
        report.assert_all_delivered(messages);
        figures.assert_no_duplicates(&report);
    })
    .await;
}

#[tokio::test]
async fn the_slot_of_the_lease_moves_to_a_node_that_was_added() {
    repeat("the slot of the lease moved to a new node, Redis Cluster, PostgreSQL", async |_, figures| {
        let mut cluster = Cluster::start().await;
        let mut run = begin_with_short_terms(&cluster).await;
        let key = key_of_the_lease(&cluster).await;
        let new = cluster.add_node().await;
        let poller = run.poller_at_work().await;
        run.strikes(&poller);
        cluster.move_slot(&key, new).await;
        run.enough_hand_overs().await;
        let lost = |line: &serde_json::Value| line["reason"] == "lost" || line["reason"] == "renewal_failed";
        let ended: Vec<_> = (0..3).flat_map(|place| run.fleet.lines(place, "term.ended")).collect();
        let lost = ended.iter().filter(|line| lost(line)).count();
        figures.count("terms lost since the slot moved", lost);
        assert!(lost <= 1, "{ended:?}");
        let messages = run.stage.application.committed.len();
        let report = run.end(figures).await;
        report.assert_all_delivered(messages);
        figures.assert_no_duplicates(&report);
    })
    .await;
}

async fn begin_with_short_terms(cluster: &Cluster) -> Run {
    let setup = on_postgres(cluster.url(), 16).await;
    Run::begin(setup, |settings| Settings { term: Duration::from_secs(2), ..settings }).await
}
