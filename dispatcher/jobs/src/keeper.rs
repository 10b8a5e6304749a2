//! The keeper: holds the seat of a job, and writes its history.

use std::sync::Arc;
use std::time::Duration;

use outbox_config::campaign_interval;
use outbox_dispatcher::term::clock::{Clock, Moment};
use outbox_dispatcher::term::trust::{Renewal, Trust, call_limit, trust_margin, trusted_until};
use outbox_store::jobs::{JobRun, JobStart, JobStore, NotYet, RunEnd, RunEnded, Started};
use outbox_store::{Holder, Seat, StoreError};
use rustix::process::Pid;
use tokio::io::{Stdin, Stdout};
use tokio::signal::unix::signal;
use uuid::Uuid;

use crate::child::kill_without_guard;
use crate::guard::{OnLoss, PASSED_ON};
use crate::pipe::{Hears, Over, ToGuard, ToKeeper, millis, tell};

/// How long the end of a run is tried to be written.
const WRITTEN_WITHIN: Duration = Duration::from_secs(30);

/// How long is waited between two tries of a call that failed.
const AGAIN: Duration = Duration::from_millis(500);

/// How often a run says that it goes on, whatever becomes of its seat. The poller takes one that says nothing for thirty seconds for
/// crashed, where nobody has the seat.
const SEEN_EACH: Duration = Duration::from_secs(10);

/// How long a call has that nobody waits for.
const FAREWELL: Duration = Duration::from_secs(2);

/// How long a run is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// So long.
    For(Duration),
    /// Until it begins.
    Forever,
}

/// A job, and the seat that it needs.
#[derive(Debug)]
pub struct Keeper {
    /// The name of the job.
    pub job: String,
    /// The command, as people are shown it.
    pub command: String,
    /// The host of the command.
    pub host: String,
    /// The process of the guard.
    pub guard: u32,
    /// How long a run is waited for.
    pub wait: Wait,
    /// At most one start in each such period of the database's clock.
    pub per: Option<Duration>,
    /// No other start for so long.
    pub at_least: Option<Duration>,
    /// Run it again so long after its end.
    pub every: Option<Duration>,
    /// How long a command has after SIGTERM. It is told so long before trust ends.
    pub kill_after: Duration,
    /// What becomes of a command whose seat is lost.
    pub on_loss: OnLoss,
    /// The lease of the seat, and how long it is believed.
    pub trust: Trust,
    /// Where the history is.
    pub store: Arc<dyn JobStore>,
}

/// A run whose seat is held.
struct Held {
    run: JobRun,
    holder: Holder,
    trusted: Moment,
}

/// The outcome of a campaign for a run.
enum Campaign {
    Begun(Held),
    Skipped,
    Failed,
}

/// Holds the seat for one run, or for one after the other, and tells the guard by standard output. It ends with the guard.
pub async fn keep(keeper: Keeper) {
    // Whoever stops a whole group of processes, as systemd does, means the guard, and this process ends with it.
    for passed_on in PASSED_ON {
        let _ = signal(passed_on.kind());
    }
    let seat = Seat::Job(keeper.job.as_str().into());
    let lines = Lines { to_guard: tokio::io::stdout(), from_guard: Hears::new(tokio::io::stdin()), stops: false };
    Keeping { keeper, seat, lines, instance: Uuid::new_v4().simple().to_string()[..12].to_owned() }.all_runs().await;
}

struct Lines {
    to_guard: Stdout,
    from_guard: Hears<Stdin>,
    /// Somebody asked for an end, or the guard is gone.
    stops: bool,
}

impl Lines {
    /// Waits until nothing more is to begin.
    async fn stopped(&mut self) {
        while !self.stops {
            self.stops = matches!(self.from_guard.next::<ToKeeper>().await, Some(ToKeeper::Stop) | None);
        }
    }
}

struct Keeping {
    keeper: Keeper,
    seat: Seat,
    lines: Lines,
    instance: String,
}

impl Keeping {
    async fn all_runs(mut self) {
        let mut ran = false;
        let over = loop {
            match self.campaign().await {
                Campaign::Begun(held) => {
                    ran = true;
                    self.one_run(held).await;
                }
                Campaign::Skipped => break Over::Skipped,
                Campaign::Failed => break Over::Failed,
            }
            match self.keeper.every {
                // Also where the end of the run could not be written.
                Some(every) if !self.lines.stops => self.rest(every).await,
                Some(_) | None => break Over::Done,
            }
        };
        let over = if ran { Over::Done } else { over };
        tell(&mut self.lines.to_guard, &ToGuard::Over(over)).await;
    }

    fn clock(&self) -> Arc<dyn Clock> {
        self.keeper.trust.clock.clone()
    }

    /// Waits for so long, or until nothing more is to begin.
    async fn rest(&mut self, pause: Duration) {
        let clock = self.clock();
        clock.within(pause, self.lines.stopped()).await;
    }

    /// Asks for the seat, and whether a run may begin, until one does, or nobody waits any longer.
    async fn campaign(&mut self) -> Campaign {
        let since = self.clock().now();
        loop {
            let left = self.left(since);
            let (answer, pause) = self.attempt(left).await;
            let gives_up = left.is_zero() || self.lines.stops;
            match answer {
                Campaign::Begun(held) => return Campaign::Begun(held),
                Campaign::Skipped if gives_up => {
                    let skipped = self.keeper.store.skip_run(&self.keeper.job);
                    let _ = self.clock().within(FAREWELL, skipped).await;
                    return Campaign::Skipped;
                }
                Campaign::Failed if gives_up => return Campaign::Failed,
                Campaign::Skipped | Campaign::Failed => self.rest(pause.min(left)).await,
            }
        }
    }

    /// How much longer a run is waited for. A job that is run again and again is always waited for.
    fn left(&self, since: Moment) -> Duration {
        match self.keeper.wait {
            Wait::For(wait) if self.keeper.every.is_none() => wait.saturating_sub(self.clock().now().since(since)),
            Wait::For(_) | Wait::Forever => Duration::MAX,
        }
    }

    /// One try, and how long to wait before the next. Where another has the seat, its release is waited for, at most so long.
    async fn attempt(&mut self, left: Duration) -> (Campaign, Duration) {
        let ttl = self.keeper.trust.ttl;
        let holder = Holder::new(&self.instance, &Uuid::new_v4().simple().to_string()[..8]);
        let (clock, lease) = (self.clock(), self.keeper.trust.lease.clone());
        let asked = clock.now();
        match clock.within(call_limit(ttl), lease.acquire(&self.seat, &holder, ttl)).await {
            Some(Ok(true)) => {}
            Some(Ok(false)) => {
                if !left.is_zero() {
                    let (seat, pause) = (self.seat.clone(), campaign_interval(ttl).min(left));
                    tokio::select! {
                        _ = clock.within(pause, lease.released(&seat)) => {}
                        () = self.lines.stopped() => {}
                    }
                }
                return (Campaign::Skipped, Duration::ZERO);
            }
            Some(Err(error)) => {
                self.give_up(&holder).await;
                return self.failed(&error.to_string());
            }
            None => {
                self.give_up(&holder).await;
                return self.failed("the lease store did not answer");
            }
        }
        // Whether somebody has asked for an end meanwhile.
        clock.within(Duration::ZERO, self.lines.stopped()).await;
        if self.lines.stops {
            self.give_up(&holder).await;
            return (Campaign::Skipped, Duration::ZERO);
        }
        self.begin(holder, trusted_until(asked, ttl)).await
    }

    /// Begins a run with the seat that this holder has.
    async fn begin(&mut self, holder: Holder, trusted: Moment) -> (Campaign, Duration) {
        let keeper = &self.keeper;
        let start = JobStart {
            job: &keeper.job,
            holder: &holder,
            host: &keeper.host,
            pid: keeper.guard,
            command: &keeper.command,
            per: keeper.per,
            at_least: keeper.at_least,
            due_within: keeper.per.max(keeper.every),
        };
        let beginning = async {
            keeper.store.know_job(&keeper.job).await?;
            keeper.store.begin_run(&start).await
        };
        let refused = match keeper.trust.clock.within(keeper.trust.ttl, beginning).await {
            Some(Ok(Started::Run(run))) => {
                if let Some(trusted) = self.still_held(&holder, trusted).await {
                    return (Campaign::Begun(Held { run, holder, trusted }), Duration::ZERO);
                }
                self.write_end(&run, self.ended(RunEnd::Lost)).await;
                self.failed("the seat was lost before the run began")
            }
            Some(Ok(Started::Paused)) => (Campaign::Skipped, AGAIN),
            Some(Ok(Started::NotYet(NotYet::Period | NotYet::Held, left))) => (Campaign::Skipped, left),
            Some(Err(error)) => self.failed(&error.to_string()),
            None => {
                self.failed("the database minted no token in time: an earlier run may hold a fenced transaction open")
            }
        };
        self.give_up(&holder).await;
        refused
    }

    /// Until when the seat is trusted, where enough of that is left to run anything.
    async fn still_held(&self, holder: &Holder, trusted: Moment) -> Option<Moment> {
        // Enough for the command to begin, and for a renewal.
        if trusted.since(self.clock().now()) > self.keeper.kill_after + call_limit(self.keeper.trust.ttl) {
            return Some(trusted);
        }
        match self.keeper.trust.renew(&self.seat, holder).await {
            Renewal::Trusted(until) => Some(until),
            Renewal::Lost | Renewal::Unknown => None,
        }
    }

    fn failed(&self, error: &str) -> (Campaign, Duration) {
        tracing::error!(job = self.keeper.job, error, "job.not_begun");
        (Campaign::Failed, AGAIN)
    }

    async fn give_up(&self, holder: &Holder) {
        let release = self.keeper.trust.lease.release(&self.seat, holder);
        if self.clock().within(FAREWELL, release).await.is_none_or(|released| released.is_err()) {
            tracing::warn!(job = self.keeper.job, %holder, "job.seat_not_released: it is free once its time to live is over");
        }
    }

    /// How often the seat is renewed: three times before the command is told to end.
    fn pause(&self) -> Duration {
        let ttl = self.keeper.trust.ttl;
        let trusted = ttl.saturating_sub(trust_margin(ttl));
        (trusted.saturating_sub(self.keeper.kill_after) / 3).max(Duration::from_millis(50))
    }

    /// Keeps the seat while the command runs, and writes how it ended.
    async fn one_run(&mut self, held: Held) {
        let Held { run, holder, mut trusted } = held;
        let last_success = run.last_success_ms.and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok());
        let last_success = last_success.map(|at| at.to_string());
        let until_ms = millis(trusted);
        let start = ToGuard::Start { token: run.token, holder: holder.to_string(), last_success, until_ms };
        tell(&mut self.lines.to_guard, &start).await;
        let (clock, mut group, mut lost) = (self.clock(), None, false);
        let mut renewed_at = clock.now().after(self.pause());
        let mut seen_at = clock.now().after(SEEN_EACH);
        let ended = loop {
            tokio::select! {
                told = self.lines.from_guard.next::<ToKeeper>() => match told {
                    Some(ToKeeper::Runs { group: its }) => group = Pid::from_raw(its),
                    Some(ToKeeper::Stop) => self.lines.stops = true,
                    Some(ToKeeper::Ended { because, exit_code, signal, tail }) => {
                        break RunEnded { exit_code, signal, tail, ..self.ended(because.in_history(exit_code)) };
                    }
                    None => {
                        // The guard is gone, and nobody else ends the command.
                        kill_without_guard(group, holder.as_str()).await;
                        self.lines.stops = true;
                        break self.ended(RunEnd::Crashed);
                    }
                },
                () = clock.sleep_until(renewed_at), if !lost => {
                    match self.keeper.trust.renew(&self.seat, &holder).await {
                        Renewal::Trusted(until) => {
                            trusted = until;
                            renewed_at = clock.now().after(self.pause());
                            tell(&mut self.lines.to_guard, &ToGuard::Trust { until_ms: millis(until) }).await;
                            lost = !self.goes_on(&run).await;
                        }
                        Renewal::Lost => lost = true,
                        Renewal::Unknown => renewed_at = clock.now().after(self.pause() / 4),
                    }
                    if lost {
                        tracing::warn!(job = self.keeper.job, token = run.token, "job.seat_lost");
                        tell(&mut self.lines.to_guard, &ToGuard::Lost).await;
                    }
                }
                // A run whose time to live is long, or that goes on without its seat, is not taken for crashed.
                () = clock.sleep_until(seen_at) => {
                    self.goes_on(&run).await;
                    seen_at = clock.now().after(SEEN_EACH);
                }
                // The guard does it at the same time, unless somebody has stopped it.
                () = clock.sleep_until(trusted), if group.is_some() && self.keeper.on_loss == OnLoss::Stop => {
                    kill_without_guard(group.take(), holder.as_str()).await;
                }
            }
        };
        self.write_end(&run, ended).await;
        self.give_up(&holder).await;
        tell(&mut self.lines.to_guard, &ToGuard::Written).await;
    }

    /// Whether the database knows of no end of this run. One that does not answer is no reason to end it.
    async fn goes_on(&self, run: &JobRun) -> bool {
        let seen = self.clock().within(call_limit(self.keeper.trust.ttl), self.keeper.store.run_goes_on(run)).await;
        !matches!(seen, Some(Ok(false)))
    }

    /// The end of a run of whose command nothing is known.
    fn ended(&self, because: RunEnd) -> RunEnded {
        RunEnded { because, exit_code: None, signal: None, tail: None, rest: self.keeper.every }
    }

    /// Writes the end of a run. One that cannot be written is taken for crashed.
    async fn write_end(&self, run: &JobRun, mut ended: RunEnded) {
        let clock = self.clock();
        let writing = async {
            loop {
                match self.keeper.store.end_run(&self.keeper.job, run, &ended).await {
                    Ok(()) => return,
                    Err(error @ StoreError::Refused { .. }) => {
                        tracing::error!(job = self.keeper.job, %error, "job.end_not_written");
                        // It may be the text that is refused.
                        if ended.tail.take().is_none() {
                            return;
                        }
                    }
                    Err(_) => clock.sleep(AGAIN).await,
                }
            }
        };
        if clock.within(WRITTEN_WITHIN, writing).await.is_none() {
            tracing::error!(
                job = self.keeper.job,
                token = run.token,
                "job.end_not_written: it will be taken for crashed"
            );
        }
    }
}
