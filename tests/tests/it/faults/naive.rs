//! The suite can fail: what teams have instead goes through the same faults, and is convicted.

use std::process::Stdio;
use std::time::{Duration, Instant};

use outbox_tests::eventually;
use outbox_tests::faults::{Figures, repeat};
use outbox_tests::fleet::PATIENCE;
use outbox_tests::invariants;
use outbox_tests::receiver::{Manner, Request};
use outbox_tests::servers::{self, Redis};
use outbox_tests::stage::Stage;
use rustix::process::{Pid, Signal, kill_process};
use tokio::process::{Child, Command};

/// As long as the job's usual time-out is.
const LOCK: Duration = Duration::from_secs(30);

const LATENCY: Duration = Duration::from_millis(50);

/// Two scheduled jobs on one outbox, and its application and receiver.
struct Jobs {
    stage: Stage,
    redis: Redis,
    replicas: Vec<Child>,
}

impl Jobs {
    async fn start(messages: usize) -> Self {
        let mut stage = Stage::set(servers::postgres().await.database().await, LATENCY).await;
        stage.application.insert(messages, "/hook").await;
        let redis = Redis::start().await;
        let mut jobs = Self { stage, redis, replicas: Vec::new() };
        for _ in 0..2 {
            jobs.add();
        }
        jobs
    }

    fn add(&mut self) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_naive-poller"));
        command.args([self.stage.database.url.as_str(), &self.redis.url(), &self.stage.receiver.url()]);
        command.args([self.replicas.len().to_string(), LOCK.as_secs().to_string()]);
        let child = command.stdin(Stdio::null()).kill_on_drop(true).spawn().unwrap();
        self.replicas.push(child);
    }

    /// Waits until one of them sends; tells which.
    async fn at_work(&self) -> usize {
        let before = self.stage.receiver.count();
        let sends = async || {
            let requests = self.stage.receiver.requests_from(before);
            requests.get(5).and_then(|request| request.replica)
        };
        eventually("a job sends", PATIENCE, sends).await
    }

    fn signal(&self, replica: usize, signal: Signal) {
        let id = self.replicas[replica].id().unwrap();
        kill_process(Pid::from_raw(id.cast_signed()).unwrap(), signal).unwrap();
    }

    /// Waits for the first request of another replica since a moment.
    async fn other_sends(&self, replica: usize, since: Instant) -> Request {
        let other = |request: &Request| request.replica != Some(replica) && request.arrived > since;
        let sends = async || self.stage.receiver.requests().into_iter().find(other);
        eventually("the other job sends", PATIENCE, sends).await
    }

    /// What the checker says, and the figures of it.
    async fn convicted(self, figures: &mut Figures) {
        self.stage.settled().await;
        // What is under way goes on, and is marked over what another has marked.
        let done = async || (self.stage.receiver.open() == 0).then_some(());
        eventually("nothing is on the wire", PATIENCE, done).await;
        drop(self.replicas);
        let accounts = self.stage.accounts(None).await;
        let repeats = accounts.requests.iter().filter(|request| request.is_accepted()).count();
        let repeats = repeats - accounts.committed.len();
        let breaches = invariants::breaches(&accounts);
        figures.count("duplicates that nothing explains", repeats);
        figures.count("guarantees broken", breaches.len());
        let said = "times, and 0 attempts were in doubt";
        assert!(breaches.iter().any(|breach| breach.ends_with(said)), "acquitted: {breaches:?}");
    }
}

#[tokio::test]
async fn a_fixed_lock_is_convicted_when_its_holder_is_frozen() {
    repeat("a fixed lock of 30 s: its holder frozen for longer", async |_, figures| {
        let jobs = Jobs::start(200).await;
        let frozen = jobs.at_work().await;
        let struck = Instant::now();
        jobs.signal(frozen, Signal::STOP);
        let next = jobs.other_sends(frozen, struck).await;
        figures.time("from the fault to the next delivery", next.arrived - struck);
        // As soon as the other has begun, with the same rows.
        jobs.signal(frozen, Signal::CONT);
        jobs.convicted(figures).await;
    })
    .await;
}

#[tokio::test]
async fn a_fixed_lock_is_convicted_when_its_holder_is_killed() {
    repeat("a fixed lock of 30 s: its holder killed", async |_, figures| {
        let mut jobs = Jobs::start(200).await;
        let killed = jobs.at_work().await;
        let open = async || (jobs.stage.receiver.open() > 0).then_some(());
        eventually("a request is open", PATIENCE, open).await;
        let struck = Instant::now();
        jobs.signal(killed, Signal::KILL);
        jobs.add();
        let next = jobs.other_sends(killed, struck).await;
        figures.time("from the fault to the next delivery", next.arrived - struck);
        jobs.convicted(figures).await;
    })
    .await;
}

#[tokio::test]
async fn a_fixed_lock_is_convicted_when_redis_forgets_it() {
    repeat("a fixed lock of 30 s: forgotten by Redis", async |_, figures| {
        let jobs = Jobs::start(200).await;
        let holder = jobs.at_work().await;
        let struck = Instant::now();
        jobs.redis.command(&["FLUSHALL"]).await;
        let next = jobs.other_sends(holder, struck).await;
        figures.time("from the fault to the next delivery", next.arrived - struck);
        jobs.convicted(figures).await;
    })
    .await;
}

#[tokio::test]
async fn a_fixed_lock_is_convicted_when_fcm_takes_35_seconds() {
    repeat("a fixed lock of 30 s: an answer after 35 s", async |_, figures| {
        let mut jobs = Jobs::start(0).await;
        jobs.stage.receiver.behave("/slow", Manner::Slow(Duration::from_secs(35)));
        jobs.stage.application.insert(1, "/slow").await;
        jobs.stage.application.insert(20, "/hook").await;
        jobs.convicted(figures).await;
    })
    .await;
}
