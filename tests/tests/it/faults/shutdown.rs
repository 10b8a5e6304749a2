//! Changes of poller in good order: at the end of each interval, at SIGTERM, in a rolling restart.

use std::time::{Duration, Instant};

use outbox_tests::eventually;
use outbox_tests::faults::{CHANGES, Figures, Run, Setup, repeat};
use outbox_tests::fleet::{PATIENCE, Settings};
use outbox_tests::invariants::{hand_overs_under_load, pollers};
use outbox_tests::receiver::{Manner, Request};
use outbox_tests::tables::TermRow;

use super::{IN_FLIGHT, mariadb_and_redis, postgres_and_redis, sqlite_and_table};

/// What a hand-over may cost those who wait for nothing slow.
const GAP: Duration = Duration::from_millis(200);

/// A send that outlasts several hand-overs.
const SLOW: Duration = Duration::from_secs(5);

/// Messages that wait at any time.
const BACKLOG: usize = 1_500;

/// Messages of one transaction of the application, which pauses between them. On SQLite nobody else writes meanwhile, and whoever
/// waits for long looks less and less often whether they may: a hand-over would be charged with that.
const AT_ONCE: usize = 100;

/// Three replicas elect a poller every two seconds, as long as it takes.
async fn hand_over_under_load(what: &str, setup: impl AsyncFn(u32) -> Setup) {
    repeat(what, async |_, figures| {
        let mut run = Run::begin(setup(32).await, |settings| Settings {
            term: Duration::from_secs(2),
            timeout: Duration::from_secs(15),
            ..settings
        })
        .await;
        run.stage.receiver.set_latency(Duration::from_millis(20));
        run.stage.receiver.behave("/slow", Manner::Slow(SLOW));
        // The load goes on until there were enough changes of poller, one of them beside a slow send, however fast the machine and
        // lucky one replica.
        while !is_enough(&run.stage.tables.terms().await) || gaps_beside_slow_sends(&run).is_empty() {
            if run.stage.receiver.count() + BACKLOG > run.stage.application.committed.len() {
                run.stage.application.insert(1, "/slow").await;
                for _ in 0..BACKLOG / AT_ONCE {
                    run.stage.application.insert(AT_ONCE, "/hook").await;
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        let messages = run.stage.application.committed.len();
        let gaps = gaps_beside_slow_sends(&run);
        assert_cheap(&run, "from a poller's last send to the next's first", &gaps, figures);
        let report = run.end(figures).await;
        report.assert_all_delivered(messages);
        figures.assert_nothing_in_doubt(&report);
    })
    .await;
}

fn is_enough(terms: &[TermRow]) -> bool {
    hand_overs_under_load(terms) >= CHANGES && pollers(terms) >= 2
}

/// From the last send of each poller to the first of the next, as long as there was work.
fn gaps_beside_slow_sends(run: &Run) -> Vec<Duration> {
    let requests = run.stage.receiver.requests();
    let hook: Vec<&Request> = requests.iter().filter(|request| request.path == "/hook").collect();
    let slow: Vec<&Request> = requests.iter().filter(|request| request.path == "/slow").collect();
    let changes = hook.windows(2).filter(|pair| pair[0].replica != pair[1].replica);
    let beside_slow_sends = changes.filter(|pair| slow.iter().any(|slow| slow.was_open_at(pair[1].arrived)));
    beside_slow_sends.map(|pair| pair[1].arrived - pair[0].arrived).collect()
}

fn assert_cheap(run: &Run, what: &str, gaps: &[Duration], figures: &mut Figures) {
    let (what, lateness) = (format!("{what} (bound {GAP:?})"), run.lateness());
    for gap in gaps {
        if run.fleet.settings().database.starts_with("postgres") {
            figures.bounded(&what, *gap, GAP, lateness);
        } else {
            // Elsewhere the steps take longer, so that five of them on a busy machine say too little.
            figures.within(&what, *gap, GAP, lateness);
        }
    }
}

#[tokio::test]
async fn hand_overs_under_load_lose_and_repeat_nothing() {
    hand_over_under_load("hand-overs at each interval, PostgreSQL and Redis", postgres_and_redis).await;
}

#[tokio::test]
async fn hand_overs_under_load_lose_and_repeat_nothing_on_mariadb() {
    hand_over_under_load("hand-overs at each interval, MariaDB and Redis", mariadb_and_redis).await;
}

#[tokio::test]
async fn hand_overs_under_load_lose_and_repeat_nothing_on_sqlite() {
    hand_over_under_load("hand-overs at each interval, SQLite and the table lease", sqlite_and_table).await;
}

/// Stops each poller under load while one of its sends is slow, and starts another replica in its place.
async fn rolling_restart(figures: &mut Figures, setup: Setup) {
    let mut run = Run::begin(setup, |settings| Settings { timeout: Duration::from_secs(15), ..settings }).await;
    run.stage.receiver.behave("/slow", Manner::Slow(Duration::from_secs(2)));
    let mut gaps = Vec::new();
    for _ in 0..CHANGES {
        let slow = run.stage.receiver.count_at("/slow");
        run.stage.application.insert(1, "/slow").await;
        let poller = run.poller_at_work().await;
        let sent = async || (run.stage.receiver.count_at("/slow") > slow).then_some(());
        eventually("a slow send is in flight", PATIENCE, sent).await;
        // More than can be sent until the pause is over: in each slot 20 a second, and that for two.
        while run.waiting() < 40 * run.in_flight() {
            run.stage.application.insert(60 * run.in_flight(), "/hook").await;
        }
        let struck = run.strikes(&poller);
        let status = run.fleet.stop(poller.place).await;
        assert!(status.success(), "replica {} ended with {status}", poller.place);
        run.fleet.add(&[]);
        gaps.push(longest_pause(&run, struck).await);
    }
    assert_cheap(&run, "without a send around a SIGTERM, one send being slow", &gaps, figures);
    let messages = run.stage.application.committed.len();
    let report = run.end(figures).await;
    report.assert_all_delivered(messages);
    figures.assert_nothing_in_doubt(&report);
}

/// The longest time in which nothing arrived, from shortly before a moment to the first request a second after it. There
/// must be enough to send for so long.
async fn longest_pause(run: &Run, from: Instant) -> Duration {
    let until = from + Duration::from_secs(1);
    let after = async || run.stage.receiver.requests().into_iter().find(|request| request.arrived >= until);
    let last = eventually("sends go on", PATIENCE, after).await.arrived;
    let requests = run.stage.receiver.requests();
    let around = requests.iter().map(|request| request.arrived).filter(|arrived| *arrived + GAP > from);
    let around: Vec<_> = around.take_while(|arrived| *arrived <= last).collect();
    around.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or_default()
}

#[tokio::test]
async fn a_rolling_restart_loses_and_repeats_nothing() {
    repeat("a rolling restart, PostgreSQL and Redis", async |_, figures| {
        for in_flight in IN_FLIGHT {
            rolling_restart(figures, postgres_and_redis(in_flight).await).await;
        }
    })
    .await;
}

#[tokio::test]
async fn a_rolling_restart_loses_and_repeats_nothing_on_mariadb() {
    repeat("a rolling restart, MariaDB and Redis", async |_, figures| {
        rolling_restart(figures, mariadb_and_redis(16).await).await;
    })
    .await;
}

#[tokio::test]
async fn a_rolling_restart_loses_and_repeats_nothing_on_sqlite() {
    repeat("a rolling restart, SQLite and the table lease", async |_, figures| {
        rolling_restart(figures, sqlite_and_table(16).await).await;
    })
    .await;
}

#[tokio::test]
async fn what_outlasts_the_drain_is_in_doubt_and_counted() {
    let mut run = Run::begin(postgres_and_redis(16).await, |settings| Settings {
        more: "dispatch.drain_timeout = \"1s\"".to_owned(),
        timeout: Duration::from_secs(3),
        ..settings
    })
    .await;
    run.stage.receiver.behave("/slow", Manner::Slow(Duration::from_millis(2500)));
    run.stage.application.insert(3, "/slow").await;
    let open = async || (run.stage.receiver.count_at("/slow") == 3).then_some(());
    eventually("the slow sends are in flight", PATIENCE, open).await;
    let poller = run.fleet.poller(&run.stage.tables).await;
    let status = run.fleet.stop(poller.place).await;
    assert!(status.success(), "it ended with {status}");
    let said = run.fleet.lines(poller.place, "run.stopped_with_messages_on_the_wire");
    assert_eq!(said.len(), 1, "{said:?}");
    assert_eq!(said[0]["messages"], 3);
    run.stage.settled().await;
    run.fleet.stop_all().await;
    let report = run.stage.check(&run.fleet).await;
    report.assert_all_delivered(3);
    assert_eq!(report.left_in_doubt_by(poller.epoch), 3);
}
