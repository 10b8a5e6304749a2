//! What the lease in Redis does beyond the common suite: wake-ups, hints, few commands, and surviving its server.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use outbox_adapters::{Hints, Lease, REDIS_RIGHTS, RedisHints, RedisLease};
use outbox_store::{Epoch, Lineages};
use outbox_tests::conformance::lease::{LONG, SEAT, holder};
use outbox_tests::eventually;
use outbox_tests::proxy::Proxy;
use outbox_tests::servers::{self, Redis};
use tokio::time::timeout;
use uuid::Uuid;

/// The script by which the witness hears of what a replica saw.
const SEEN: &str = concat!(
    include_str!("../../../../adapters/src/lease/redis/witness.lua"),
    include_str!("../../../../adapters/src/lease/redis/seen.lua")
);

/// Long enough for a busy machine; what is awaited takes milliseconds.
const SOON: Duration = Duration::from_secs(10);

/// Two replicas of one outbox.
fn replicas(server: &Redis) -> (RedisLease, RedisLease) {
    let outbox = Uuid::new_v4().to_string();
    let replica = || RedisLease::new(&server.url(), "", &outbox, Duration::from_secs(10)).unwrap();
    (replica(), replica())
}

/// A replica of `outbox`, and what it knows of the database.
fn witness(server: &Redis, outbox: &str, seen: &str) -> (RedisLease, Arc<Lineages>) {
    let lineages = Arc::<Lineages>::default();
    lineages.told(seen.parse().unwrap());
    let lease = RedisLease::new(&server.url(), "", outbox, Duration::from_secs(10)).unwrap();
    (lease.for_all(lineages.clone()), lineages)
}

#[tokio::test]
async fn a_renewal_brings_what_any_replica_saw_of_the_database() {
    let (server, outbox) = (servers::redis().await, Uuid::new_v4().to_string());
    let (lease, lineages) = witness(server, &outbox, "3 0 ");
    let leader = holder();
    assert!(lease.acquire(&SEAT, &leader, LONG).await.unwrap());
    assert!(lease.renew(&SEAT, &leader, LONG).await.unwrap());
    let (other, others) = witness(server, &outbox, "1 0 ");
    other.witness(&SEAT).await.unwrap();
    assert_eq!(others.highest_epoch(), Epoch(3), "the other replica heard of the term");
    others.told("7 0 ".parse().unwrap());
    other.witness(&SEAT).await.unwrap();
    assert!(lease.renew(&SEAT, &leader, LONG).await.unwrap());
    assert_eq!(lineages.highest_epoch(), Epoch(7), "the poller heard of a later term");
}

/// Each call brings one answer: what all calls before saw.
#[tokio::test]
async fn the_witness_keeps_the_newest_lineage_and_of_strangers_that_of_the_higher_epoch() {
    let (server, key) = (Redis::start().await, "outbox:{id}:seen:0");
    let seen = |seen: &'static str| {
        let server = &server;
        async move {
            server.command(&["EVAL", SEEN, "1", key, seen]).await;
            server.get(key).await
        }
    };
    for (seen_by_one, kept) in [
        ("1 0 ", "1 0 "),
        ("0 1 system 7", "1 1 system 7"),
        ("2 3 system 7", "2 3 system 7"),
        ("5 2 system 7", "5 3 system 7"),
        ("5 9 system 8", "5 3 system 7"),
        ("6 1 system 8", "6 1 system 8"),
        ("4 0 ", "6 1 system 8"),
        ("9007199254740991 1 system 8", "9007199254740991 1 system 8"),
    ] {
        assert_eq!(seen(seen_by_one).await, kept, "after {seen_by_one}");
    }
}

#[tokio::test]
async fn a_witness_that_is_something_else_stops_nobody_and_is_left_as_it_is() {
    let (server, outbox) = (servers::redis().await, Uuid::new_v4().to_string());
    let key = format!("outbox:{{{outbox}}}:seen:0");
    for make in [&["SADD", &key, "1 2 3"][..], &["SET", &key, "mine"]] {
        server.command(&["DEL", &key]).await;
        server.command(make).await;
        let (lease, lineages) = witness(server, &outbox, "3 0 ");
        let leader = holder();
        assert!(lease.acquire(&SEAT, &leader, LONG).await.unwrap());
        assert!(lease.renew(&SEAT, &leader, LONG).await.unwrap());
        lease.witness(&SEAT).await.unwrap();
        assert_eq!(lineages.highest_epoch(), Epoch(3));
        assert!(lease.release(&SEAT, &leader).await.unwrap());
    }
    assert_eq!(server.get(&key).await, "mine");
}

/// Waits until `candidate` hears of releases: its subscription wakes it once.
async fn subscribed(candidate: &RedisLease) {
    timeout(SOON, candidate.released(&SEAT)).await.expect("a subscription is made");
}

#[tokio::test]
async fn a_release_wakes_the_candidates() {
    let (lease, candidate) = replicas(servers::redis().await);
    let leader = holder();
    assert!(lease.acquire(&SEAT, &leader, LONG).await.unwrap());
    subscribed(&candidate).await;
    let (woken, released) = tokio::join!(timeout(SOON, candidate.released(&SEAT)), lease.release(&SEAT, &leader));
    assert!(released.unwrap());
    woken.expect("the release wakes the candidate");
}

#[tokio::test]
async fn a_release_between_two_waits_is_not_missed() {
    let (lease, candidate) = replicas(servers::redis().await);
    let leader = holder();
    assert!(lease.acquire(&SEAT, &leader, LONG).await.unwrap());
    subscribed(&candidate).await;
    let given_up = timeout(Duration::from_millis(1), candidate.released(&SEAT)).await;
    assert!(given_up.is_err(), "woken for nothing");
    assert!(lease.release(&SEAT, &leader).await.unwrap());
    timeout(SOON, candidate.released(&SEAT)).await.expect("the release is remembered");
}

#[tokio::test]
async fn a_refused_release_wakes_nobody() {
    let (lease, candidate) = replicas(servers::redis().await);
    let leader = holder();
    assert!(lease.acquire(&SEAT, &leader, LONG).await.unwrap());
    subscribed(&candidate).await;
    assert!(!candidate.release(&SEAT, &holder()).await.unwrap());
    assert!(lease.release(&SEAT, &leader).await.unwrap());
    timeout(SOON, candidate.released(&SEAT)).await.expect("the real release wakes");
    let woken_again = timeout(Duration::from_millis(1), candidate.released(&SEAT)).await;
    assert!(woken_again.is_err(), "the refused release woke the candidate too");
}

/// A lease as a user of a Redis of its own with these rights, and the server.
async fn as_user(rights: &str) -> (RedisLease, Redis) {
    let server = Redis::start().await;
    let words: Vec<&str> = ["ACL", "SETUSER", "lease", "on", ">secret"].into_iter().chain(rights.split(' ')).collect();
    server.command(&words).await;
    let url = server.url().replace("redis://", "redis://lease:secret@");
    (RedisLease::new(&url, "", &Uuid::new_v4().to_string(), Duration::from_secs(10)).unwrap(), server)
}

#[tokio::test]
async fn each_rule_that_a_user_lacks_is_named_by_the_command_that_gives_it() {
    let (lease, _server) = as_user(REDIS_RIGHTS).await;
    assert_eq!(lease.missing_rights().await.unwrap(), None);
    for (rights, lacks) in [
        (
            "~outbox:* &outbox:* +get +multi +exec +pttl",
            &["+set", "+pexpire", "+script|load", "+evalsha", "+publish", "+del"][..],
        ),
        ("~other:* &outbox:* +@all", &["~outbox:*"]),
        ("~outbox:* resetchannels +@all", &["&outbox:*"]),
        ("~outbox:* &outbox:* +@all -subscribe", &["+subscribe"]),
    ] {
        let (lease, server) = as_user(rights).await;
        let command = lease.missing_rights().await.unwrap().expect(rights);
        let words: Vec<_> = command.split(' ').collect();
        assert_eq!(words[..3], ["ACL", "SETUSER", "lease"], "{command}");
        assert!(lacks.iter().all(|rule| words.contains(rule)), "{rights}: {command}");
        server.command(&words).await;
        assert_eq!(lease.missing_rights().await.unwrap(), None, "{rights}, then {command}");
    }
}

#[tokio::test]
async fn a_refusal_is_no_silence_and_is_told_once_in_the_words_of_redis() {
    let (lease, server) = as_user("~outbox:* &outbox:* +set +multi +exec +pttl").await;
    let refused = lease.current(&SEAT).await.unwrap_err().to_string();
    assert!(refused.contains("answered with an error") && refused.contains("NOPERM"), "{refused}");
    assert!(!refused.contains("Index") && refused.matches("NOPERM").count() <= 2, "{refused}");
    server.command(&["ACL", "SETUSER", "lease", "resetpass", ">other"]).await;
    // The connection was given up with the refusal.
    let refused = lease.current(&SEAT).await.unwrap_err().to_string();
    assert!(refused.contains("answered with an error") && refused.contains("password is wrong"), "{refused}");
}

#[tokio::test]
async fn a_user_that_a_restart_forgot_is_told_of_as_gone() {
    let (lease, server) = as_user(REDIS_RIGHTS).await;
    lease.current(&SEAT).await.unwrap();
    server.restart().await;
    let told = async || {
        let refused = lease.current(&SEAT).await.unwrap_err().to_string();
        refused
            .contains("the user is gone: a restart of Redis forgets a user that stands neither in redis.conf")
            .then_some(())
    };
    eventually("the refusal says that the user is gone", SOON, told).await;
}

#[tokio::test]
async fn the_user_of_the_deploy_page_has_all_rights_and_is_there_after_a_restart() {
    let page = include_str!("../../../../docs/deploy.md");
    let line = page.lines().find(|line| line.starts_with("user outbox ")).unwrap().replace('…', "secret");
    let server = Redis::start_with(&line).await;
    let url = server.url().replace("redis://", "redis://outbox:secret@");
    let lease = RedisLease::new(&url, "", &Uuid::new_v4().to_string(), Duration::from_secs(10)).unwrap();
    assert_eq!(lease.missing_rights().await.unwrap(), None);
    server.restart().await;
    let rights = async || lease.missing_rights().await.ok();
    assert_eq!(eventually("Redis is back", SOON, rights).await, None);
}

#[tokio::test]
async fn two_outboxes_on_one_redis_leave_each_other_alone() {
    let server = servers::redis().await;
    let ((one, _), (other, _)) = (replicas(server), replicas(server));
    let (of_one, of_other) = (holder(), holder());
    assert!(one.acquire(&SEAT, &of_one, LONG).await.unwrap());
    assert!(other.acquire(&SEAT, &of_other, LONG).await.unwrap());
    subscribed(&other).await;
    assert!(one.release(&SEAT, &of_one).await.unwrap());
    assert_eq!(other.current(&SEAT).await.unwrap().unwrap().holder, of_other.as_str());
    // Its own release wakes it, and it alone: the one before would have been heard by then.
    assert!(other.release(&SEAT, &of_other).await.unwrap());
    timeout(SOON, other.released(&SEAT)).await.expect("its own release wakes it");
    let woken_again = timeout(Duration::from_millis(1), other.released(&SEAT)).await;
    assert!(woken_again.is_err(), "the release of another outbox woke it");
}

#[tokio::test]
async fn an_idle_candidate_sends_one_command_per_campaign_and_a_renewal_counts_four() {
    let server = Redis::start().await;
    let (lease, candidate) = replicas(&server);
    let leader = holder();
    assert!(lease.acquire(&SEAT, &leader, LONG).await.unwrap());
    // Loads the script.
    assert!(lease.renew(&SEAT, &leader, LONG).await.unwrap());

    let waiting = holder();
    let counts = commands_during(&server, async {
        for _ in 0..5 {
            assert!(!candidate.acquire(&SEAT, &waiting, LONG).await.unwrap());
        }
    });
    assert_eq!(counts.await, BTreeMap::from([("set".to_owned(), 5)]));

    let counts = commands_during(&server, async { assert!(lease.renew(&SEAT, &leader, LONG).await.unwrap()) });
    // The lease, and what all replicas saw of the database.
    let expected = [("evalsha", 1), ("get", 2), ("pexpire", 1)].map(|(command, times)| (command.to_owned(), times));
    assert_eq!(counts.await, BTreeMap::from(expected));
}

#[tokio::test]
async fn a_frozen_redis_fails_each_call_in_time_and_the_first_call_after_it_works() {
    let server = Redis::start().await;
    let (lease, candidate) = replicas(&server);
    let leader = holder();
    assert!(lease.acquire(&SEAT, &leader, LONG).await.unwrap());
    assert!(lease.renew(&SEAT, &leader, LONG).await.unwrap());
    let connections_before = connections(&server).await;

    server.freeze();
    for _ in 0..3 {
        let began = Instant::now();
        let error = lease.renew(&SEAT, &leader, LONG).await.unwrap_err();
        assert!(began.elapsed() < Duration::from_secs(3), "took {:?}", began.elapsed());
        assert_eq!(error.at, format!("127.0.0.1:{}", server.port()));
        // A caller with less patience.
        let abandoned = timeout(Duration::from_millis(50), candidate.acquire(&SEAT, &holder(), LONG)).await;
        assert!(abandoned.is_err(), "a frozen server answered {abandoned:?}");
    }
    server.thaw();

    assert!(lease.renew(&SEAT, &leader, LONG).await.unwrap());
    assert!(!candidate.acquire(&SEAT, &holder(), LONG).await.unwrap());
    let dialled = connections(&server).await - connections_before;
    assert!(dialled <= 9, "8 calls and this question dialled {dialled} times");
}

#[tokio::test]
async fn a_redis_restarted_empty_is_led_and_listened_to_again() {
    let server = Redis::start().await;
    let (lease, candidate) = replicas(&server);
    let leader = holder();
    assert!(lease.acquire(&SEAT, &leader, LONG).await.unwrap());
    assert!(lease.renew(&SEAT, &leader, LONG).await.unwrap());
    subscribed(&candidate).await;

    server.kill().await;
    lease.renew(&SEAT, &leader, LONG).await.expect_err("a server that is down answers nothing");
    server.restart().await;

    assert!(!lease.renew(&SEAT, &leader, LONG).await.unwrap(), "a forgotten lease was renewed");
    // An idle connection that was lost costs one call.
    let acquired = async || lease.acquire(&SEAT, &leader, LONG).await.ok();
    assert!(eventually("the empty server is campaigned at", SOON, acquired).await);
    subscribed(&candidate).await;
    assert!(lease.release(&SEAT, &leader).await.unwrap());
    timeout(SOON, candidate.released(&SEAT)).await.expect("a release is heard on the new server");
}

#[tokio::test]
async fn a_redis_that_vanishes_without_a_word_is_listened_to_again() {
    let server = servers::redis().await;
    let proxy = Proxy::to(server.port());
    let outbox = Uuid::new_v4().to_string();
    let replica = |url: &str| RedisLease::new(url, "", &outbox, Duration::from_secs(10)).unwrap();
    let (lease, candidate) = (replica(&server.url()), replica(&proxy.before(&server.url())));
    let leader = holder();
    assert!(lease.acquire(&SEAT, &leader, LONG).await.unwrap());
    subscribed(&candidate).await;
    assert!(!candidate.acquire(&SEAT, &holder(), LONG).await.unwrap());

    proxy.vanish();
    let unheard = timeout(Duration::from_millis(100), candidate.acquire(&SEAT, &holder(), LONG)).await;
    assert!(unheard.is_err(), "it answered: {unheard:?}");
    proxy.come_back();

    subscribed(&candidate).await;
    assert!(!candidate.acquire(&SEAT, &holder(), LONG).await.unwrap());
    assert!(lease.release(&SEAT, &leader).await.unwrap());
    timeout(SOON, candidate.released(&SEAT)).await.expect("a release is heard on a new connection");
}

#[tokio::test]
async fn a_hint_reaches_the_listeners_of_its_outbox_alone_until_their_server_is_gone() {
    let server = Redis::start().await;
    let of = |outbox: &str| RedisHints::new(&server.url(), "", outbox, Duration::from_secs(10)).unwrap();
    let (shop, other) = (of("shop"), of("other"));
    assert_eq!(shop.give().await.unwrap(), 0, "nobody listens");
    let mut listener = shop.listen().await.unwrap();
    assert_eq!((other.give().await.unwrap(), shop.give().await.unwrap()), (0, 1));
    timeout(SOON, listener.wait()).await.expect("a hint is heard").unwrap();

    server.kill().await;
    timeout(SOON, listener.wait()).await.expect("the loss is noticed").unwrap_err();
    let error = shop.give().await.unwrap_err().to_string();
    assert!(error.contains("waking the poller"), "{error}");
    server.restart().await;
    let _listener = shop.listen().await.unwrap();
    assert_eq!(shop.give().await.unwrap(), 1, "the idle connection that was lost costs no hint");
}

/// As it turns away clients from elsewhere while it has no password.
#[tokio::test]
async fn who_asks_for_the_holder_hears_why_the_server_turned_them_away() {
    let server = Redis::start().await;
    let lease = RedisLease::new(&server.url(), "", &Uuid::new_v4().to_string(), Duration::from_secs(10)).unwrap();
    // This one takes the only place.
    let client = redis::Client::open(server.url()).unwrap();
    let mut connection = client.get_multiplexed_async_connection().await.unwrap();
    let () = redis::cmd("CONFIG").arg(&["SET", "maxclients", "1"]).query_async(&mut connection).await.unwrap();
    let error = lease.current(&SEAT).await.unwrap_err();
    assert!(format!("{error:?}").contains("max number of clients reached"), "{error:?}");
}

/// How often Redis executed each command during `work`, inside scripts too.
async fn commands_during(server: &Redis, work: impl Future<Output = ()>) -> BTreeMap<String, u64> {
    let client = redis::Client::open(server.url()).unwrap();
    let mut connection = client.get_multiplexed_async_connection().await.unwrap();
    let () = redis::cmd("CONFIG").arg("RESETSTAT").query_async(&mut connection).await.unwrap();
    work.await;
    let info: String = redis::cmd("INFO").arg("commandstats").query_async(&mut connection).await.unwrap();
    let counts = info.lines().filter_map(|line| {
        let (command, figures) = line.strip_prefix("cmdstat_")?.split_once(":calls=")?;
        let (calls, _) = figures.split_once(',')?;
        Some((command.to_owned(), calls.parse().unwrap()))
    });
    counts.filter(|(command, _)| !command.starts_with("config")).collect()
}

async fn connections(server: &Redis) -> u64 {
    let client = redis::Client::open(server.url()).unwrap();
    let mut connection = client.get_multiplexed_async_connection().await.unwrap();
    let info: String = redis::cmd("INFO").arg("stats").query_async(&mut connection).await.unwrap();
    let total = info.lines().find_map(|line| line.strip_prefix("total_connections_received:"));
    total.unwrap().trim().parse().unwrap()
}
