//! After a failover: the poller that lives writes again what it knows and the database has lost, before anybody claims there.

use std::sync::Arc;
use std::time::Duration;

use outbox_store::store::failover::{FailoverEntry, awaited, restore, tell};
use outbox_store::{Database, Lineages, Mark, Shard, StoreError};
use tokio::sync::watch;
use tokio::time::Instant;
use uuid::Uuid;

use crate::backoff::Backoff;
use crate::fault_point::{self, Point};
use crate::metrics::Metrics;
use crate::poller::journal::{Journal, ToMend};
use crate::term::Term;

/// How long the first claims after a failover wait for what is written again.
pub(crate) const LIMIT: Duration = Duration::from_secs(5);

/// How long it is tried altogether. After `LIMIT` a later term may have sent the rows.
const GIVEN_UP: Duration = Duration::from_secs(30);

/// How long a replica waits at most before it looks again whether others have written.
const AGAIN: Duration = Duration::from_millis(200);

/// How many rows one transaction asks for, and one group of marks has.
const GROUP: usize = 1_024;

/// Writes again what a failover lost of this process's work.
#[derive(Debug)]
pub struct Mender {
    /// The lineages that this process knows, which tell of failovers.
    pub lineages: Arc<Lineages>,
    /// The connections of the listener: those of the loop wait for what is written here.
    pub database: Database,
    /// What this process claimed and marked lately.
    pub journal: Arc<Journal>,
    /// The terms that this process leads, one after the other.
    pub terms: watch::Receiver<Option<Arc<Term>>>,
    /// Where what is lost is counted.
    pub metrics: Arc<Metrics>,
    /// The id of this process.
    pub instance: String,
    /// `lease.ttl`.
    pub lease_ttl: Duration,
}

/// Nobody waits for what is not written any more.
impl Drop for Mender {
    fn drop(&mut self) {
        self.lineages.mends_no_more();
    }
}

impl Mender {
    /// Mends after each failover, and lists the messages that one lost, also those whose answer comes later.
    pub async fn follow(self) {
        self.lineages.mends();
        let mut same = self.lineages.watch();
        let mut late = Uuid::new_v4();
        loop {
            tokio::select! {
                () = same.changed() => self.mend().await,
                () = self.journal.lost() => match tokio::time::timeout(LIMIT, self.tell(late, 0)).await {
                    Ok(Ok(())) => late = Uuid::new_v4(),
                    failed => {
                        let error = match failed {
                            Ok(Err(error)) => error.to_string(),
                            Ok(Ok(())) | Err(_) => format!("nothing came within {LIMIT:?}"),
                        };
                        tracing::warn!(error, "failover.not_listed");
                        // The database may be about to fail over again: that is not waited with.
                        if tokio::time::timeout(LIMIT, same.changed()).await.is_ok() {
                            self.mend().await;
                        }
                    }
                },
            }
        }
    }

    /// Writes claims and marks again, and tells of it. Whoever claims waits for that, and for other replicas that polled lately.
    async fn mend(&self) {
        let (began, changes, entry) = (Instant::now(), self.lineages.changes(), Uuid::new_v4());
        let mut backoff = Backoff::new();
        let (mut marked, mut is_written) = (0, false);
        while began.elapsed() < GIVEN_UP {
            let mending = async {
                if !is_written {
                    let others = self.others().await?;
                    let behind = self.mend_once(&mut marked).await?;
                    // A row waits for the mark of another replica, which tells once that is written.
                    if behind && !others.is_empty() && began.elapsed() < LIMIT {
                        return Ok(others);
                    }
                    // Others wait for each that has polled, also where it claimed nothing.
                    if self.terms.borrow().is_some() {
                        self.tell(entry, marked).await?;
                    }
                    is_written = true;
                }
                self.others().await
            };
            match tokio::time::timeout(LIMIT, mending).await {
                Ok(Ok(others)) if others.is_empty() => break,
                Ok(Ok(_)) => {}
                Ok(Err(error)) => tracing::warn!(%error, "failover.not_mended"),
                Err(_) => tracing::warn!(limit = ?LIMIT, "failover.not_mended"),
            }
            if began.elapsed() >= LIMIT {
                self.lineages.mended(changes);
                if is_written {
                    break;
                }
            }
            tokio::time::sleep(backoff.next().min(AGAIN)).await;
        }
        self.lineages.mended(changes);
    }

    /// The replicas that have still to write again what they know.
    async fn others(&self) -> Result<Vec<String>, StoreError> {
        awaited(&self.database, Shard::default(), &self.instance, &self.change()).await
    }

    /// The same, once. A row that was marked more than once in the last seconds is written step by step. Says whether one still waits
    /// for a mark of another replica.
    async fn mend_once(&self, marked: &mut usize) -> Result<bool, StoreError> {
        fault_point::reach(Point::Mend).await;
        loop {
            let before = *marked;
            let mut behind = false;
            let mut claims = self.journal.past(self.lease_ttl);
            while !claims.is_empty() {
                let mut rows = 0;
                let fit = claims.iter().take_while(|claim| {
                    rows += claim.rows.len();
                    rows <= GROUP
                });
                let some: Vec<_> = claims.drain(..fit.count().max(1)).collect();
                let found = restore(&self.database, Shard::default(), &some).await?;
                let to_mend = self.journal.found(&some, &found);
                behind |= to_mend.behind;
                *marked += self.mark(&to_mend).await?;
            }
            if !behind || *marked == before {
                return Ok(behind);
            }
        }
    }

    /// Writes marks again. Returns how many of them the database had lost.
    async fn mark(&self, ToMend { marks, finished, .. }: &ToMend) -> Result<usize, StoreError> {
        if marks.is_empty() {
            return Ok(0);
        }
        let report = match self.database.store().mark(marks, finished).await {
            Ok(report) => report,
            Err(error @ StoreError::Refused { .. }) => return self.mark_each(marks, &error).await,
            Err(error) => return Err(error),
        };
        Ok(marks.len() - report.fenced.len() - report.held.len())
    }

    /// The same, one by one, where the database refuses one of them. That one stays in doubt.
    async fn mark_each(&self, marks: &[Mark], error: &StoreError) -> Result<usize, StoreError> {
        tracing::warn!(%error, "failover.mark_refused");
        let mut marked = 0;
        for mark in marks {
            match self.database.store().mark(std::slice::from_ref(mark), &[]).await {
                Ok(report) if report.fenced.is_empty() && report.held.is_empty() => marked += 1,
                Ok(_) | Err(StoreError::Refused { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(marked)
    }

    /// Writes an entry of the audit for what was found, and lists the messages that went out and are gone. Repeated under the same
    /// id it is written once.
    async fn tell(&self, id: Uuid, marked_again: usize) -> Result<(), StoreError> {
        let (lost, change) = (self.journal.lost_messages(), self.change());
        let entry = FailoverEntry { entry: id, change: &change, who: &self.instance, marked_again, lost: lost.len() };
        tell(&self.database, &entry, &lost).await?;
        self.journal.listed(lost.len());
        self.metrics.lost_in_failover(lost.len() as u64);
        tracing::warn!(change, marked_again, lost = lost.len(), "failover.mended");
        Ok(())
    }

    fn change(&self) -> String {
        let (change, _) = self.lineages.last_change().unwrap_or_default();
        format!("the database failed over {change}")
    }
}
