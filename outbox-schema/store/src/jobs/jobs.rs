//! What the database keeps of a job: its newest token, its runs, and when the next one may begin.

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;

use crate::{Holder, StoreError};

/// A run that is to begin. Whoever asks holds the seat of the job.
#[derive(Debug, Clone, Copy)]
pub struct JobStart<'a> {
    /// The name of the job.
    pub job: &'a str,
    /// Who holds its seat.
    pub holder: &'a Holder,
    /// The host of the command.
    pub host: &'a str,
    /// The process that guards the command.
    pub pid: u32,
    /// The command, as people are shown it.
    pub command: &'a str,
    /// At most one start in each such period of the database's clock, counted from 1970.
    pub per: Option<Duration>,
    /// No other start for so long.
    pub at_least: Option<Duration>,
    /// A run should begin at least so often.
    pub due_within: Option<Duration>,
}

/// A run that has begun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobRun {
    /// The row of the run.
    pub id: i64,
    /// Its token, which is higher than those of all runs of this job before.
    pub token: i64,
    /// When a run last succeeded, in milliseconds since 1970. None: never.
    pub last_success_ms: Option<i64>,
}

/// Whether a run has begun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Started {
    /// It has.
    Run(JobRun),
    /// Somebody has paused the job.
    Paused,
    /// It is too early for so long.
    NotYet(NotYet, Duration),
}

/// Why it is too early for a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotYet {
    /// A run has begun in this period (`--per`).
    Period,
    /// The last run keeps others away for a while (`--at-least`, `--every`).
    Held,
}

/// Why a run ended: the words of `outbox_job_run.ended_because`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RunEnd {
    /// The command succeeded.
    Finished,
    /// The command failed.
    Failed,
    /// The command took longer than `--timeout`.
    TimedOut,
    /// The seat was lost, and the command was ended.
    Lost,
    /// Somebody asked `outbox` to stop, and the command ended.
    Stopped,
    /// Nobody told of an end.
    Crashed,
}

impl RunEnd {
    /// Every way a run can end.
    pub const ALL: [Self; 6] = [Self::Finished, Self::Failed, Self::TimedOut, Self::Lost, Self::Stopped, Self::Crashed];

    /// The word in tables, logs and metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Finished => "finished",
            Self::Failed => "failed",
            Self::TimedOut => "timed_out",
            Self::Lost => "lost",
            Self::Stopped => "stopped",
            Self::Crashed => "crashed",
        }
    }
}

impl fmt::Display for RunEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The end of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunEnded {
    /// Why it ended.
    pub because: RunEnd,
    /// The exit code of the command, where it exited.
    pub exit_code: Option<i32>,
    /// The signal that ended it, where one did.
    pub signal: Option<i32>,
    /// The last that it wrote, where that was asked for.
    pub tail: Option<String>,
    /// No other run begins for so long (`--every`).
    pub rest: Option<Duration>,
}

/// The newest run of a job, of which nothing has been heard for a while.
#[derive(Debug, Clone, PartialEq, Eq, sqlx::FromRow)]
pub struct SilentRun {
    /// The name of the job.
    pub name: String,
    /// The token of the run.
    pub token: i64,
}

/// Keeps jobs. [`Database`](crate::Database) does it for each of the three dialects.
#[async_trait]
pub trait JobStore: Send + Sync + fmt::Debug {
    /// Has the database know a job, before a run of it begins.
    ///
    /// # Cancel safety
    /// Safe: it can be repeated.
    async fn know_job(&self, job: &str) -> Result<(), StoreError>;

    /// Begins a run where the job is not paused and it is not too early, and mints its token. Runs before it without an end have
    /// crashed. A transaction that was fenced by the token before is waited for.
    ///
    /// # Cancel safety
    /// A run may have begun. It is taken for crashed.
    async fn begin_run(&self, start: &JobStart<'_>) -> Result<Started, StoreError>;

    /// Says that a run goes on. False where the database knows of its end.
    ///
    /// # Cancel safety
    /// Safe: it can be repeated.
    async fn run_goes_on(&self, run: &JobRun) -> Result<bool, StoreError>;

    /// Writes how a run ended. Repeated, it changes nothing more.
    ///
    /// # Cancel safety
    /// Safe: it can be repeated.
    async fn end_run(&self, job: &str, run: &JobRun, ended: &RunEnded) -> Result<(), StoreError>;

    /// Counts somebody who wanted a run, and has let it be.
    ///
    /// # Cancel safety
    /// It may count twice.
    async fn skip_run(&self, job: &str) -> Result<(), StoreError>;
}
