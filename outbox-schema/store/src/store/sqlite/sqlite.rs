//! The store in an SQLite file that the processes of one machine share. A step of the protocol that writes begins with
//! `BEGIN IMMEDIATE`. There is one writer at a time, so the lock of the whole file stands for all other locks. What the
//! transaction reads cannot change until it ends.

use async_trait::async_trait;
use outbox_schema::MessageId;
use sqlx::{SqlitePool, SqliteTransaction};

use crate::destination::DestinationState;
use crate::mark::MarkReport;
use crate::store::{OpenedTerm, Settlement, TermCounts, Wakeups, settle, term, unmarked};
use crate::{ChannelTerms, ClaimId, Database, Epoch, Holder, Mark, Shard, Store, StoreError, TermEnd, TermId};

use super::errors::failed;

/// The outbox in an SQLite file.
#[derive(Debug, Clone)]
pub struct SqliteStore {
    pub(super) pool: SqlitePool,
}

impl SqliteStore {
    /// The store behind `pool`, whose connections were made by [`crate::Database::connect`].
    pub fn new(pool: SqlitePool) -> Self {
        Self { pool }
    }

    pub(super) fn database(&self) -> Database {
        Database::Sqlite(self.pool.clone())
    }

    /// Ends with a rollback where it is dropped before its commit.
    pub(super) async fn begin(&self, doing: &'static str) -> Result<SqliteTransaction<'static>, StoreError> {
        self.pool.begin_with("BEGIN IMMEDIATE").await.map_err(|error| failed(doing, error))
    }
}

#[async_trait]
impl Store for SqliteStore {
    async fn begin_term(&self, shard: Shard, holder: &Holder, above: Epoch) -> Result<OpenedTerm, StoreError> {
        term::begin(&self.database(), shard, holder, above).await
    }

    async fn end_term(&self, term: &TermId, end: TermEnd, counts: TermCounts) -> Result<(), StoreError> {
        term::end(&self.database(), term, end, counts).await
    }

    async fn release(&self, shard: Shard, claim: ClaimId) -> Result<(), StoreError> {
        term::release(&self.database(), shard, claim).await
    }

    async fn destinations(&self, names: &[String]) -> Result<Vec<DestinationState>, StoreError> {
        term::destinations(&self.database(), names).await
    }

    async fn mark(&self, marks: &[Mark], finished: &[ClaimId]) -> Result<MarkReport, StoreError> {
        self.mark_in_steps(marks, finished).await
    }

    async fn record_unmarked(&self, marks: &[Mark], why: &str) -> Result<(), StoreError> {
        unmarked::record(&self.database(), marks, why).await
    }

    async fn settle(
        &self,
        term: &TermId,
        channels: &[ChannelTerms],
        unanswered: &[MessageId],
    ) -> Result<Settlement, StoreError> {
        settle::settle(&self.database(), term, channels, unanswered).await
    }

    /// SQLite does not tell one connection what another one has committed.
    async fn wakeups(&self) -> Result<Option<Box<dyn Wakeups>>, StoreError> {
        Ok(None)
    }
}
