//! The poller killed with -9 under load, again and again.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use outbox_dispatcher::leadership::campaign_interval;
use outbox_tests::eventually;
use outbox_tests::fleet::{Fleet, PATIENCE, Settings};
use outbox_tests::invariants::Report;
use outbox_tests::receiver::Request;
use outbox_tests::servers::{self, TestDatabase};
use outbox_tests::stage::Stage;

const LATENCY: Duration = Duration::from_millis(50);

/// A poller that was killed.
#[derive(Debug)]
struct Crash {
    /// Of its term.
    epoch: i64,
    /// When the signal was sent. It is dead at once; only who waits for its end may be told late.
    at: Instant,
}

/// Kills so many pollers while requests of theirs are open, starting a new replica after each.
async fn kill_pollers(what: &str, database: TestDatabase, redis: Option<String>, max_in_flight: u32, kills: usize) {
    let in_flight = usize::try_from(max_in_flight).unwrap();
    let mut stage = Stage::set(database, LATENCY).await;
    let settings = Settings {
        max_in_flight,
        // Every change of poller is a crash, and its messages are in doubt for 5 s only.
        term: Duration::from_hours(1),
        timeout: Duration::from_secs(2),
        ..stage.settings(redis)
    };
    let mut fleet = Fleet::start(&settings, 3);
    let mut crashes = Vec::new();
    for _ in 0..kills {
        stage.application.insert(16 * in_flight, "/hook").await;
        crashes.push(kill_poller(&mut fleet, &stage, in_flight).await);
        fleet.add(&[]);
    }
    stage.settled().await;
    fleet.stop_all().await;

    let report = stage.check().await;
    report.assert_all_delivered(stage.application.committed.len());
    let in_doubt = in_doubt_by_crash(&report, &crashes);
    // At least one: what was on the wire when the poller died was never marked.
    assert!(in_doubt.iter().all(|rows| (1..=in_flight).contains(rows)), "in doubt by crash: {in_doubt:?}");
    assert!(in_doubt.iter().sum::<usize>() >= report.twice.len());
    let gaps = gaps(&stage.receiver.requests(), &crashes, settings.ttl);
    print_figures(what, &settings, &report, &in_doubt, &gaps);
}

/// Kills the poller as soon as it is at work.
async fn kill_poller(fleet: &mut Fleet, stage: &Stage, in_flight: usize) -> Crash {
    let poller = fleet.poller(&stage.tables).await;
    let enough = stage.receiver.count() + 2 * in_flight;
    let at_work = async || {
        let receiver = &stage.receiver;
        (receiver.count() >= enough && receiver.open() >= in_flight / 2).then_some(())
    };
    eventually("the poller has requests in flight", PATIENCE, at_work).await;
    let crash = Crash { epoch: poller.epoch, at: Instant::now() };
    fleet.kill(poller.place).await;
    let open = stage.receiver.requests().iter().filter(|request| request.was_open_at(crash.at)).count();
    assert!(open > 0, "the poller of epoch {} was killed with no request in flight", poller.epoch);
    crash
}

/// How many messages each crash left in doubt.
///
/// # Panics
/// Where a message was delivered twice for another reason, or was in doubt for another reason.
fn in_doubt_by_crash(report: &Report, crashes: &[Crash]) -> Vec<usize> {
    let mut by_epoch: HashMap<i64, usize> = crashes.iter().map(|crash| (crash.epoch, 0)).collect();
    for attempt in &report.in_doubt {
        assert_eq!(attempt.settled, 1, "{attempt:?} was not left by a crash");
        *by_epoch.get_mut(&attempt.epoch).unwrap_or_else(|| panic!("{attempt:?} names no killed poller")) += 1;
    }
    crashes.iter().map(|crash| by_epoch[&crash.epoch]).collect()
}

/// From each crash to the next delivery.
fn gaps(requests: &[Request], crashes: &[Crash], ttl: Duration) -> Vec<Duration> {
    let gap = |crash: &Crash| {
        // What the dead poller had written may still be read for a moment; its lease outlives it by more.
        let next = requests.iter().find(|request| request.arrived > crash.at + ttl / 4).expect("deliveries went on");
        next.arrived - crash.at
    };
    let mut gaps: Vec<_> = crashes.iter().map(gap).collect();
    gaps.sort();
    gaps
}

/// Shown by `--nocapture`.
fn print_figures(what: &str, settings: &Settings, report: &Report, in_doubt: &[usize], gaps: &[Duration]) {
    let bound = settings.ttl + campaign_interval(settings.ttl);
    let (shortest, median, longest) = (gaps[0], gaps[gaps.len() / 2], gaps[gaps.len() - 1]);
    let mut sent_twice: HashMap<i64, usize> = HashMap::new();
    for attempt in report.twice.values().flatten() {
        *sent_twice.entry(attempt.epoch).or_default() += 1;
    }
    let mut sent_twice: Vec<_> = sent_twice.into_iter().collect();
    sent_twice.sort_unstable();
    let sent_twice: Vec<_> = sent_twice.into_iter().map(|(_, messages)| messages).collect();
    eprintln!(
        "{what}, max_in_flight {}: {} pollers killed\n  \
         from the kill to the next delivery: {shortest:.1?} min, {median:.1?} median, {longest:.1?} max; \
         ttl + campaign interval (and its jitter): {bound:.1?}\n  \
         in doubt by kill: {in_doubt:?}\n  sent again by kill: {sent_twice:?}; messages sent more than once: {}",
        settings.max_in_flight,
        gaps.len(),
        report.twice.len(),
    );
}

#[tokio::test]
async fn ten_killed_pollers_lose_nothing_and_explain_each_repeat_with_16_in_flight() {
    let database = servers::postgres().await.database().await;
    kill_pollers("PostgreSQL and Redis", database, Some(servers::redis().await.url()), 16, 10).await;
}

#[tokio::test]
async fn ten_killed_pollers_lose_nothing_and_explain_each_repeat_with_64_in_flight() {
    let database = servers::postgres().await.database().await;
    kill_pollers("PostgreSQL and Redis", database, Some(servers::redis().await.url()), 64, 10).await;
}

#[tokio::test]
async fn killed_pollers_lose_nothing_and_explain_each_repeat_on_mariadb() {
    let database = servers::mariadb().await.database().await;
    kill_pollers("MariaDB and Redis", database, Some(servers::redis().await.url()), 16, 3).await;
}

#[tokio::test]
async fn killed_pollers_lose_nothing_and_explain_each_repeat_on_sqlite() {
    kill_pollers("SQLite and the table lease", servers::sqlite(), None, 16, 3).await;
}
