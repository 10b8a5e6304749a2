//! A message each second, whatever becomes of the replicas, of the lease store and of the database.

use std::time::{Duration, Instant};

use outbox_tests::eventually;
use outbox_tests::faults::{Dice, repeat};
use outbox_tests::fleet::{Fleet, PATIENCE, Settings};
use outbox_tests::servers::{self, Postgres, Redis, TestDatabase};
use outbox_tests::stage::Stage;

use crate::faults::libfaketime;

/// One message each second, and none is left out.
const EACH_SECOND: &str = "recurring.tick.cron = \"* * * * * *\"\nrecurring.tick.channel = \"http\"\n\
                           recurring.tick.target = \"/tick\"\nrecurring.tick.missed = \"all\"";

/// How long a run lasts; in a soak, two minutes.
fn lasting() -> Duration {
    Duration::from_secs(if std::env::var_os("OUTBOX_TEST_SOAK").is_some() { 120 } else { 20 })
}

async fn begin(database: TestDatabase, redis: Option<String>) -> (Stage, Fleet) {
    let stage = Stage::set(database, Duration::ZERO).await;
    let settings = Settings { more: EACH_SECOND.to_owned(), term: Duration::from_hours(1), ..stage.settings(redis) };
    let fleet = Fleet::start(&settings, 3);
    written(&stage, 1).await;
    (stage, fleet)
}

/// The times of which there are messages, in seconds since 1970.
async fn times(stage: &Stage) -> Vec<i64> {
    let seconds = |key: &str| key.strip_prefix("recurring:tick:").and_then(|time| time.parse::<jiff::Timestamp>().ok());
    let messages = stage.tables.messages().await;
    messages.iter().map(|message| seconds(&message.idempotency_key).unwrap().as_second()).collect()
}

/// Waits until there are so many more messages.
async fn written(stage: &Stage, more: usize) {
    let before = stage.tables.messages().await.len();
    let grown = async || (stage.tables.messages().await.len() >= before + more).then_some(());
    eventually("recurring messages are written", PATIENCE, grown).await;
}

/// Each second from the first to the last has one message, and the receiver got each.
async fn assert_each_second(stage: &Stage, fleet: &mut Fleet) {
    stage.settled().await;
    fleet.stop_all().await;
    stage.settled().await;
    let mut times = times(stage).await;
    times.sort_unstable();
    let all: Vec<i64> = (times[0]..=times[times.len() - 1]).collect();
    assert_eq!(times, all, "each second once");
    let mut received: Vec<String> = stage.receiver.requests().into_iter().map(|request| request.key).collect();
    received.sort_unstable();
    received.dedup();
    assert_eq!(received.len(), times.len(), "each was sent");
    eprintln!("{} seconds", times.len());
}

/// Kills the poller again and again.
async fn kill_pollers(stage: &Stage, fleet: &mut Fleet, dice: &mut Dice, lasting: Duration) {
    let began = Instant::now();
    while began.elapsed() < lasting {
        written(stage, 1 + dice.below(3)).await;
        let poller = fleet.poller(&stage.tables).await;
        fleet.kill(poller.place).await;
        fleet.add(&[]);
    }
    written(stage, 1).await;
}

async fn killed_pollers(what: &str, setup: impl AsyncFn() -> (TestDatabase, Option<String>)) {
    repeat(what, async |dice, _| {
        let (database, redis) = setup().await;
        let (stage, mut fleet) = begin(database, redis).await;
        kill_pollers(&stage, &mut fleet, dice, lasting()).await;
        assert_each_second(&stage, &mut fleet).await;
    })
    .await;
}

#[tokio::test]
async fn each_second_has_one_message_while_pollers_are_killed_and_redis_and_the_database_restart() {
    repeat("recurring messages, PostgreSQL and Redis, all restarted", async |dice, _| {
        let (server, redis) = (Postgres::start().await, Redis::start().await);
        let (stage, mut fleet) = begin(server.database().await, Some(redis.url())).await;
        kill_pollers(&stage, &mut fleet, dice, lasting() / 3).await;
        redis.kill().await;
        redis.restart().await;
        kill_pollers(&stage, &mut fleet, dice, lasting() / 3).await;
        server.kill().await;
        server.restart().await;
        kill_pollers(&stage, &mut fleet, dice, lasting() / 3).await;
        assert_each_second(&stage, &mut fleet).await;
    })
    .await;
}

#[tokio::test]
async fn each_second_has_one_message_while_pollers_are_killed_on_mariadb() {
    killed_pollers("recurring messages, MariaDB and Redis", async || {
        (servers::mariadb().await.database().await, Some(servers::redis().await.url()))
    })
    .await;
}

#[tokio::test]
async fn each_second_has_one_message_while_pollers_are_killed_on_sqlite() {
    killed_pollers("recurring messages, SQLite", async || (servers::sqlite(), None)).await;
}

#[tokio::test]
async fn the_clock_of_a_replica_decides_nothing() {
    let stage = Stage::set(servers::postgres().await.database().await, Duration::ZERO).await;
    let settings = Settings { more: EACH_SECOND.to_owned(), ..stage.settings(None) };
    let mut fleet = Fleet::start(&settings, 0);
    let began = jiff::Timestamp::now().as_second();
    for ahead in ["+3600s", "-3600s"] {
        let place = fleet.add(&[
            ("LD_PRELOAD", libfaketime().to_str().unwrap()),
            ("FAKETIME", ahead),
            ("FAKETIME_DONT_FAKE_MONOTONIC", "1"),
        ]);
        written(&stage, 3).await;
        let logged = fleet.led_by(place)[0].began.elapsed().unwrap_or_else(|ahead| ahead.duration());
        assert!(logged > Duration::from_mins(50), "the replica lives an hour away: {logged:?}");
        fleet.stop(place).await;
    }
    let (times, now) = (times(&stage).await, jiff::Timestamp::now().as_second());
    assert!(times.iter().all(|time| (began..=now).contains(time)), "{began} {times:?} {now}");
}
