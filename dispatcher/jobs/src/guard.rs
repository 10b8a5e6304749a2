//! The guard: runs the command of a job, and ends it before the seat can be another's.

use std::ffi::OsString;
use std::io;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use outbox_dispatcher::term::clock::{BootClock, Clock, Moment};
use rustix::process::Signal;
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

use crate::child::{Exit, JOB, LAST_SUCCESS, RUN, Running, TOKEN, inherit_orphans, not_started};
use crate::pipe::{Because, Hears, Over, ToGuard, ToKeeper, moment, tell};
use crate::{FAILED, LOST, TIMED_OUT};

/// What becomes of a command whose seat is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnLoss {
    /// It is ended.
    Stop,
    /// It goes on. Only the fence keeps what it writes from being written twice.
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

/// The signals that are passed on. The first four ask for an end.
const PASSED_ON: [(Signal, bool); 6] = [
    (Signal::TERM, true),
    (Signal::INT, true),
    (Signal::HUP, true),
    (Signal::QUIT, true),
    (Signal::USR1, false),
    (Signal::USR2, false),
];

/// Guards the runs of a job until the keeper says that it is over. Returns the exit code.
///
/// # Errors
/// The keeper could not be started, or no signal can be heard.
pub async fn guard(guard: Guard, mut keeper: Command) -> io::Result<u8> {
    inherit_orphans();
    let signals = signals()?;
    // In a group of its own: no signal of a terminal reaches it.
    keeper.stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0);
    let mut keeper = keeper.spawn()?;
    let pipes = keeper.stdin.take().zip(keeper.stdout.take());
    let (to_keeper, from_keeper) = pipes.ok_or(io::ErrorKind::BrokenPipe)?;
    let hears = Hears::new(from_keeper);
    let watch = Watch { guard, keeper, to_keeper, hears, signals, clock: Arc::new(BootClock), asked: None, code: 0 };
    Ok(watch.until_over().await)
}

/// All of them, one after the other as they come.
fn signals() -> io::Result<mpsc::Receiver<(Signal, bool)>> {
    let (tells, hears) = mpsc::channel(16);
    for passed_on in PASSED_ON {
        let mut comes = signal(SignalKind::from_raw(passed_on.0.as_raw()))?;
        let tells = tells.clone();
        tokio::spawn(async move { while comes.recv().await.is_some() && tells.send(passed_on).await.is_ok() {} });
    }
    Ok(hears)
}

struct Watch {
    guard: Guard,
    keeper: Child,
    to_keeper: ChildStdin,
    hears: Hears<ChildStdout>,
    signals: mpsc::Receiver<(Signal, bool)>,
    clock: Arc<dyn Clock>,
    /// The first signal that asked for an end.
    asked: Option<Signal>,
    /// The exit code of the last run.
    code: u8,
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

fn earlier(moment: Moment, by: Duration) -> Moment {
    Moment::at(moment.since_boot().saturating_sub(by))
}

impl Watch {
    async fn until_over(mut self) -> u8 {
        loop {
            tokio::select! {
                told = self.hears.next::<ToGuard>() => match told {
                    Some(ToGuard::Start { run, token, last_success, until_ms }) => {
                        self.run((run, token, last_success), moment(until_ms)).await;
                    }
                    Some(ToGuard::Over(over)) => return self.over(over),
                    // They are of a run that has ended.
                    Some(ToGuard::Trust { .. } | ToGuard::Lost) => {}
                    None => return FAILED,
                },
                Some((signal, asks)) = self.signals.recv() => if asks {
                    self.asked.get_or_insert(signal);
                    tell(&mut self.to_keeper, &ToKeeper::Stop).await;
                },
            }
        }
    }

    fn over(&self, over: Over) -> u8 {
        match (over, self.asked) {
            (Over::Failed, _) => FAILED,
            // Nothing was running when somebody asked for an end.
            (Over::Skipped, Some(signal)) => 128 + u8::try_from(signal.as_raw()).unwrap_or(0),
            (Over::Skipped, None) => self.guard.skip_status,
            (Over::Done, _) => self.code,
        }
    }

    /// Runs the command once, and tells the keeper how it ended.
    async fn run(&mut self, (run, token, last_success): (i64, i64, Option<String>), trusted: Moment) {
        let mut environment = vec![(JOB, self.guard.job.clone()), (RUN, run.to_string()), (TOKEN, token.to_string())];
        environment.extend(last_success.map(|at| (LAST_SUCCESS, at)));
        let running = match Running::start(&self.guard.command, environment, self.guard.tail) {
            Ok(running) => running,
            Err(error) => {
                let program = self.guard.command.first().map(|program| program.to_string_lossy().into_owned());
                tracing::error!(job = self.guard.job, program, %error, "job.not_started");
                let code = not_started(&error);
                self.ended(Because::Itself, Exit { code: Some(code), signal: None, tail: None }).await;
                return;
            }
        };
        tell(&mut self.to_keeper, &ToKeeper::Runs { group: running.group.as_raw_nonzero().get() }).await;
        let now = self.clock.now();
        let ending = Ending {
            times_out: self.guard.timeout.map(|timeout| now.after(timeout)),
            trusted: (self.guard.on_loss == OnLoss::Stop).then_some(trusted),
            kill_after: self.guard.kill_after,
            told: None,
        };
        let (because, exit) = self.until_ended(running, ending).await;
        self.ended(because, exit).await;
    }

    async fn ended(&mut self, because: Because, exit: Exit) {
        self.code = match because {
            Because::Itself | Because::Stopped => exit.as_code(),
            Because::TimedOut => TIMED_OUT,
            Because::Lost => LOST,
        };
        let Exit { code: exit_code, signal, tail } = exit;
        tell(&mut self.to_keeper, &ToKeeper::Ended { because, exit_code, signal, tail }).await;
    }

    /// Waits for the end of the command, and brings it about where it must end.
    async fn until_ended(&mut self, mut running: Running, mut ending: Ending) -> (Because, Exit) {
        let mut keeper_lives = true;
        let status = loop {
            let next = ending.next();
            let clock = self.clock.clone();
            let wait = async {
                match next {
                    Some((at, _)) => clock.sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                status = running.ended() => break status,
                () = wait => match next {
                    Some((_, Step::Tell(because))) => {
                        running.signal(Signal::TERM);
                        // What was stopped hears nothing else.
                        running.signal(Signal::CONT);
                        ending.tell(because, self.clock.now());
                    }
                    Some((_, Step::Kill)) | None => {
                        ending.tell(Because::Lost, self.clock.now());
                        running.signal(Signal::KILL);
                        break running.ended().await;
                    }
                },
                told = self.hears.next::<ToGuard>(), if keeper_lives => match told {
                    Some(ToGuard::Trust { until_ms }) if ending.trusted.is_some() => {
                        ending.trusted = Some(moment(until_ms));
                    }
                    Some(ToGuard::Lost) if ending.trusted.is_some() => {
                        running.signal(Signal::TERM);
                        running.signal(Signal::CONT);
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
                Some((signal, asks)) = self.signals.recv() => {
                    running.signal(signal);
                    if asks {
                        self.asked.get_or_insert(signal);
                        tell(&mut self.to_keeper, &ToKeeper::Stop).await;
                    }
                }
            }
        };
        let exit = match status {
            Ok(status) => running.leave_nothing(status, self.keeper.id()).await,
            Err(_) => Exit { code: None, signal: None, tail: None },
        };
        let because = ending.told.map(|(because, _)| because);
        let asked = self.asked.map(|_| Because::Stopped);
        (because.or(asked).unwrap_or(Because::Itself), exit)
    }
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
