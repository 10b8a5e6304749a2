//! A fleet at work: hand-overs under load, and a rolling restart.

use std::process::Stdio;
use std::time::Duration;

use outbox_tests::eventually;
use outbox_tests::fleet::{Fleet, PATIENCE, Place, Settings};
use outbox_tests::invariants::{hand_overs_under_load, pollers};
use outbox_tests::servers::{self, TestDatabase};
use outbox_tests::stage::Stage;
use outbox_tests::tables::TermRow;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Command;

const LATENCY: Duration = Duration::from_millis(20);

/// Three replicas that elect a poller every two seconds deliver 20,000 messages.
async fn hand_over_under_load(what: &str, database: TestDatabase, redis: Option<String>) {
    let mut stage = Stage::set(database, LATENCY).await;
    stage.application.insert(20_000, "/hook").await;
    let mut fleet = Fleet::start(&stage.settings(redis), 3);
    // The load goes on until there were enough changes of poller, however fast the machine and lucky one replica.
    while !is_enough(&stage.tables.terms().await) {
        if stage.receiver.count() + 2_000 > stage.application.committed.len() {
            stage.application.insert(1_000, "/hook").await;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    stage.settled().await;
    fleet.stop_all().await;

    let report = stage.check(&fleet).await;
    report.assert_all_delivered(stage.application.committed.len());
    report.assert_nothing_in_doubt();
    assert!(is_enough(&report.terms), "{:?}", report.terms);
    print_pause(what, &stage);
}

fn is_enough(terms: &[TermRow]) -> bool {
    hand_overs_under_load(terms) >= 5 && pollers(terms) >= 2
}

#[tokio::test]
async fn hand_overs_under_load_lose_and_repeat_nothing_on_postgres_and_redis() {
    let database = servers::postgres().await.database().await;
    hand_over_under_load("hand-overs on PostgreSQL", database, Some(servers::redis().await.url())).await;
}

#[tokio::test]
async fn hand_overs_under_load_lose_and_repeat_nothing_on_mariadb_and_redis() {
    let database = servers::mariadb().await.database().await;
    hand_over_under_load("hand-overs on MariaDB", database, Some(servers::redis().await.url())).await;
}

#[tokio::test]
async fn hand_overs_under_load_lose_and_repeat_nothing_on_sqlite_and_the_table_lease() {
    hand_over_under_load("hand-overs on SQLite", servers::sqlite(), None).await;
}

#[tokio::test]
async fn a_rolling_restart_loses_and_repeats_nothing() {
    let mut stage = Stage::set(servers::postgres().await.database().await, LATENCY).await;
    stage.application.insert(2_000, "/hook").await;
    // Nobody hands over but who is told to stop.
    let settings = Settings { term: Duration::from_hours(1), ..stage.settings(Some(servers::redis().await.url())) };
    let mut fleet = Fleet::start(&settings, 3);
    let originals = fleet.running();
    for _ in &originals {
        stage.application.insert(1_000, "/hook").await;
        let poller = fleet.poller(&stage.tables).await;
        let before = stage.receiver.count();
        let at_work = async || (stage.receiver.count() > before + 100).then_some(());
        eventually("the poller is at work", PATIENCE, at_work).await;
        restart(&mut fleet, poller.place).await;
    }
    for follower in fleet.running().into_iter().filter(|place| originals.contains(place)) {
        restart(&mut fleet, follower).await;
    }
    stage.settled().await;
    fleet.stop_all().await;

    let report = stage.check(&fleet).await;
    report.assert_all_delivered(stage.application.committed.len());
    report.assert_nothing_in_doubt();
    let stopped = report.terms.iter().filter(|term| term.ended_because.as_deref() == Some("shutdown"));
    assert!(stopped.filter(|term| term.in_flight_at_end() > 0).count() >= 3, "{:?}", report.terms);
    print_pause("a rolling restart", &stage);
}

async fn restart(fleet: &mut Fleet, place: Place) {
    let status = fleet.stop(place).await;
    assert!(status.success(), "replica {place} ended with {status}");
    fleet.add(&[]);
}

/// The longest time without a delivery: what a hand-over costs. Shown by `--nocapture`.
fn print_pause(what: &str, stage: &Stage) {
    let requests = stage.receiver.requests();
    let longest = requests.windows(2).map(|pair| pair[1].arrived - pair[0].arrived).max().unwrap_or_default();
    let (messages, seconds) =
        (requests.len(), (requests[requests.len() - 1].arrived - requests[0].arrived).as_secs_f64());
    eprintln!("{what}: {messages} messages in {seconds:.1} s, the longest pause {longest:.1?}");
}

/// Set for the process that the next test kills.
const HOLD: &str = "OUTBOX_TEST_HOLD_FLEET";

#[tokio::test]
async fn a_fleet_ends_with_a_killed_test_process() {
    if std::env::var_os(HOLD).is_some() {
        let stage = Stage::set(servers::sqlite(), LATENCY).await;
        let fleet = Fleet::start(&stage.settings(None), 1);
        let poller = fleet.poller(&stage.tables).await;
        eprintln!("\nheld {}", fleet.pid(poller.place).as_raw_nonzero());
        std::future::pending::<()>().await;
    }
    let mut tests = Command::new(std::env::current_exe().unwrap());
    tests.args(["--exact", "fleet::a_fleet_ends_with_a_killed_test_process", "--nocapture"]).env(HOLD, "1");
    let mut tests = tests.stdout(Stdio::null()).stderr(Stdio::piped()).kill_on_drop(true).spawn().unwrap();
    let mut lines = BufReader::new(tests.stderr.take().unwrap()).lines();
    let replica = loop {
        let line = lines.next_line().await.unwrap().expect("the replica's process id is said");
        if let Some(pid) = line.strip_prefix("held ") {
            break format!("/proc/{pid}/exe");
        }
    };
    assert!(std::fs::read_link(&replica).is_ok_and(|exe| exe.ends_with("outbox")));
    tests.kill().await.unwrap();
    // What is left of a process that nobody has asked for has no program.
    let gone = async || std::fs::read_link(&replica).is_err().then_some(());
    eventually("the replica is gone", PATIENCE, gone).await;
}
