//! The store on PostgreSQL 13 and later. Each step of the protocol is a PL/pgSQL function (see the migrations), in one
//! round trip. Every statement in it reads what was committed before that statement began, after the locks are held.

use async_trait::async_trait;
use outbox_schema::MessageId;
use sqlx::{PgConnection, PgExecutor, PgPool, Postgres};
use tokio::sync::watch;

use super::errors::{failed, fenced};
use super::loop_connection::LoopConnection;
use crate::destination::{DestinationState, MOST_TOLD};
use crate::lineage;
use crate::mark::MarkReport;
use crate::session::Session;
use crate::silence::distrust;
use crate::sql::AnyConnection;
use crate::store::rows::DecidedRow;
use crate::store::term::{DESTINATIONS_KNOWN, destinations, release, states};
use crate::store::{Decided, OpenedTerm, Settlement, TermCounts, Wakeups, dead, outcomes, settle, unmarked, unsettled};
use crate::{
    ChannelTerms, ClaimId, Database, Epoch, Holder, InDoubtPolicy, Lineage, Mark, Shard, Store, StoreError, TermEnd,
    TermId,
};

/// The outbox in a PostgreSQL database.
#[derive(Debug, Clone)]
pub struct PostgresStore {
    pool: PgPool,
    /// The connection for the loop's calls, one at a time: terms and claims.
    pub(super) of_the_loop: LoopConnection,
    /// The connection for looks, one at a time.
    pub(super) of_the_looks: LoopConnection,
    /// Raised where a call got no answer.
    silences: watch::Sender<()>,
}

impl PostgresStore {
    /// The store behind `pool`, whose connections were made by [`crate::Database::connect`].
    pub fn new(pool: PgPool) -> Self {
        let silences = watch::Sender::default();
        let kept = || LoopConnection::new(pool.clone(), silences.clone());
        let of_the_loop = kept().with_session(query!("postgres/poller/waits"));
        Self { of_the_loop, of_the_looks: kept().with_session(query!("postgres/due/session")), pool, silences }
    }

    /// A connection for one piece of work: in a transaction where the work is more than one statement.
    pub(super) async fn session(&self, in_transaction: bool) -> sqlx::Result<Session<Postgres>> {
        if in_transaction {
            return Session::begin(&self.pool, "BEGIN ISOLATION LEVEL READ COMMITTED").await;
        }
        Session::open(&self.pool).await
    }
}

const BEGINNING: &str = "beginning a term";
const ENDING: &str = "ending a term";
const SETTLING: &str = "settling claims";

/// Mints the next epoch, and reads what a term must know. The function also freezes the claims that earlier terms left.
pub(crate) async fn begun(
    connection: &mut PgConnection,
    shard: Shard,
    holder: &Holder,
    above: Epoch,
    lineage: Option<Lineage>,
) -> Result<OpenedTerm, StoreError> {
    let epoch: i64 = sqlx::query_scalar(query!("postgres/poller/begin_term"))
        .bind(shard.0)
        .bind(holder.as_str())
        .bind(above.0)
        .bind(lineage.as_ref().map(ToString::to_string).unwrap_or_default())
        .fetch_one(&mut *connection)
        .await
        .map_err(|error| failed(BEGINNING, error))?;
    let destinations = AnyConnection::Postgres(&mut *connection).rows(&DESTINATIONS_KNOWN, &[MOST_TOLD.into()]).await;
    let destinations = states(destinations.map_err(|error| failed(BEGINNING, error))?);
    let (unsettled, _) = unsettled::unsettled(&mut AnyConnection::Postgres(connection), shard).await?;
    Ok(OpenedTerm { epoch: Epoch(epoch), lineage, unsettled, destinations })
}

/// Records that the gate of a term is closed, and how the term ended.
pub(crate) async fn ended(
    connection: &mut PgConnection,
    term: &TermId,
    end: TermEnd,
    counts: TermCounts,
) -> Result<(), StoreError> {
    sqlx::query(query!("postgres/poller/close_gate"))
        .bind(term.shard.0)
        .bind(term.epoch.0)
        .bind(term.holder.as_str())
        .execute(&mut *connection)
        .await
        .map_err(|error| failed(ENDING, error))?;
    sqlx::query(query!("postgres/poller/end_term"))
        .bind(term.shard.0)
        .bind(term.epoch.0)
        .bind(term.holder.as_str())
        .bind(end.as_str())
        .bind(counts.claimed.cast_signed())
        .bind(counts.delivered.cast_signed())
        .bind(counts.failed.cast_signed())
        .bind(counts.in_doubt.cast_signed())
        .execute(connection)
        .await
        .map(drop)
        .map_err(|error| failed(ENDING, error))
}

/// Decides the rows of claims whose settling time is over.
pub(crate) async fn settled(
    database: impl PgExecutor<'_>,
    term: &TermId,
    channels: &[ChannelTerms],
) -> Result<Vec<DecidedRow>, StoreError> {
    sqlx::query_as(query!("postgres/poller/settle"))
        .bind(term.shard.0)
        .bind(term.epoch.0)
        .bind(term.holder.as_str())
        .bind(names(channels))
        .bind(channels.iter().map(|channel| channel.in_doubt == InDoubtPolicy::Resend).collect::<Vec<_>>())
        .bind(channels.iter().map(|channel| channel.max_attempts.cast_signed()).collect::<Vec<_>>())
        .fetch_all(database)
        .await
        .map_err(|error| fenced(term, SETTLING, error))
}

#[async_trait]
impl Store for PostgresStore {
    async fn begin_term(&self, shard: Shard, holder: &Holder, above: Epoch) -> Result<OpenedTerm, StoreError> {
        let mut connection = self.of_the_loop.take().await.map_err(|error| failed(BEGINNING, error))?;
        let server = lineage::read_postgres(&mut connection).await.map_err(|error| failed(BEGINNING, error))?;
        let term = begun(&mut connection, shard, holder, above, server.lineage()).await?;
        self.of_the_loop.keep(connection);
        Ok(term)
    }

    async fn end_term(&self, term: &TermId, end: TermEnd, counts: TermCounts) -> Result<(), StoreError> {
        let mut connection = self.of_the_loop.take().await.map_err(|error| failed(ENDING, error))?;
        ended(&mut connection, term, end, counts).await?;
        self.of_the_loop.keep(connection);
        Ok(())
    }

    async fn release(&self, shard: Shard, claim: ClaimId) -> Result<(), StoreError> {
        release(&Database::Postgres(self.pool.clone()), shard, claim).await
    }

    async fn destinations(&self, names: &[String]) -> Result<Vec<DestinationState>, StoreError> {
        destinations(&Database::Postgres(self.pool.clone()), names).await
    }

    async fn mark(&self, marks: &[Mark], finished: &[ClaimId]) -> Result<MarkReport, StoreError> {
        self.mark_group(marks, finished).await
    }

    async fn record_unmarked(&self, marks: &[Mark], why: &str) -> Result<(), StoreError> {
        unmarked::record(&Database::Postgres(self.pool.clone()), marks, why).await
    }

    async fn settle(
        &self,
        term: &TermId,
        channels: &[ChannelTerms],
        unanswered: &[MessageId],
    ) -> Result<Settlement, StoreError> {
        let mut session = self.session(true).await.map_err(|error| failed(SETTLING, error))?;
        let decided = settled(&mut *session, term, channels).await?;
        let decided: Vec<Decided> = decided.into_iter().map(Into::into).collect();
        let mut connection = AnyConnection::Postgres(&mut session);
        outcomes::tell_settled(&mut connection, &dead(&decided), channels).await?;
        let settlement = settle::settlement(&mut connection, term.shard, decided, unanswered).await?;
        session.commit().await.map_err(|error| failed(SETTLING, error))?;
        Ok(settlement)
    }

    async fn wakeups(&self) -> Result<Option<Box<dyn Wakeups>>, StoreError> {
        let listening = super::wakeup::PostgresWakeups::listen(&self.pool, self.silences.subscribe());
        Ok(Some(Box::new(super::wakeup::in_time(listening).await?)))
    }

    fn distrust(&self) {
        distrust(&self.pool);
        self.silences.send_replace(());
        self.of_the_loop.distrust();
        self.of_the_looks.distrust();
    }
}

pub(crate) fn names(channels: &[ChannelTerms]) -> Vec<String> {
    channels.iter().map(|channel| channel.name.clone()).collect()
}
