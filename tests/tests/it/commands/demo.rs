//! `outbox demo`, as a newcomer runs it.

use std::process::{Output, Stdio};
use std::time::Duration;

use outbox_tests::{eventually, outbox_binary};
use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};

/// Far more than it takes: the machine may be busy with other tests.
const PATIENCE: Duration = Duration::from_mins(2);

fn demo(arguments: &[&str]) -> Command {
    let mut command = Command::new(outbox_binary());
    command.arg("demo").args(arguments).stdin(Stdio::null()).kill_on_drop(true);
    command
}

fn start(arguments: &[&str]) -> (Child, Lines<BufReader<ChildStdout>>) {
    let mut child = demo(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    (child, lines)
}

/// The first line that holds `text`.
async fn line_with(text: &str, lines: &mut Lines<BufReader<ChildStdout>>) -> String {
    let found = tokio::time::timeout(PATIENCE, async {
        while let Some(line) = lines.next_line().await.unwrap() {
            if line.contains(text) {
                return line;
            }
        }
        panic!("it ended without saying {text:?}")
    });
    found.await.unwrap()
}

fn signal(child: &Child, signal: Signal) {
    kill_process(Pid::from_raw(child.id().unwrap().cast_signed()).unwrap(), signal).unwrap();
}

/// Whether a process runs. One that has ended may still be in the table until somebody asks how.
fn runs(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, state)| !state.starts_with('Z'))
}

/// The number in the line of the table that begins with `what`.
fn number(said: &str, what: &str) -> usize {
    let line = said.lines().find_map(|line| line.strip_prefix(what)).unwrap_or_else(|| panic!("no {what} in {said}"));
    line.split_whitespace().next().unwrap().parse().unwrap()
}

#[tokio::test]
async fn the_demo_loses_nothing_and_explains_what_was_sent_twice() {
    let home = tempfile::tempdir().unwrap();
    let directory = home.path().join("kept here");
    let running = demo(&["--keep-dir", directory.to_str().unwrap()]).current_dir(home.path()).output();
    let Output { status, stdout, stderr } = tokio::time::timeout(PATIENCE, running).await.unwrap().unwrap();
    let said = String::from_utf8(stdout).unwrap();
    assert!(status.success(), "{said}\n{}", String::from_utf8_lossy(&stderr));

    assert!(said.contains("kill -9 of the poller"), "{said}");
    assert!(said.contains("None lost. None of the rolled back was sent."), "{said}");
    assert!(said.contains("lost: kill -9"), "{said}");
    assert!(number(&said, "rolled back") > 0, "{said}");
    let committed = number(&said, "committed");
    assert_eq!(committed, number(&said, "delivered") + number(&said, "dead letters"), "{said}");
    // Every dead letter, and every push.
    assert!(number(&said, "outcomes told") > number(&said, "dead letters"), "{said}");
    let twice = said.lines().find(|line| line.starts_with("sent twice")).unwrap();
    assert!((1..=32).contains(&number(&said, "sent twice")) && twice.contains("in doubt: epoch "), "{said}");
    for cause in ["exhausted   webhook  500", "permanent   webhook  410", "permanent   push     404"] {
        let cause: Vec<_> = cause.split_whitespace().collect();
        assert!(
            said.lines().any(|line| line.split_whitespace().take(3).eq(cause.iter().copied())),
            "{cause:?} in {said}"
        );
    }

    let commands: Vec<_> =
        said.lines().skip_while(|line| *line != "Look further:").filter(|line| line.starts_with("  ")).collect();
    assert_eq!(commands.len(), 3, "{said}");
    for command in commands {
        let shown = Command::new("sh").args(["-c", command]).current_dir(home.path()).output().await.unwrap();
        assert!(shown.status.success(), "{command}: {}", String::from_utf8_lossy(&shown.stderr));
        assert!(!shown.stdout.is_empty(), "{command}");
    }
}

#[tokio::test]
async fn a_demo_that_stays_shows_its_page_until_it_is_interrupted() {
    let home = tempfile::tempdir().unwrap();
    let (mut child, mut lines) = start(&["--stay", "--keep-dir", home.path().to_str().unwrap()]);
    let page = line_with("Their page: ", &mut lines).await.split_once("page: ").unwrap().1.to_owned();
    outbox_adapters::ensure_crypto_provider();
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let shown = client.get(&page).send().await.unwrap().text().await.unwrap();
    assert!(shown.contains("Overview"), "{shown}");
    signal(&child, Signal::INT);
    assert_eq!(child.wait().await.unwrap().code(), Some(0));
}

#[tokio::test]
async fn an_interrupted_demo_leaves_no_process_behind() {
    let home = tempfile::tempdir().unwrap();
    let (mut child, mut lines) = start(&["--keep-dir", home.path().to_str().unwrap()]);
    let roll = line_with("three replicas started", &mut lines).await;
    let pids: Vec<_> = roll.split("(pid ").skip(1).map(|rest| rest.split(')').next().unwrap()).collect();
    assert_eq!(pids.len(), 3, "{roll}");
    signal(&child, Signal::INT);
    assert_eq!(child.wait().await.unwrap().code(), Some(1));
    eventually("the replicas are gone", PATIENCE, async || pids.iter().all(|pid| !runs(pid)).then_some(())).await;
}

#[tokio::test]
async fn a_directory_that_holds_a_demo_is_left_alone() {
    let home = tempfile::tempdir().unwrap();
    let database = home.path().join("outbox.db");
    std::fs::write(&database, "mine").unwrap();
    let refused = demo(&["--keep-dir", home.path().to_str().unwrap()]).output().await.unwrap();
    let said = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(1));
    assert!(said.contains("outbox.db is there already: give --keep-dir another directory"), "{said}");
    assert_eq!(std::fs::read(&database).unwrap(), b"mine");
}

#[tokio::test]
async fn the_receiver_counts_by_idempotency_key() {
    let (mut child, mut lines) = start(&["receiver", "--listen", "127.0.0.1:0"]);
    let address = line_with("receiver on http://", &mut lines).await;
    let base = address.split_whitespace().nth(2).unwrap().trim_end_matches(':').to_owned();
    outbox_adapters::ensure_crypto_provider();
    let client = reqwest::Client::new();
    for (target, key, status) in [
        ("/hook", "\"one\"", 200),
        ("/hook", "\"one\"", 200),
        ("/busy", "two", 503),
        ("/busy", "two", 200),
        ("/gone/1", "three", 410),
    ] {
        let answer = client.post(format!("{base}{target}")).header("Idempotency-Key", key).send().await.unwrap();
        assert_eq!(answer.status(), status, "{target}");
    }
    assert!(client.get(format!("{base}/healthz")).send().await.unwrap().status().is_success());
    let counts = client.get(&base).send().await.unwrap().text().await.unwrap();
    for (what, times) in [("requests", 5), ("accepted ", 3), ("messages", 3), ("accepted twice", 1)] {
        assert_eq!(number(&counts, what), times, "{counts}");
    }
    signal(&child, Signal::TERM);
    assert!(child.wait().await.unwrap().success());
}

#[tokio::test]
async fn a_second_stand_in_for_fcm_is_told_what_the_first_has_and_runs_beside_it_elsewhere() {
    let home = tempfile::tempdir().unwrap();
    let path = |name: &str| home.path().join(name).to_str().unwrap().to_owned();
    let free = |directory: &str| {
        ["fcm", "--port", "0", "--control-port", "0", "--json", "--directory", directory].map(str::to_owned)
    };
    let started = async |arguments: &[String]| {
        let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
        let (child, mut lines) = start(&arguments);
        let places = line_with("base_url", &mut lines).await;
        (child, serde_json::from_str::<serde_json::Value>(&places).unwrap())
    };
    let (_first, places) = started(&free(&path("one"))).await;
    let key_file = std::fs::read(path("one/service-account.json")).unwrap();
    let port = places["base_url"].as_str().unwrap().rsplit(':').next().unwrap();

    for (arguments, told) in [
        (
            &["fcm", "--directory", &path("one"), "--port", "0", "--control-port", "0"] as &[&str],
            "give --directory another",
        ),
        (
            &["fcm", "--directory", &path("two"), "--port", port, "--control-port", "0"],
            "(--port 0 and --control-port 0 take",
        ),
    ] {
        let refused = demo(arguments).output().await.unwrap();
        let said = String::from_utf8(refused.stderr).unwrap();
        assert!(refused.status.code() == Some(1) && said.contains(told) && !said.contains("panicked"), "{said}");
    }
    assert_eq!(std::fs::read(path("one/service-account.json")).unwrap(), key_file);
    let (_beside, its) = started(&free(&path("two"))).await;
    assert_ne!(its["base_url"], places["base_url"]);
}

/// What cargo is about in the workspace's directory where nothing else is said: its packages, as `cargo metadata` has them.
async fn default_packages() -> Vec<serde_json::Value> {
    let metadata = ["metadata", "--no-deps", "--offline", "--format-version=1"];
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    let told = Command::new(env!("CARGO")).args(metadata).current_dir(root).output().await.unwrap();
    let told: serde_json::Value = serde_json::from_slice(&told.stdout).unwrap();
    let defaults = told["workspace_default_members"].as_array().unwrap();
    let packages = told["packages"].as_array().unwrap().iter();
    packages.filter(|package| defaults.contains(&package["id"])).cloned().collect()
}

#[tokio::test]
async fn the_readmes_command_runs_the_program() {
    let readme = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../README.md")).unwrap();
    assert!(readme.contains("\ncargo run -- demo "), "the README has another command for the demo");
    let packages = default_packages().await;
    let run: Vec<_> = packages.iter().filter_map(|package| package["default_run"].as_str()).collect();
    assert_eq!(run, ["outbox"]);
}

#[tokio::test]
async fn the_documented_benchmark_is_found() {
    let packages = default_packages().await;
    let targets = packages.iter().flat_map(|package| package["targets"].as_array().unwrap());
    let benches: Vec<_> = targets.filter(|target| target["kind"][0] == "bench").map(|target| &target["name"]).collect();
    for documented in ["dead_letters", "ordering", "retention"] {
        assert!(benches.contains(&&serde_json::Value::from(documented)), "{documented} is not among {benches:?}");
    }
}
