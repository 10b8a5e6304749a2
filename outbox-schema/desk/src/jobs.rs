//! Jobs for operators: how each stands, its runs, and pausing and resuming one.

use outbox_store::Database;
use outbox_store::jobs::RunEnd;
use outbox_store::lacks_rights;
use outbox_store::sql::{AnyTransaction, Value, read};
use serde::{Deserialize, Serialize};
use sqlx::FromRow;

use super::Author;
use super::operation::{audit, who};
use super::statements::{JOB_PAUSE, JOB_RESUME, JOB_RUNS, JOBS};

/// The most jobs of a list.
const LISTED: i64 = 10_000;

/// The most jobs that have metrics.
const FIRST: i64 = 100;

/// A job that has run, or was about to. Times are texts of the database.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, FromRow)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct JobEntry {
    /// The name.
    pub name: String,
    /// `running`, else `paused`, else of the last run `completed` or `failed`; `never` where there was none.
    pub state: String,
    /// The token of the last run, by which it is named. All that follows up to `signal` is of that run.
    pub token: Option<i64>,
    /// The host on which it ran.
    pub host: Option<String>,
    /// When it began.
    pub started_at: Option<String>,
    /// When it was last known to go on.
    pub seen_at: Option<String>,
    /// When it ended.
    pub ended_at: Option<String>,
    /// The duration of the run.
    pub took_ms: Option<i64>,
    /// Why it ended: `finished`, `failed`, `timed_out`, `lost`, `stopped` or `crashed`.
    pub ended_because: Option<String>,
    /// The exit code of its command.
    pub exit_code: Option<i32>,
    /// The signal that ended its command.
    pub signal: Option<i32>,
    /// When a run last succeeded.
    pub last_success_at: Option<String>,
    /// How often somebody wanted a run and let it be: another had the seat, or it was too early.
    pub skips: i64,
    /// A run should begin at least so often (`--per`, `--every`).
    pub due_within_ms: Option<i64>,
    /// Whether it has not run for twice as long.
    pub late: bool,
    /// Since when it is paused.
    pub paused_at: Option<String>,
    /// Who paused it.
    pub paused_by: Option<String>,
    /// Its runs, counted.
    #[sqlx(flatten)]
    pub ends: JobEnds,
}

/// The runs of a job by how they ended, those that were removed among them. One that crashed and told its end later counts twice.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, FromRow)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct JobEnds {
    /// The command succeeded.
    pub finished: i64,
    /// The command failed.
    pub failed: i64,
    /// It took longer than `--timeout`.
    pub timed_out: i64,
    /// The seat was lost, and the command was ended.
    pub lost: i64,
    /// `outbox` was asked to stop, and the command ended.
    pub stopped: i64,
    /// Nobody told of an end.
    pub crashed: i64,
}

impl JobEnds {
    /// The runs that ended so.
    pub fn of(&self, end: RunEnd) -> i64 {
        match end {
            RunEnd::Finished => self.finished,
            RunEnd::Failed => self.failed,
            RunEnd::TimedOut => self.timed_out,
            RunEnd::Lost => self.lost,
            RunEnd::Stopped => self.stopped,
            RunEnd::Crashed => self.crashed,
        }
    }
}

/// A run of a job. Times are texts of the database.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, FromRow)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct JobRunEntry {
    /// Its token, by which it is named.
    pub token: i64,
    /// Who held the seat.
    pub holder: String,
    /// The host on which it ran.
    pub host: String,
    /// The process that guarded the command.
    pub pid: i64,
    /// The program, without its arguments.
    pub command: String,
    /// When it began.
    pub started_at: String,
    /// When it was last known to go on.
    pub seen_at: String,
    /// When it ended.
    pub ended_at: Option<String>,
    /// The duration of the run.
    pub took_ms: Option<i64>,
    /// Why it ended: `finished`, `failed`, `timed_out`, `lost`, `stopped` or `crashed`. None: it goes on.
    pub ended_because: Option<String>,
    /// The exit code of the command.
    pub exit_code: Option<i32>,
    /// The signal that ended the command.
    pub signal: Option<i32>,
    /// The last that it wrote, where that was asked for (`--tail`). Shown of a run that is asked for by its token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tail: Option<String>,
}

/// A page of the runs of a job.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct JobRunPage {
    /// The runs, the newest first.
    pub runs: Vec<JobRunEntry>,
    /// The `after` of the next page, which has earlier runs. None on the last page.
    pub next: Option<i64>,
}

/// What people do to a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobAction {
    /// No run begins.
    Pause,
    /// Runs begin again.
    Resume,
    /// The seat is taken from whoever has it. Here it is only written down.
    Release,
}

/// What was done to a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct JobDone {
    /// The id of the entry in `outbox_audit`. None where nothing changed: it was so already.
    pub audit_id: Option<i64>,
    /// The job as it is now.
    pub job: JobEntry,
}

impl JobAction {
    /// The action as the audit and the API name it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pause => "pause",
            Self::Resume => "resume",
            Self::Release => "release",
        }
    }
}

/// All jobs, by name.
pub(super) async fn list(database: &Database) -> sqlx::Result<Vec<JobEntry>> {
    read(database, &JOBS, &[Value::Text(None), LISTED.into()]).await
}

/// The first jobs by name. Empty where the role has its grants of before: the rest of an outbox is shown all the same.
pub(super) async fn first(database: &Database) -> sqlx::Result<Vec<JobEntry>> {
    match read(database, &JOBS, &[Value::Text(None), FIRST.into()]).await {
        Err(error) if lacks_rights(&error) => Ok(Vec::new()),
        found => found,
    }
}

/// The runs of a job below a token. None where no job of the name is known.
pub(super) async fn runs(
    database: &Database,
    name: &str,
    after: Option<i64>,
    limit: u32,
) -> sqlx::Result<Option<JobRunPage>> {
    // One more than the limit tells whether there is a next page.
    let values = [name.into(), after.unwrap_or(i64::MAX).into(), (i64::from(limit) + 1).into(), 0.into()];
    let mut runs: Vec<JobRunEntry> = read(database, &JOB_RUNS, &values).await?;
    if runs.is_empty() && read::<JobEntry>(database, &JOBS, &[name.into(), 1.into()]).await?.is_empty() {
        return Ok(None);
    }
    let more = runs.len() > limit as usize;
    runs.truncate(limit as usize);
    let next = runs.last().filter(|_| more).map(|run| run.token);
    Ok(Some(JobRunPage { runs, next }))
}

/// A run, with the last that it wrote. None where there is none with this token.
pub(super) async fn run(database: &Database, name: &str, token: i64) -> sqlx::Result<Option<JobRunEntry>> {
    let values = [name.into(), token.saturating_add(1).into(), 1.into(), 1.into()];
    let found: Vec<JobRunEntry> = read(database, &JOB_RUNS, &values).await?;
    Ok(found.into_iter().find(|run| run.token == token))
}

/// A run that goes on is left alone. None where no job of the name is known.
pub(super) async fn change(
    database: &Database,
    name: &str,
    action: JobAction,
    author: &Author,
) -> sqlx::Result<Option<JobDone>> {
    let mut transaction = AnyTransaction::to_write(database).await?;
    let mut connection = transaction.connection();
    let who = who(author);
    let changed = match action {
        JobAction::Pause => connection.changed(&JOB_PAUSE, &[name.into(), (&who).into()]).await?,
        JobAction::Resume => connection.changed(&JOB_RESUME, &[name.into()]).await?,
        JobAction::Release => 1,
    };
    let found: Vec<JobEntry> = connection.rows(&JOBS, &[name.into(), 1.into()]).await?;
    let mut audit_id = None;
    if changed > 0 && !found.is_empty() {
        let details = serde_json::json!({ "job": name }).to_string();
        audit_id = Some(audit(&mut connection, action.as_str(), None, &details, author).await?);
    }
    transaction.commit().await?;
    Ok(found.into_iter().next().map(|job| JobDone { audit_id, job }))
}
