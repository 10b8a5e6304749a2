//! A job whose processes are killed and stopped, and whose servers forget it or go away: its runs never overlap.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use outbox_tests::eventually;
use outbox_tests::servers::{self, Redis};
use rustix::process::{Pid, Signal, kill_process};
use tokio::process::Child;

use crate::outboxes::Outbox;
use crate::program::{PATIENCE, Program};

const STRIKES: usize = 12;
const TTL: Duration = Duration::from_secs(1);

/// It tells who runs it, and then that it does, for ever. Its child does too.
const JOB: &str = "trap '' TERM; echo \"$OUTBOX_JOB_TOKEN $PPID\" >> runs; \
                   while :; do echo $OUTBOX_JOB_TOKEN >> beats; sleep 0.01; done & \
                   while :; do echo $OUTBOX_JOB_TOKEN >> beats; sleep 0.01; done";

/// What is struck.
#[derive(Debug, Clone, Copy)]
enum Struck {
    Guard,
    Keeper,
}

/// A job that three processes want to run.
struct Stage {
    outbox: Outbox,
    program: Program,
    contenders: Vec<Child>,
    seen: HashSet<i32>,
}

/// A run: its token, and the process that guards it.
#[derive(Debug, Clone, Copy)]
struct Run {
    token: i64,
    guard: Pid,
}

impl Stage {
    async fn set(outbox: Outbox, settings: &str) -> Self {
        outbox.database.migrate("default").await.unwrap();
        let program = Program::new(&outbox.test.url, settings);
        let mut stage = Self { outbox, program, contenders: Vec::new(), seen: HashSet::new() };
        for _ in 0..3 {
            stage.join();
        }
        stage
    }

    /// One more wants to run it.
    fn join(&mut self) {
        let options = ["exclusive", "--wait", "forever", "--ttl", "1s", "--kill-after", "200ms"];
        let job = ["ward", "--", "/bin/sh", "-c", JOB];
        let mut command = self.program.command(&[&options[..], &job].concat());
        command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
        self.contenders.push(command.spawn().unwrap());
    }

    /// The next run that was not seen yet.
    async fn next(&mut self) -> Run {
        let runs = self.program.path("runs");
        let seen = &self.seen;
        let next = async || {
            let text = std::fs::read_to_string(&runs).unwrap_or_default();
            let last = text.lines().last()?.split_once(' ')?;
            let guard: i32 = last.1.parse().ok()?;
            (!seen.contains(&guard))
                .then(|| Run { token: last.0.parse().unwrap(), guard: Pid::from_raw(guard).unwrap() })
        };
        let run = eventually("the job runs again", PATIENCE, next).await;
        self.seen.insert(run.guard.as_raw_nonzero().get());
        run
    }

    /// How often a run said that it goes on after a later one had begun.
    fn overlaps(&self) -> usize {
        let text = std::fs::read_to_string(self.program.path("beats")).unwrap();
        let mut newest = 0;
        let is_late = |token: i64| {
            newest = newest.max(token);
            token < newest
        };
        text.lines().filter_map(|line| line.parse().ok()).map(is_late).filter(|late| *late).count()
    }

    /// Waits until the history says that this run lost its seat. The next run may have taken it for crashed before.
    async fn is_lost(&self, run: Run) {
        let lost =
            format!("SELECT count(*) FROM outbox_job_run WHERE token = {} AND ended_because = 'lost'", run.token);
        let is = async || (self.outbox.number(&lost).await == 1).then_some(());
        eventually("the run that lost its seat has ended", PATIENCE, is).await;
    }

    async fn end(self) {
        for child in &self.contenders {
            if let Some(id) = child.id() {
                let _ = kill_process(Pid::from_raw(id.cast_signed()).unwrap(), Signal::KILL);
            }
        }
        let runs = std::fs::read_to_string(self.program.path("runs")).unwrap().lines().count();
        // The last guard may have been killed before it told anybody of its command.
        let beats = async || {
            let size = || std::fs::metadata(self.program.path("beats")).unwrap().len();
            let before = size();
            tokio::time::sleep(Duration::from_millis(100)).await;
            (size() == before).then_some(())
        };
        eventually("nothing of the job is left", PATIENCE, beats).await;
        let known = "SELECT count(*) FROM outbox_job_run WHERE name = 'ward'";
        assert!(usize::try_from(self.outbox.number(known).await).unwrap() >= runs);
    }
}

/// The process that keeps the seat of a run which this one guards.
pub(super) fn keeper_of(guard: Pid) -> Pid {
    let guard = guard.as_raw_nonzero();
    let children = |task: &str| std::fs::read_to_string(format!("{task}/children")).unwrap_or_default();
    let tasks = std::fs::read_dir(format!("/proc/{guard}/task")).unwrap();
    let children: String = tasks.map(|task| children(task.unwrap().path().to_str().unwrap())).collect();
    let is_keeper = |id: &&str| {
        let command = std::fs::read_to_string(format!("/proc/{id}/cmdline")).unwrap_or_default();
        command.contains("exclusive")
    };
    let keeper = children.split_whitespace().find(is_keeper).expect("a guard has a keeper");
    Pid::from_raw(keeper.parse().unwrap()).unwrap()
}

async fn postgres() -> Outbox {
    Outbox::open(servers::postgres().await.database().await).await
}

async fn mariadb() -> Outbox {
    Outbox::open(servers::mariadb().await.database().await).await
}

/// Strikes the one that runs, again and again. Gives how long each time the job ran no more, of all strikes.
async fn strike(mut stage: Stage, struck: Struck, signal: Signal) -> Vec<Duration> {
    let mut gaps = Vec::new();
    for _ in 0..STRIKES {
        let run = stage.next().await;
        let process = match struck {
            Struck::Guard => run.guard,
            Struck::Keeper => keeper_of(run.guard),
        };
        // Its seat has been renewed once.
        tokio::time::sleep(TTL / 3).await;
        kill_process(process, signal).unwrap();
        let at = Instant::now();
        stage.join();
        let next = stage.next().await;
        gaps.push(at.elapsed());
        assert!(next.token > run.token);
        stage.seen.remove(&next.guard.as_raw_nonzero().get());
        if signal == Signal::STOP {
            let _ = kill_process(process, Signal::CONT);
        }
    }
    assert_eq!(stage.overlaps(), 0, "a run went on beside the next");
    stage.end().await;
    gaps.sort();
    eprintln!("{struck:?} {signal:?}: {:?} median, {:?} most", gaps[STRIKES / 2], gaps[STRIKES - 1]);
    gaps
}

#[tokio::test]
async fn a_guard_that_is_killed_takes_its_command_with_it_and_frees_the_seat() {
    let stage = Stage::set(postgres().await, "[lease]\nprovider = \"table\"\n").await;
    let gaps = strike(stage, Struck::Guard, Signal::KILL).await;
    // The keeper gives the seat back. Where it did not, the time to live would pass each time.
    assert!(gaps[STRIKES / 4] < TTL, "{gaps:?}");
}

#[tokio::test]
async fn a_keeper_that_is_killed_or_stands_still_has_its_command_ended_before_another_begins() {
    let stage = Stage::set(postgres().await, "[lease]\nprovider = \"table\"\n").await;
    strike(stage, Struck::Keeper, Signal::KILL).await;
    let stage = Stage::set(mariadb().await, "[lease]\nprovider = \"table\"\n").await;
    strike(stage, Struck::Keeper, Signal::STOP).await;
}

#[tokio::test]
async fn the_seat_of_a_session_is_free_as_soon_as_its_keeper_is_killed() {
    for outbox in [postgres().await, mariadb().await] {
        let stage = Stage::set(outbox, "[lease]\nprovider = \"session\"\n").await;
        let gaps = strike(stage, Struck::Keeper, Signal::KILL).await;
        assert!(gaps[STRIKES / 4] < TTL, "{gaps:?}");
    }
}

#[tokio::test]
async fn a_redis_that_falls_silent_or_forgets_ends_the_command_in_time() {
    let redis = Redis::start().await;
    let settings = format!("[lease]\nurl = \"{}\"\n", redis.url());
    let mut stage = Stage::set(postgres().await, &settings).await;
    let run = stage.next().await;
    tokio::time::sleep(TTL / 3).await;
    redis.freeze();
    let beats = async || {
        let before = std::fs::metadata(stage.program.path("beats")).unwrap().len();
        tokio::time::sleep(Duration::from_millis(100)).await;
        (std::fs::metadata(stage.program.path("beats")).unwrap().len() == before).then_some(())
    };
    let at = Instant::now();
    eventually("the command is ended", PATIENCE, beats).await;
    eprintln!("Redis silent: the command ended after {:?}", at.elapsed());
    redis.thaw();
    let next = stage.next().await;
    assert!(next.token > run.token && stage.overlaps() == 0);
    stage.is_lost(run).await;

    // Who holds the seat learns of it by the next renewal. Until then two may run, and only the newest may write.
    tokio::time::sleep(TTL / 3).await;
    redis.command(&["FLUSHALL"]).await;
    let newest = stage.next().await;
    let fence = |run: Run| format!("SELECT outbox_job_fence('ward', {})", run.token);
    let refused = stage.outbox.try_sql(&fence(next)).await.unwrap_err().to_string();
    assert!(refused.contains("a later run of the job ward has begun"), "{refused}");
    stage.outbox.sql(&fence(newest)).await;
    stage.is_lost(next).await;
    stage.end().await;
}

#[tokio::test]
async fn a_run_goes_on_while_the_database_is_away_and_its_end_is_written_afterwards() {
    let redis = servers::redis().await;
    let postgres = servers::Postgres::start().await;
    let outbox = Outbox::open(postgres.database().await).await;
    outbox.database.migrate("default").await.unwrap();
    let program = Program::new(&outbox.test.url, &format!("[lease]\nurl = \"{}\"\n", redis.url()));
    let job = "echo on > said; while [ ! -e over ]; do sleep 0.01; done";
    let mut child = program.command(&["exclusive", "away", "--", "/bin/sh", "-c", job]).spawn().unwrap();
    eventually("the job runs", PATIENCE, async || program.path("said").exists().then_some(())).await;
    postgres.stop().await;
    let refused = program.run(&["exclusive", "another", "--", "/bin/true"]).await;
    assert_eq!(refused.code, Some(125), "no token, no start: {refused:?}");
    program.write("over", "");
    tokio::time::sleep(Duration::from_millis(300)).await;
    postgres.restart().await;
    assert_eq!(child.wait().await.unwrap().code(), Some(0));
    let finished = "SELECT count(*) FROM outbox_job_run WHERE name = 'away' AND ended_because = 'finished'";
    assert_eq!(outbox.number(finished).await, 1);
}

#[tokio::test]
async fn a_seat_that_is_released_by_hand_goes_to_another_and_a_session_keeps_its_own() {
    let mut stage = Stage::set(mariadb().await, "[lease]\nprovider = \"table\"\n").await;
    assert!(stage.program.run(&["jobs", "release", "nothing"]).await.failed().contains("no job \"nothing\" has run"));
    let run = stage.next().await;
    let released = stage.program.run(&["jobs", "release", "ward", "--why", "it hangs"]).await.done();
    assert!(released.contains("the seat of ward is free"), "{released}");
    let next = stage.next().await;
    assert!(next.token > run.token);
    stage.is_lost(run).await;
    assert_eq!(stage.outbox.number("SELECT count(*) FROM outbox_audit WHERE action = 'release'").await, 1);
    stage.end().await;

    let mut stage = Stage::set(postgres().await, "[lease]\nprovider = \"session\"\n").await;
    stage.next().await;
    let refused = stage.program.run(&["jobs", "release", "ward"]).await.failed();
    assert!(refused.contains("by a session of the database"), "{refused}");
    stage.end().await;
}
