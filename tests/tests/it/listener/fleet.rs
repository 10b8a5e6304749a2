//! A fleet ends with the test process that started it.

use std::process::Stdio;
use std::time::Duration;

use outbox_tests::eventually;
use outbox_tests::fleet::{Fleet, PATIENCE};
use outbox_tests::servers;
use outbox_tests::stage::Stage;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Command;

/// Set for the process that the next test kills.
const HOLD: &str = "OUTBOX_TEST_HOLD_FLEET";

#[tokio::test]
async fn a_fleet_ends_with_a_killed_test_process() {
    if std::env::var_os(HOLD).is_some() {
        let stage = Stage::set(servers::sqlite(), Duration::ZERO).await;
        let fleet = Fleet::start(&stage.settings(None), 1);
        let poller = fleet.poller(&stage.tables).await;
        eprintln!("\nheld {}", fleet.pid(poller.place).as_raw_nonzero());
        std::future::pending::<()>().await;
    }
    let mut tests = Command::new(std::env::current_exe().unwrap());
    tests.args(["--exact", "listener::fleet::a_fleet_ends_with_a_killed_test_process", "--nocapture"]).env(HOLD, "1");
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
