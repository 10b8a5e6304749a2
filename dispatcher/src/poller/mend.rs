//! After a failover: the poller that lives writes again what it knows and the database has lost, before anybody claims there.

use std::sync::Arc;
use std::time::Duration;

use outbox_store::store::failover::{FailoverEntry, LostMessage, restore, tell};
use outbox_store::{Database, Lineages, Mark, Shard, StoreError};
use tokio::time::Instant;
use uuid::Uuid;

use crate::backoff::Backoff;
use crate::metrics::Metrics;
use crate::poller::journal::{Journal, ToMend};

/// How long the first claims after a failover wait for what is written again.
pub(crate) const LIMIT: Duration = Duration::from_secs(5);

/// How long it is tried altogether. After `LIMIT` a later term may have sent the rows.
const GIVEN_UP: Duration = Duration::from_secs(30);

/// How many rows one transaction asks for, and one group of marks has.
const GROUP: usize = 1_024;

/// Writes again what a failover lost of this process's work.
#[derive(Debug)]
pub struct Mender {
    /// What tells of failovers.
    pub lineages: Arc<Lineages>,
    /// The connections of the listener: those of the loop wait for what is written here.
    pub database: Database,
    /// What this process claimed and marked lately.
    pub journal: Arc<Journal>,
    /// Where what is lost is counted.
    pub metrics: Arc<Metrics>,
    /// The id of this process.
    pub instance: String,
    /// `lease.ttl`.
    pub lease_ttl: Duration,
}

impl Mender {
    /// Mends after each failover, and lists the messages that one lost, also those whose answer comes later.
    pub async fn follow(self) {
        self.lineages.mends();
        let mut same = self.lineages.watch();
        loop {
            let marked_again = tokio::select! {
                () = same.changed() => self.mend().await,
                () = self.journal.lost() => 0,
            };
            self.tell(marked_again).await;
        }
    }

    /// Writes claims and marks again. Returns how many marks.
    async fn mend(&self) -> usize {
        let (began, changes) = (Instant::now(), self.lineages.changes());
        let mut backoff = Backoff::new();
        let mut marked = 0;
        while began.elapsed() < GIVEN_UP {
            match tokio::time::timeout(LIMIT, self.mend_once(&mut marked)).await {
                Ok(Ok(())) => break,
                Ok(Err(error)) => tracing::warn!(%error, "failover.not_mended"),
                Err(_) => tracing::warn!(limit = ?LIMIT, "failover.not_mended"),
            }
            if began.elapsed() >= LIMIT {
                self.lineages.mended(changes);
            }
            tokio::time::sleep(backoff.next()).await;
        }
        self.lineages.mended(changes);
        marked
    }

    /// The same, once. A row that was marked more than once in the last seconds is written step by step.
    async fn mend_once(&self, marked: &mut usize) -> Result<(), StoreError> {
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
                return Ok(());
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

    /// Writes an entry of the audit for what was found, and lists the messages that went out and are gone.
    async fn tell(&self, marked_again: usize) {
        let lost = self.journal.take_lost();
        if lost.is_empty() && marked_again == 0 {
            return;
        }
        let (change, _) = self.lineages.last_change().unwrap_or_default();
        let change = format!("the database failed over {change}");
        tracing::warn!(change, marked_again, lost = lost.len(), "failover.mended");
        self.metrics.lost_in_failover(lost.len() as u64);
        let entry = FailoverEntry {
            entry: Uuid::new_v4().to_string(),
            change: &change,
            who: &self.instance,
            marked_again,
            lost: lost.len(),
        };
        self.write(&entry, lost).await;
    }

    async fn write(&self, entry: &FailoverEntry<'_>, lost: Vec<LostMessage>) {
        let mut backoff = Backoff::new();
        while let Err(error) = tell(&self.database, entry, &lost).await {
            tracing::warn!(%error, messages = lost.len(), "failover.not_listed");
            tokio::time::sleep(backoff.next()).await;
        }
    }
}
