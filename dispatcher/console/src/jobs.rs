//! Keeps the runs of jobs while a replica polls: writes `crashed` for a run that is gone, and removes old runs.

use std::sync::Arc;
use std::time::Duration;

use outbox_adapters::Lease;
use outbox_config::Config;
use outbox_dispatcher::reloadable::Reloadable;
use outbox_dispatcher::term::Term;
use outbox_store::jobs::SilentRun;
use outbox_store::{Database, Seat};
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::in_time::in_time;

/// How often runs are looked at.
const EACH: Duration = Duration::from_secs(10);

/// How long a run without a seat says nothing before it counts as crashed. One that goes on says so three times as often.
const SILENT: Duration = Duration::from_secs(30);

/// How long the database, or the lease store, has for one step.
const LIMIT: Duration = Duration::from_secs(5);

/// How often old runs are looked for.
const TIDY_EACH: Duration = Duration::from_mins(10);

/// Keeps the runs of jobs while this process leads.
pub struct JobsKeeper {
    /// The outbox database.
    pub database: Database,
    /// Who has the seat of a job.
    pub lease: Arc<dyn Lease>,
    /// The terms that this process leads, one after the other.
    pub terms: watch::Receiver<Option<Arc<Term>>>,
    /// The settings, for how long runs are kept.
    pub config: Reloadable<Config>,
}

impl JobsKeeper {
    /// Keeps runs until `ended`. Messages go out even where that fails.
    pub async fn keep(self, ended: CancellationToken) {
        let keeping = async {
            let (mut tidies_at, mut trouble) = (Instant::now(), false);
            loop {
                tokio::time::sleep(EACH).await;
                if !self.terms.borrow().as_ref().is_some_and(|term| term.is_on()) {
                    continue;
                }
                let tidies = tidies_at <= Instant::now();
                let Err(why) = self.turn(tidies).await else {
                    trouble = false;
                    if tidies {
                        tidies_at = Instant::now() + TIDY_EACH;
                    }
                    continue;
                };
                if !std::mem::replace(&mut trouble, true) {
                    tracing::warn!(
                        why,
                        "jobs.not_kept: runs of jobs that crashed may be shown as running. Messages go out all the same"
                    );
                }
            }
        };
        ended.run_until_cancelled(keeping).await;
    }

    async fn turn(&self, tidies: bool) -> Result<(), String> {
        let kept = self.config.current().retention.jobs;
        if let Some(kept) = kept.filter(|_| tidies) {
            while in_time(LIMIT, self.database.remove_job_runs(kept)).await? {}
        }
        let mut failed = Ok(());
        for run in in_time(LIMIT, self.database.silent_job_runs(SILENT)).await? {
            match self.look_at(&run).await {
                Ok(false) => {}
                Ok(true) => {
                    tracing::warn!(job = run.name, token = run.token, "job.crashed: nobody told the end of this run");
                }
                // One of them keeps no other waiting.
                Err(why) => failed = Err(why),
            }
        }
        failed
    }

    /// Takes a silent run for crashed, unless somebody has its seat: that one goes on, however long the database has not heard of it.
    async fn look_at(&self, run: &SilentRun) -> Result<bool, String> {
        let held = in_time(LIMIT, self.lease.current(&Seat::Job(run.name.as_str().into()))).await?;
        if held.is_some() { Ok(false) } else { in_time(LIMIT, self.database.job_run_crashed(run)).await }
    }
}
