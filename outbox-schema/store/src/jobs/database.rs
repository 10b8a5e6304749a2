//! Jobs, on each of the databases. The statements differ by dialect; the steps and their order do not.

use std::time::Duration;

use async_trait::async_trait;

use super::{JobRun, JobStart, JobStore, NotYet, RunEnd, RunEnded, SilentRun, Started};
use crate::sql::{AnyConnection, AnyTransaction, Value, read, while_doing, write};
use crate::statement::Statement;
use crate::store::steps::failed;
use crate::store::wire::millis_i64;
use crate::{Database, QueryError, StoreError};

const KNOWN: Statement = statement!("jobs/known");
const KNOWN_TOKEN: Statement = statement!("jobs/known_token");
const LOCK: Statement = statement!("jobs/lock");
const MINT: Statement = statement!("jobs/mint");
const TOKEN: Statement = statement!("jobs/token");
const CRASHED: Statement = statement!("jobs/crashed");
const BEGIN: Statement = statement!("jobs/begin");
const RUN: Statement = statement!("jobs/run");
const SEEN: Statement = statement!("jobs/seen");
const END: Statement = statement!("jobs/end");
const ENDED: Statement = statement!("jobs/ended");
const SILENT: Statement = statement!("jobs/silent");
const SKIPPED: Statement = statement!("jobs/skipped");
const REMOVE: Statement = statement!("jobs/remove");

/// Runs that are removed in one transaction.
const BATCH: u32 = 1_000;

const BEGINNING: &str = "beginning a run of a job";

/// A job, locked.
#[derive(Debug, sqlx::FromRow)]
struct JobRow {
    period_ms: Option<i64>,
    held_ms: Option<i64>,
    last_success_ms: Option<i64>,
    paused: bool,
}

impl JobRow {
    /// Why no run may begin now. `period`: the beginning of this period, and how much of it is left.
    fn refuses(&self, now_ms: i64, period: Option<(i64, Duration)>) -> Option<Started> {
        if self.paused {
            return Some(Started::Paused);
        }
        let held = self.held_ms.map(|held| held - now_ms).filter(|left| *left > 0);
        if let Some(left) = held.and_then(|left| u64::try_from(left).ok()) {
            return Some(Started::NotYet(NotYet::Held, Duration::from_millis(left)));
        }
        let (begins, left) = period?;
        let has_begun = self.period_ms.is_some_and(|last| last >= begins);
        has_begun.then_some(Started::NotYet(NotYet::Period, left))
    }
}

impl Database {
    /// Some of the newest runs of jobs that have told neither an end nor, for so long, that they go on.
    ///
    /// # Cancel safety
    /// Safe: it changes nothing.
    pub async fn silent_job_runs(&self, silent: Duration) -> Result<Vec<SilentRun>, QueryError> {
        let doing = "looking for runs of jobs that are silent";
        let values = [millis_i64(silent).into(), i64::from(BATCH).into()];
        read(self, &SILENT, &values).await.map_err(while_doing(doing))
    }

    /// Writes that nobody told the end of a run, unless somebody has meanwhile, or a later run has. Says whether it did.
    ///
    /// # Cancel safety
    /// Safe: it can be repeated.
    pub async fn job_run_crashed(&self, run: &SilentRun) -> Result<bool, QueryError> {
        let written = async {
            let mut transaction = AnyTransaction::to_write(self).await?;
            let mut connection = transaction.connection();
            let job: Value<'_> = run.name.as_str().into();
            // Before the run, as whoever begins the next one does.
            connection.rows::<JobRow>(&LOCK, &[job]).await?;
            let crashed = connection.changed(&CRASHED, &[job, (run.token + 1).into()]).await? > 0;
            if crashed {
                let values = [job, Value::Number(None), RunEnd::Crashed.as_str().into()];
                connection.changed(&ENDED, &values).await?;
            }
            transaction.commit().await?;
            Ok(crashed)
        };
        written.await.map_err(while_doing("writing that a run of a job has crashed"))
    }

    /// Removes some runs that began longer ago than `kept`, but for the newest of each job. Returns whether there may be more.
    ///
    /// # Cancel safety
    /// Safe: it can be repeated.
    pub async fn remove_job_runs(&self, kept: Duration) -> Result<bool, QueryError> {
        let removed = async {
            let mut transaction = AnyTransaction::to_write(self).await?;
            let values = [millis_i64(kept).into(), i64::from(BATCH).into()];
            let removed = transaction.connection().changed(&REMOVE, &values).await?;
            transaction.commit().await?;
            Ok(removed)
        };
        let removed = removed.await.map_err(while_doing("removing old runs of jobs"))?;
        Ok(removed == u64::from(BATCH))
    }
}

#[async_trait]
impl JobStore for Database {
    async fn know_job(&self, job: &str) -> Result<(), StoreError> {
        let doing = "writing down a job";
        for statement in [&KNOWN, &KNOWN_TOKEN] {
            write(self, statement, &[job.into()]).await.map_err(failed(doing))?;
        }
        Ok(())
    }

    async fn begin_run(&self, start: &JobStart<'_>) -> Result<Started, StoreError> {
        // Whoever is refused waits for no transaction of a job.
        let mut transaction = AnyTransaction::to_write_after_all(self).await.map_err(failed(BEGINNING))?;
        let may = may_begin(&mut transaction.connection(), start).await.map_err(failed(BEGINNING))?;
        transaction.commit().await.map_err(failed(BEGINNING))?;
        if let Err(refused) = may {
            return Ok(refused);
        }
        let mut transaction = AnyTransaction::to_write_after_all(self).await.map_err(failed(BEGINNING))?;
        let begun = begin(&mut transaction.connection(), start).await.map_err(failed(BEGINNING))?;
        match begun {
            Ok(run) => {
                transaction.commit().await.map_err(failed(BEGINNING))?;
                Ok(Started::Run(run))
            }
            // Nothing is committed: the token is taken back.
            Err(refused) => Ok(refused),
        }
    }

    async fn run_goes_on(&self, run: &JobRun) -> Result<bool, StoreError> {
        let doing = "saying that a job's run goes on";
        let mut transaction = AnyTransaction::to_write(self).await.map_err(failed(doing))?;
        let changed = transaction.connection().changed(&SEEN, &[run.id.into()]).await.map_err(failed(doing))?;
        transaction.commit().await.map_err(failed(doing))?;
        Ok(changed > 0)
    }

    async fn end_run(&self, job: &str, run: &JobRun, ended: &RunEnded) -> Result<(), StoreError> {
        let doing = "writing the end of a job's run";
        let mut transaction = AnyTransaction::to_write(self).await.map_err(failed(doing))?;
        let mut connection = transaction.connection();
        // Before the run, as whoever begins the next one does.
        connection.rows::<JobRow>(&LOCK, &[job.into()]).await.map_err(failed(doing))?;
        let code = |code: Option<i32>| Value::Number(code.map(i64::from));
        let because = ended.because.as_str().into();
        let values = [run.id.into(), because, code(ended.exit_code), code(ended.signal), ended.tail.as_deref().into()];
        if connection.changed(&END, &values).await.map_err(failed(doing))? > 0 {
            let now_ms = connection.now_us().await.map_err(failed(doing))? / 1_000;
            let rests_until = Value::Number(ended.rest.map(|rest| now_ms + millis_i64(rest)));
            let values = [job.into(), rests_until, because];
            connection.changed(&ENDED, &values).await.map_err(failed(doing))?;
        }
        transaction.commit().await.map_err(failed(doing))
    }

    async fn skip_run(&self, job: &str) -> Result<(), StoreError> {
        let doing = "counting a run that was let be";
        write(self, &SKIPPED, &[job.into()]).await.map_err(failed(doing))
    }
}

/// A run that may begin. Times are in milliseconds since 1970.
struct Allowed {
    now: i64,
    /// The beginning of its period.
    period_from: Option<i64>,
    last_success: Option<i64>,
}

/// Whether a run may begin now, or why not. The job stays locked until the transaction ends.
async fn may_begin(connection: &mut AnyConnection<'_>, start: &JobStart<'_>) -> sqlx::Result<Result<Allowed, Started>> {
    let rows: Vec<JobRow> = connection.rows(&LOCK, &[start.job.into()]).await?;
    let row = rows.first().ok_or(sqlx::Error::RowNotFound)?;
    let now_ms = connection.now_us().await? / 1_000;
    let period = start.per.map(millis_i64).filter(|per| *per > 0);
    let period = period.map(|per| {
        let begins = now_ms - now_ms.rem_euclid(per);
        (begins, Duration::from_millis((begins + per - now_ms).unsigned_abs()))
    });
    Ok(row.refuses(now_ms, period).map_or_else(
        || {
            Ok(Allowed {
                now: now_ms,
                period_from: period.map(|(begins, _)| begins),
                last_success: row.last_success_ms,
            })
        },
        Err,
    ))
}

/// The token is minted before the job is locked. So only this call waits for a transaction that is fenced by the token before, and
/// nobody for this call.
async fn begin(connection: &mut AnyConnection<'_>, start: &JobStart<'_>) -> sqlx::Result<Result<JobRun, Started>> {
    let job: Value<'_> = start.job.into();
    connection.changed(&MINT, &[job]).await?;
    let token: Vec<(i64,)> = connection.rows(&TOKEN, &[job]).await?;
    let (token,) = token.first().copied().ok_or(sqlx::Error::RowNotFound)?;
    let allowed = match may_begin(connection, start).await? {
        Ok(allowed) => allowed,
        Err(refused) => return Ok(Err(refused)),
    };
    let crashed = connection.changed(&CRASHED, &[job, token.into()]).await?;
    let held_until = start.at_least.map(|least| allowed.now + millis_i64(least));
    let began = [
        job,
        Value::Number(allowed.period_from),
        Value::Number(held_until),
        Value::Number(start.due_within.map(millis_i64)),
        crashed.cast_signed().into(),
    ];
    connection.changed(&BEGIN, &began).await?;
    let [holder, host, command] = [start.holder.as_str(), start.host, start.command].map(Into::into);
    let run = [job, token.into(), holder, host, i64::from(start.pid).into(), command];
    let id = connection.inserted_id(&RUN, &run).await?;
    Ok(Ok(JobRun { id, token, last_success_ms: allowed.last_success }))
}
