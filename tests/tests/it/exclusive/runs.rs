//! Runs of a job, and how they end, on each database.

use std::time::{Duration, Instant, SystemTime};

use outbox_tests::eventually;
use rustix::process::{Pid, Signal, kill_process};
use sqlx::{Connection as _, PgConnection};
use tokio::process::Child;

use super::faults::keeper_of;
use crate::faults::libfaketime;
use crate::outboxes::{self, Outbox};
use crate::program::{PATIENCE, Program, Ran};

fn program(outbox: &Outbox) -> Program {
    Program::new(&outbox.test.url, "[lease]\nprovider = \"table\"\n")
}

/// The same as [`Program::run`], with the options of `exclusive`, and a script of the shell.
async fn runs(program: &Program, options: &[&str], job: &str, script: &str) -> Ran {
    program.run(&[&["exclusive"], options, &[job, "--", "/bin/sh", "-c", script]].concat()).await
}

/// Why each run of a job ended, the first first.
async fn ends(outbox: &Outbox, job: &str) -> Vec<String> {
    let count = outbox.number(&format!("SELECT count(*) FROM outbox_job_run WHERE name = '{job}'")).await;
    let mut ends = Vec::new();
    for token in 1..=count {
        let one =
            format!("SELECT coalesce(ended_because, '-') FROM outbox_job_run WHERE name = '{job}' AND token = {token}");
        ends.push(outbox.text(&one).await);
    }
    ends
}

/// Starts a job that writes a line once it runs, and waits for that line.
async fn started(program: &Program, options: &[&str], job: &str, script: &str) -> Child {
    let said = program.path("said");
    let _ = std::fs::remove_file(&said);
    let script = format!("echo on > said; {script}");
    let arguments = [&["exclusive"], options, &[job, "--", "/bin/sh", "-c", &script]].concat();
    let child = program.command(&arguments).spawn().unwrap();
    eventually("the job runs", PATIENCE, async || said.exists().then_some(())).await;
    child
}

fn send(child: &Child, signal: Signal) {
    kill_process(Pid::from_raw(child.id().unwrap().cast_signed()).unwrap(), signal).unwrap();
}

#[tokio::test]
async fn a_command_ends_as_it_would_by_itself_and_its_history_says_why() {
    for outbox in outboxes::each().await {
        let program = program(&outbox);
        let table: [(&[&str], &str, i32, &str); 6] = [
            (&[], "exit 0", 0, "finished"),
            (&[], "exit 7", 7, "failed"),
            (&[], "kill -USR1 $$", 128 + 10, "failed"),
            (&["--timeout", "100ms"], "sleep 60", 124, "timed_out"),
            (&["--timeout", "100ms", "--kill-after", "100ms"], "trap '' TERM; while :; do :; done", 124, "timed_out"),
            (&["--timeout", "100ms"], "trap 'exit 0' TERM; while :; do sleep 0.01; done", 124, "timed_out"),
        ];
        for (options, script, code, _) in table {
            let ran = runs(&program, options, "table", script).await;
            assert_eq!(ran.code, Some(code), "{options:?} {script}: {ran:?}");
        }
        assert_eq!(ends(&outbox, "table").await, table.map(|(_, _, _, end)| end));
        for (command, code) in [("/no/such/program", 127), ("/", 126)] {
            assert_eq!(program.run(&["exclusive", "absent", "--", command]).await.code, Some(code));
        }
        assert_eq!(ends(&outbox, "absent").await, ["failed", "failed"]);
    }
}

#[tokio::test]
async fn a_command_knows_its_run_and_has_what_it_was_given() {
    for outbox in outboxes::each().await {
        let program = program(&outbox);
        let script =
            "read line; echo \"$OUTBOX_JOB $OUTBOX_JOB_TOKEN [$OUTBOX_JOB_LAST_SUCCESS] $line\"; echo oops >&2";
        let command = ["exclusive", "--tail", "12", "knows", "--", "/bin/sh", "-c", script];
        let first = program.feed(&command, "hello\n").await;
        assert_eq!((first.stdout.as_str(), first.stderr.as_str()), ("knows 1 [] hello\n", "oops\n"));
        let second = program.feed(&command[..], "again\n").await.done();
        assert!(second.starts_with("knows 2 [20") && second.ends_with("Z] again\n"), "{second}");
        let tail = outbox.text("SELECT tail FROM outbox_job_run WHERE token = 1").await;
        // The two pipes are read beside each other.
        assert!(tail.len() == 12 && (tail.ends_with("hello\n") || tail.ends_with("oops\n")), "{tail:?}");
        assert_eq!(outbox.text("SELECT command FROM outbox_job_run WHERE token = 1").await, "sh");
    }
}

#[tokio::test]
async fn while_a_command_runs_others_skip_it_or_wait_for_it() {
    for outbox in outboxes::each().await {
        let program = program(&outbox);
        let mut first = started(&program, &[], "busy", "sleep 1").await;
        let skipped = runs(&program, &["--skip-status", "9"], "busy", "echo twice").await;
        assert_eq!((skipped.code, skipped.stdout.as_str()), (Some(9), ""), "{skipped:?}");
        let other = runs(&program, &[], "another", "echo beside").await;
        assert_eq!(other.done(), "beside\n", "another job waits for nobody");
        assert_eq!(runs(&program, &["--wait", "2m"], "busy", "echo next").await.done(), "next\n");
        assert!(first.try_wait().unwrap().is_some_and(|status| status.success()), "both ran at once");
        assert_eq!(outbox.number("SELECT skips FROM outbox_job WHERE name = 'busy'").await, 1);
    }
}

#[tokio::test]
async fn a_period_has_one_start_and_what_holds_the_next_away_does() {
    for outbox in outboxes::each().await {
        let program = program(&outbox);
        let mut ran = 0;
        for _ in 0..3 {
            ran += i32::from(!runs(&program, &["--per", "1day"], "daily", "echo it").await.done().is_empty());
            assert_eq!(runs(&program, &[], "daily", "echo by hand").await.done(), "by hand\n");
        }
        // A day may have passed between two of them.
        assert!((1..=2).contains(&ran), "{ran} starts");
        assert_eq!(runs(&program, &["--at-least", "1h"], "held", "echo it").await.done(), "it\n");
        assert_eq!(runs(&program, &[], "held", "echo it").await.done(), "");
        outbox.sql("UPDATE outbox_job SET paused_at = created_at WHERE name = 'daily'").await;
        assert_eq!(runs(&program, &["--skip-status", "5"], "daily", "echo it").await.code, Some(5));
    }
}

/// As cron does: starts it at the beginning of each period, by a clock that is so many seconds ahead.
async fn cron(program: &Program, ahead: i32, period: Duration, until: SystemTime) {
    let (clock, library) = (format!("{ahead:+}s"), libfaketime());
    let ahead = i128::from(ahead) * 1_000_000_000;
    let environment =
        [("LD_PRELOAD", library.to_str().unwrap()), ("FAKETIME", &clock), ("FAKETIME_DONT_FAKE_MONOTONIC", "1")];
    let mut jobs = Vec::new();
    while SystemTime::now() < until {
        let shown = i128::try_from(SystemTime::UNIX_EPOCH.elapsed().unwrap().as_nanos()).unwrap() + ahead;
        let period = i128::try_from(period.as_nanos()).unwrap();
        tokio::time::sleep(Duration::from_nanos((period - shown % period).try_into().unwrap())).await;
        let job = ["exclusive", "--per", "4s", "--wait", "1s", "cron", "--", "/bin/true"];
        jobs.push(program.command(&job).envs(environment).spawn().unwrap());
    }
    for mut job in jobs {
        assert!(job.wait().await.unwrap().success());
    }
}

#[tokio::test]
async fn a_line_in_three_crontabs_runs_once_a_period_whatever_their_clocks_say() {
    let outbox = Outbox::open(outbox_tests::servers::postgres().await.database().await).await;
    outbox.database.migrate("default").await.unwrap();
    let program = program(&outbox);
    let (period, soak) = (Duration::from_secs(4), std::env::var_os("OUTBOX_TEST_SOAK").is_some());
    let until = SystemTime::now() + period * if soak { 200 } else { 5 };
    let [behind, right, ahead] = [-3, 0, 3].map(|ahead| cron(&program, ahead, period, until));
    tokio::join!(behind, right, ahead);
    let of_runs = "FROM outbox_job_run WHERE ended_because = 'finished'";
    let runs = outbox.number(&format!("SELECT count(*) {of_runs}")).await;
    let period = "floor(extract(epoch FROM started_at) / 4)";
    let periods = outbox.number(&format!("SELECT count(DISTINCT {period}) {of_runs}")).await;
    let between = outbox.number(&format!("SELECT (max({period}) - min({period}))::bigint {of_runs}")).await;
    assert_eq!((runs, runs), (periods, between + 1), "a period has two runs, or none");
    assert!(runs >= if soak { 195 } else { 4 }, "{runs}");
}

#[tokio::test]
async fn a_job_without_a_cron_is_run_again_a_while_after_its_end_by_one_of_those_that_would() {
    let outbox = Outbox::open(outbox_tests::servers::sqlite()).await;
    outbox.database.migrate("default").await.unwrap();
    let program = program(&outbox);
    let arguments =
        ["exclusive", "--every", "1s", "again", "--", "/bin/sh", "-c", "echo $OUTBOX_JOB_TOKEN >> ran; sleep 0.3"];
    let both: Vec<Child> = (0..2).map(|_| program.command(&arguments).spawn().unwrap()).collect();
    let began = Instant::now();
    let four = async || {
        let ran = std::fs::read_to_string(program.path("ran")).unwrap_or_default();
        (ran.lines().count() >= 4).then_some(ran)
    };
    let ran = eventually("it has run four times", PATIENCE, four).await;
    assert!(ran.starts_with("1\n2\n3\n4\n"), "{ran}");
    assert!(began.elapsed() > 3 * Duration::from_millis(1_300), "a run began too early: {:?}", began.elapsed());
    for mut child in both {
        send(&child, Signal::TERM);
        assert!(child.wait().await.is_ok());
    }
}

#[tokio::test]
async fn signals_reach_the_command_and_a_stop_is_one() {
    for outbox in outboxes::each().await {
        let program = program(&outbox);
        let script =
            "trap 'echo usr1 >> said' USR1; trap 'echo term >> said; exit 3' TERM; while :; do sleep 0.01; done";
        let mut child = started(&program, &[], "asked", script).await;
        let says = |word: &'static str| {
            let said = program.path("said");
            eventually("the command has heard it", PATIENCE, move || {
                let heard = std::fs::read_to_string(&said).unwrap().contains(word);
                async move { heard.then_some(()) }
            })
        };
        send(&child, Signal::USR1);
        says("usr1").await;
        send(&child, Signal::TERM);
        says("term").await;
        assert_eq!(child.wait().await.unwrap().code(), Some(3));
        assert_eq!(ends(&outbox, "asked").await, ["stopped"]);
        // One that waits has nothing to pass it on to.
        let mut first = started(&program, &[], "asked", "sleep 60").await;
        let mut waits =
            program.command(&["exclusive", "--wait", "forever", "asked", "--", "/bin/true"]).spawn().unwrap();
        tokio::time::sleep(Duration::from_millis(200)).await;
        // Not INT: whoever is started in the background by a shell ignores it.
        send(&waits, Signal::TERM);
        assert_eq!(waits.wait().await.unwrap().code(), Some(128 + 15));
        send(&first, Signal::TERM);
        assert_eq!(first.wait().await.unwrap().code(), Some(128 + 15));
    }
}

#[tokio::test]
async fn a_run_that_goes_on_without_its_seat_says_so_again_and_again() {
    let outbox = Outbox::open(outbox_tests::servers::postgres().await.database().await).await;
    outbox.database.migrate("default").await.unwrap();
    let program = program(&outbox);
    let mut child =
        started(&program, &["--on-loss", "go-on", "--ttl", "1s", "--kill-after", "200ms"], "goes", "sleep 60").await;
    program.run(&["jobs", "release", "goes"]).await.done();
    // By then its keeper has heard that the seat is lost.
    tokio::time::sleep(Duration::from_secs(2)).await;
    let seen = async || outbox.text("SELECT seen_at::text FROM outbox_job_run WHERE ended_because IS NULL").await;
    let before = seen().await;
    eventually("it says that it goes on", PATIENCE, async || (seen().await != before).then_some(())).await;
    send(&child, Signal::TERM);
    assert!(child.wait().await.is_ok());
}

#[tokio::test]
async fn a_stop_that_comes_while_a_run_is_begun_starts_nothing() {
    let outbox = Outbox::open(outbox_tests::servers::postgres().await.database().await).await;
    outbox.database.migrate("default").await.unwrap();
    let program = program(&outbox);
    assert_eq!(runs(&program, &[], "begun", "exit 0").await.code, Some(0));
    // A transaction of that run keeps the next one from beginning.
    let mut own = PgConnection::connect(&outbox.test.url).await.unwrap();
    sqlx::raw_sql("BEGIN; SELECT outbox_job_fence('begun', 1)").execute(&mut own).await.unwrap();
    let mut child = program.command(&["exclusive", "begun", "--", "/bin/sh", "-c", "echo on > said"]).spawn().unwrap();
    let waits = "SELECT count(*) FROM pg_locks WHERE NOT granted AND pid IN
                 (SELECT pid FROM pg_stat_activity WHERE datname = current_database())";
    eventually("the run waits", PATIENCE, async || (outbox.number(waits).await > 0).then_some(())).await;
    send(&child, Signal::TERM);
    tokio::time::sleep(Duration::from_millis(100)).await;
    sqlx::raw_sql("COMMIT").execute(&mut own).await.unwrap();
    assert_eq!(child.wait().await.unwrap().code(), Some(128 + 15));
    assert!(!program.path("said").exists(), "it ran");
}

/// As systemd does.
#[tokio::test]
async fn a_stop_of_all_processes_at_once_lets_the_command_end_itself() {
    for outbox in outboxes::each().await {
        let program = program(&outbox);
        let script = "trap 'sleep 0.2; exit 3' TERM; while :; do sleep 0.01; done";
        let mut child = started(&program, &[], "all", script).await;
        let guard = Pid::from_raw(child.id().unwrap().cast_signed()).unwrap();
        kill_process(keeper_of(guard), Signal::TERM).unwrap();
        kill_process(guard, Signal::TERM).unwrap();
        assert_eq!(child.wait().await.unwrap().code(), Some(3));
        assert_eq!(ends(&outbox, "all").await, ["stopped"]);
    }
}

#[tokio::test]
async fn whatever_a_command_writes_its_end_is_kept() {
    for outbox in outboxes::each().await {
        let program = program(&outbox);
        let script = "head -c 70000 /dev/zero | tr '\\0' '\\377'; head -c 10000 /dev/zero";
        let options = ["exclusive", "--tail", "65535", "odd", "--", "/bin/sh", "-c", script];
        let written = program.command(&options).output().await.unwrap();
        assert_eq!((written.status.code(), written.stdout.len()), (Some(0), 80_000));
        assert_eq!(ends(&outbox, "odd").await, ["finished"]);
        let kept = "SELECT count(*) FROM outbox_job_run WHERE name = 'odd' AND tail IS NOT NULL";
        assert_eq!(outbox.number(kept).await, 1);
    }
}

/// Whether a process whose number was written there lives.
fn lives(program: &Program, file: &str) -> bool {
    let id = std::fs::read_to_string(program.path(file)).unwrap();
    let state = std::fs::read_to_string(format!("/proc/{}/stat", id.trim())).unwrap_or_default();
    state.split(')').next_back().is_some_and(|rest| !rest.is_empty() && !rest.trim_start().starts_with('Z'))
}

#[tokio::test]
async fn what_a_command_leaves_running_is_killed_before_the_next_may_begin() {
    let outbox = Outbox::open(outbox_tests::servers::sqlite()).await;
    outbox.database.migrate("default").await.unwrap();
    let program = program(&outbox);
    let script = "sleep 600 & echo $! > child; setsid sh -c 'echo $$ > escaped; sleep 600 & wait' & \
                  while [ ! -s escaped ]; do sleep 0.01; done";
    assert_eq!(runs(&program, &[], "forks", script).await.code, Some(0));
    assert!(!lives(&program, "child") && !lives(&program, "escaped"));
}

#[tokio::test]
async fn bad_options_and_an_outbox_that_is_away_are_named() {
    let program = Program::new("sqlite:///nowhere/at/all.db", "");
    for (options, words) in [
        (&["--ttl", "100ms", "a"][..], "--ttl is too short"),
        (&["--kill-after", "6s", "a"], "more than half of --ttl"),
        (&["--per", "1ms", "a"], "--per and --every are too short"),
        (&["--wait", "soon", "a"], "forever"),
        (&["a b"], "letters, digits"),
    ] {
        let said = program.run(&[&["exclusive"], options, &["--", "/bin/true"]].concat()).await.misused();
        assert!(said.contains(words), "{said}");
    }
    let away = program.run(&["exclusive", "a", "--", "/bin/true"]).await;
    assert_eq!(away.code, Some(125), "{away:?}");
    assert!(away.stderr.contains("/nowhere/at/all.db"), "{away:?}");
}
