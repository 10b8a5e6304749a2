//! The store on what MySQL 8.4 and MariaDB 10.6 share. A step of the protocol is a transaction at READ COMMITTED (see
//! `mysql/poller/session`). It locks first and reads in later statements, each of which sees what was committed before it began.
//! A group travels as one JSON text in one statement: neither server has arrays, and the two share no RETURNING.

use async_trait::async_trait;
use outbox_schema::MessageId;
use sqlx::{MySql, MySqlPool};

use crate::destination::DestinationState;
use crate::mark::MarkReport;
use crate::session::Session;
use crate::silence::distrust;
use crate::store::wire::as_json;
use crate::store::{OpenedTerm, Settlement, TermCounts, Wakeups, settle, term, unmarked};
use crate::{ChannelTerms, ClaimId, Database, Epoch, Holder, Mark, Shard, Store, StoreError, TermEnd, TermId};

use super::errors::failed;

/// One step of the protocol on one connection.
pub(crate) type Step = Session<MySql>;

/// The outbox in a MySQL or MariaDB database.
#[derive(Debug, Clone)]
pub struct MySqlStore {
    pub(super) pool: MySqlPool,
}

impl MySqlStore {
    /// The store behind `pool`, whose connections were made by [`crate::Database::connect`].
    pub fn new(pool: MySqlPool) -> Self {
        Self { pool }
    }

    pub(super) fn database(&self) -> Database {
        Database::MySql(self.pool.clone())
    }

    pub(super) async fn begin(&self, doing: &'static str) -> Result<Step, StoreError> {
        Step::begin(&self.pool, query!("mysql/poller/begin")).await.map_err(|error| failed(doing, error))
    }

    /// Gives rows with a priority that no look is for, some at each term, the nearest one that there is.
    async fn mend_priorities(&self, shard: Shard) -> Result<(), StoreError> {
        const DOING: &str = "mending priorities";
        let mut step = self.begin(DOING).await?;
        let odd: sqlx::Result<Vec<i64>> =
            sqlx::query_scalar(query!("mysql/poller/odd_priorities")).bind(shard.0).fetch_all(&mut *step).await;
        let odd = odd.map_err(|error| failed(DOING, error))?;
        if !odd.is_empty() {
            let mend = sqlx::query(query!("mysql/poller/odd_priorities_mend")).bind(as_json(DOING, &odd)?);
            mend.execute(&mut *step).await.map_err(|error| failed(DOING, error))?;
        }
        step.commit().await.map_err(|error| failed(DOING, error))
    }
}

#[async_trait]
impl Store for MySqlStore {
    async fn begin_term(&self, shard: Shard, holder: &Holder, above: Epoch) -> Result<OpenedTerm, StoreError> {
        let opened = term::begin(&self.database(), shard, holder, above).await?;
        // A row that cannot be mended keeps no term from beginning.
        if let Err(error) = self.mend_priorities(shard).await {
            tracing::warn!(%error, "priorities.unmended: rows with a priority that there is not wait for the next term");
        }
        Ok(opened)
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

    /// Neither server tells one connection what another one has committed.
    async fn wakeups(&self) -> Result<Option<Box<dyn Wakeups>>, StoreError> {
        Ok(None)
    }

    fn distrust(&self) {
        distrust(&self.pool);
    }
}
