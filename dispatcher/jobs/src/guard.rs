//! The guard: runs the command of a job, and ends it before the seat can be another's.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use outbox_dispatcher::term::clock::{BootClock, Clock, Moment};
use rustix::process::{Pid, Signal};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

use crate::child::{Exit, HOLDER, Running, inherit_orphans, not_started, orphans};
use crate::pipe::{Because, Hears, Over, ToGuard, ToKeeper, moment, tell};
use crate::{FAILED, LOST, TIMED_OUT};

/// What becomes of a command whose seat is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnLoss {
    /// The command is ended.
    Stop,
    /// The command goes on. Only the fence keeps what it writes from being written twice.
    GoOn,
}

/// What a guard runs, and when it ends it.
#[derive(Debug, Clone)]
pub struct Guard {
    /// The name of the job.
    pub job: String,
    /// The program and its arguments.
    pub command: Vec<OsString>,
    /// How long a run may take.
    pub timeout: Option<Duration>,
    /// How long a command has after SIGTERM.
    pub kill_after: Duration,
    /// What becomes of a command whose seat is lost.
    pub on_loss: OnLoss,
    /// The exit code where no run began.
    pub skip_status: u8,
    /// How many of the last bytes that the command writes are kept.
    pub tail: usize,
}

/// A signal that is passed on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PassedOn {
    signal: Signal,
    /// Whether it asks for an end.
    asks: bool,
}

pub(crate) const PASSED_ON: [PassedOn; 6] = [
    PassedOn { signal: Signal::TERM, asks: true },
    PassedOn { signal: Signal::INT, asks: true },
    PassedOn { signal: Signal::HUP, asks: true },
    PassedOn { signal: Signal::QUIT, asks: true },
    PassedOn { signal: Signal::USR1, asks: false },
    PassedOn { signal: Signal::USR2, asks: false },
];

impl PassedOn {
    pub(crate) fn kind(self) -> SignalKind {
        SignalKind::from_raw(self.signal.as_raw())
    }
}

/// How often the exits of what a command left to the guard are taken.
const REAPED_EVERY: Duration = Duration::from_secs(1);

/// How long the keeper may take for its last words: it tries for 30 s to write the end of a run.
const LAST_WORDS: Duration = Duration::from_secs(35);

/// Guards the runs of a job until the keeper says that it is over. Returns the exit code.
///
/// # Errors
/// The keeper could not be started, or no signal can be heard.
pub async fn guard(guard: Guard, mut keeper: Command) -> io::Result<u8> {
    inherit_orphans();
    let mut strangers = orphans(&[]);
    let signals = signals()?;
    // In a group of its own: no signal of a terminal reaches it.
    keeper.stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0);
    let mut keeper = keeper.spawn()?;
    strangers.extend(keeper.id().and_then(|id| Pid::from_raw(id.cast_signed())));
    let pipes = keeper.stdin.take().zip(keeper.stdout.take());
    let (to_keeper, from_keeper) = pipes.ok_or(io::ErrorKind::BrokenPipe)?;
    let hears = Hears::new(from_keeper);
    let clock: Arc<dyn Clock> = Arc::new(BootClock);
    let watch = Watch {
        guard,
        keeper,
        strangers,
        to_keeper,
        hears,
        signals,
        clock,
        asked: None,
        code: None,
        patient_until: None,
    };
    Ok(watch.until_over().await)
}

/// All of them, one after the other as they come. One that was ignored from the start stays ignored, as under `nohup`.
fn signals() -> io::Result<mpsc::Receiver<PassedOn>> {
    let (tells, hears) = mpsc::channel(16);
    // Where it was ignored, the exit of a command would be lost.
    drop(signal(SignalKind::child())?);
    let ignored = ignored();
    for passed_on in PASSED_ON {
        if ignored & (1 << (passed_on.signal.as_raw() - 1)) != 0 {
            continue;
        }
        let mut comes = signal(passed_on.kind())?;
        let tells = tells.clone();
        tokio::spawn(async move { while comes.recv().await.is_some() && tells.send(passed_on).await.is_ok() {} });
    }
    Ok(hears)
}

/// The signals that this process ignores, a bit each. Only Linux says so.
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or_default()
}

struct Watch {
    guard: Guard,
    keeper: Child,
    /// The children that are none of the command: the keeper, and those that this process had before.
    strangers: Vec<Pid>,
    to_keeper: ChildStdin,
    hears: Hears<ChildStdout>,
    signals: mpsc::Receiver<PassedOn>,
    clock: Arc<dyn Clock>,
    /// The first signal that asked for an end.
    asked: Option<Signal>,
    /// The exit code of the last run.
    code: Option<u8>,
    /// Until when the keeper has to say something. None: it may be silent.
    patient_until: Option<Moment>,
}

/// A run that is to begin.
struct Run {
    token: i64,
    holder: String,
    last_success: Option<String>,
    trusted: Moment,
}

/// When a command that runs is ended, and why.
#[derive(Debug)]
struct Ending {
    /// When the run has taken too long.
    times_out: Option<Moment>,
    /// Until when the seat is trusted. None where a loss ends nothing.
    trusted: Option<Moment>,
    /// When SIGTERM is sent before that.
    kill_after: Duration,
    /// Why the command was told to end, and when it is killed. None: nobody told it.
    told: Option<(Because, Moment)>,
}

impl Ending {
    /// When something is to be done next, and what.
    fn next(&self) -> Option<(Moment, Step)> {
        let kill = self.told.map(|(_, at)| (at, Step::Kill));
        let kill_at_loss = self.trusted.map(|until| (until, Step::Kill));
        let times_out = self.times_out.map(|at| (at, Step::Tell(Because::TimedOut)));
        let tell_at_loss = self.trusted.map(|until| (earlier(until, self.kill_after), Step::Tell(Because::Lost)));
        let told = self.told.is_some();
        let tells = [times_out, tell_at_loss].into_iter().flatten().filter(|_| !told);
        [kill, kill_at_loss].into_iter().flatten().chain(tells).min_by_key(|(at, _)| *at)
    }

    fn tell(&mut self, because: Because, now: Moment) {
        self.told.get_or_insert((because, now.after(self.kill_after)));
    }
}

/// What a guard does to a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Tell(Because),
    Kill,
}

/// Waits until a moment has come. None: it never does.
async fn come(clock: &dyn Clock, moment: Option<Moment>) {
    match moment {
        Some(moment) => clock.sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

fn earlier(moment: Moment, by: Duration) -> Moment {
    Moment::at(moment.since_boot().saturating_sub(by))
}

impl Watch {
    async fn until_over(mut self) -> u8 {
        loop {
            let (clock, patient_until) = (self.clock.clone(), self.patient_until);
            tokio::select! {
                told = self.hears.next::<ToGuard>() => match told {
                    Some(ToGuard::Start { token, holder, last_success, until_ms }) => {
                        self.run(Run { token, holder, last_success, trusted: moment(until_ms) }).await;
                        self.patient_until = Some(self.clock.now().after(LAST_WORDS));
                    }
                    Some(ToGuard::Over(over)) => return self.over(over),
                    Some(ToGuard::Written) if self.asked.is_none() => self.patient_until = None,
                    // They are of a run that has ended.
                    Some(ToGuard::Trust { .. } | ToGuard::Lost | ToGuard::Written) => {}
                    None => return self.left_alone(),
                },
                Some(PassedOn { signal, asks }) = self.signals.recv() => if asks {
                    self.asked.get_or_insert(signal);
                    self.patient_until.get_or_insert(self.clock.now().after(LAST_WORDS));
                    tell(&mut self.to_keeper, &ToKeeper::Stop).await;
                },
                () = come(&*clock, patient_until) => {
                    tracing::error!(job = self.guard.job, "job.keeper_silent: it is killed; the history may lack the end of the run");
                    let _ = self.keeper.kill().await;
                    return self.left_alone();
                }
            }
        }
    }

    /// The exit code without a last word of the keeper.
    fn left_alone(&self) -> u8 {
        self.code.or(self.asked.map(by_signal)).unwrap_or(FAILED)
    }

    fn over(&self, over: Over) -> u8 {
        match (over, self.asked) {
            (Over::Failed, None) => FAILED,
            // Nothing was running when somebody asked for an end.
            (Over::Skipped | Over::Failed, Some(signal)) => by_signal(signal),
            (Over::Skipped, None) => self.guard.skip_status,
            (Over::Done, _) => self.code.unwrap_or(FAILED),
        }
    }

    /// Runs the command once, and tells the keeper how it ended.
    async fn run(&mut self, run: Run) {
        if let Some(signal) = self.asked {
            // It came while the run was begun.
            let exit = Exit { code: None, signal: Some(signal.as_raw()), tail: None };
            return self.ended(Because::Stopped, exit).await;
        }
        let trusted = self.trusted_now(run.trusted).await;
        if trusted <= self.clock.now() && self.guard.on_loss == OnLoss::Stop {
            return self.ended(Because::Lost, Exit { code: None, signal: None, tail: None }).await;
        }
        let mut environment = vec![
            ("OUTBOX_JOB", self.guard.job.clone()),
            ("OUTBOX_JOB_RUN", run.token.to_string()),
            ("OUTBOX_JOB_TOKEN", run.token.to_string()),
            (HOLDER, run.holder),
        ];
        environment.extend(run.last_success.map(|at| ("OUTBOX_JOB_LAST_SUCCESS", at)));
        let running = match Running::start(&self.guard.command, environment, self.guard.tail) {
            Ok(running) => running,
            Err(error) => {
                let program = self.guard.command.first().map(|program| program.to_string_lossy().into_owned());
                tracing::error!(job = self.guard.job, program, %error, "job.not_started");
                let code = not_started(&error);
                return self.ended(Because::Itself, Exit { code: Some(code), signal: None, tail: None }).await;
            }
        };
        tell(&mut self.to_keeper, &ToKeeper::Runs { group: running.group.as_raw_nonzero().get() }).await;
        let ending = Ending {
            times_out: self.guard.timeout.map(|timeout| self.clock.now().after(timeout)),
            trusted: (self.guard.on_loss == OnLoss::Stop).then_some(trusted),
            kill_after: self.guard.kill_after,
            told: None,
        };
        let (because, exit) = self.until_ended(running, ending).await;
        self.ended(because, exit).await;
    }

    /// Until when the seat is trusted. Where this process stood still, the keeper has said more since.
    async fn trusted_now(&mut self, mut trusted: Moment) -> Moment {
        let clock = self.clock.clone();
        while trusted <= clock.now() {
            let Some(Some(ToGuard::Trust { until_ms })) = clock.within(Duration::ZERO, self.hears.next()).await else {
                break;
            };
            trusted = moment(until_ms);
        }
        trusted
    }

    async fn ended(&mut self, because: Because, exit: Exit) {
        self.code = Some(match because {
            Because::Itself | Because::Stopped => exit.as_code(),
            Because::TimedOut => TIMED_OUT,
            Because::Lost => LOST,
        });
        let Exit { code: exit_code, signal, tail } = exit;
        tell(&mut self.to_keeper, &ToKeeper::Ended { because, exit_code, signal, tail }).await;
    }

    /// Waits for the end of the command, and brings it about where it must end.
    async fn until_ended(&mut self, mut running: Running, mut ending: Ending) -> (Because, Exit) {
        let mut keeper_lives = true;
        let mut reaps = tokio::time::interval(REAPED_EVERY);
        let status = loop {
            let next = ending.next();
            let clock = self.clock.clone();
            // What the keeper has said comes before what is to be done: this process may have stood still.
            tokio::select! {
                biased;
                status = running.ended() => break status,
                told = self.hears.next::<ToGuard>(), if keeper_lives => match told {
                    Some(ToGuard::Trust { until_ms }) if ending.trusted.is_some() => {
                        ending.trusted = Some(moment(until_ms));
                    }
                    Some(ToGuard::Lost) if ending.trusted.is_some() => {
                        running.tell(Signal::TERM);
                        ending.tell(Because::Lost, self.clock.now());
                    }
                    Some(_) => {}
                    None => {
                        keeper_lives = false;
                        if ending.trusted.is_some() {
                            tracing::error!(job = self.guard.job, "job.keeper_gone: the command is ended");
                            ending.tell(Because::Lost, self.clock.now());
                            running.signal(Signal::KILL);
                        }
                    }
                },
                () = come(&*clock, next.map(|(at, _)| at)) => match next {
                    Some((_, Step::Tell(because))) => {
                        running.tell(Signal::TERM);
                        ending.tell(because, self.clock.now());
                    }
                    Some((_, Step::Kill)) | None => {
                        ending.tell(Because::Lost, self.clock.now());
                        running.signal(Signal::KILL);
                        break running.ended().await;
                    }
                },
                Some(PassedOn { signal, asks }) = self.signals.recv() => if asks {
                    running.tell(signal);
                    self.asked.get_or_insert(signal);
                    tell(&mut self.to_keeper, &ToKeeper::Stop).await;
                } else {
                    running.signal(signal);
                },
                _ = reaps.tick() => running.reap(&self.strangers),
            }
        };
        let status = status.unwrap_or_else(|error| {
            tracing::error!(job = self.guard.job, %error, "job.exit_unknown");
            ExitStatus::from_raw(i32::from(u8::MAX) << 8)
        });
        let exit = running.leave_nothing(status, self.guard.tail, &self.strangers).await;
        let because = ending.told.map(|(because, _)| because);
        let asked = self.asked.map(|_| Because::Stopped);
        (because.or(asked).unwrap_or(Because::Itself), exit)
    }
}

/// The exit code of a process that a signal ended, as shells have it.
fn by_signal(signal: Signal) -> u8 {
    128 + u8::try_from(signal.as_raw()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Moment {
        Moment::at(Duration::from_secs(seconds))
    }

    #[test]
    fn a_command_is_told_before_trust_ends_and_killed_when_it_does() {
        let mut ending =
            Ending { times_out: None, trusted: Some(at(100)), kill_after: Duration::from_secs(5), told: None };
        assert_eq!(ending.next(), Some((at(95), Step::Tell(Because::Lost))));
        ending.tell(Because::Lost, at(95));
        assert_eq!(ending.next(), Some((at(100), Step::Kill)));
        ending.trusted = Some(at(130));
        assert_eq!(ending.next(), Some((at(100), Step::Kill)), "what was told to end is killed all the same");
    }

    #[test]
    fn a_command_that_takes_too_long_is_told_once_and_then_killed() {
        let mut ending =
            Ending { times_out: Some(at(60)), trusted: Some(at(100)), kill_after: Duration::from_secs(5), told: None };
        assert_eq!(ending.next(), Some((at(60), Step::Tell(Because::TimedOut))));
        ending.tell(Because::TimedOut, at(60));
        ending.tell(Because::Lost, at(61));
        assert_eq!((ending.next(), ending.told), (Some((at(65), Step::Kill)), Some((Because::TimedOut, at(65)))));
    }

    #[test]
    fn a_command_that_may_go_on_without_its_seat_is_never_told() {
        let ending = Ending { times_out: None, trusted: None, kill_after: Duration::ZERO, told: None };
        assert_eq!(ending.next(), None);
    }
}
