//! The trial of a poller's work on PostgreSQL.

use sqlx::PgConnection;

use super::errors::{failed, fenced};
use super::mark::mark_in_trial;
use super::{PostgresStore, claimed, mint, settled};
use crate::session::Session;
use crate::sql::AnyConnection;
use crate::store::trial::{CLAIM, ENQUEUE, MARK, Probe, SETTLE, TERM, TrialError, prune, tried};
use crate::{ClaimId, ClaimRequest, Claimed, StoreError, TermId};

impl PostgresStore {
    pub(crate) async fn trial(&self) -> Result<(), TrialError> {
        let begun = Session::begin(&self.pool, "BEGIN ISOLATION LEVEL READ COMMITTED").await;
        let mut transaction = tried(ENQUEUE, begun.map_err(|error| failed("beginning", error)))?;
        let outcome = life(&mut transaction).await;
        // What cannot be rolled back was not made: the connection is closed with its transaction.
        let _ = transaction.roll_back().await;
        outcome
    }
}

async fn life(connection: &mut PgConnection) -> Result<(), TrialError> {
    let probe = Probe::new();
    for _ in 0..2 {
        let inserted = sqlx::query(query!("postgres/poller/trial")).execute(&mut *connection).await;
        tried(ENQUEUE, inserted.map_err(|error| failed("inserting a message", error)))?;
    }
    let first = probe.term(tried(TERM, mint(connection, Probe::SHARD, &probe.holders[0]).await)?, 0);
    let claimed = ClaimId::mint();
    let delivered = tried(CLAIM, claim(connection, &first, &probe.request(claimed)).await)?;
    let marks = Probe::deliveries(&first, claimed, &delivered)?;
    tried(MARK, mark_in_trial(connection, &marks).await)?;
    tried(CLAIM, claim(connection, &first, &probe.request(ClaimId::mint())).await)?;
    let second = probe.term(tried(TERM, mint(connection, Probe::SHARD, &probe.holders[1]).await)?, 1);
    tried(SETTLE, settled(&mut *connection, &second, &probe.channels).await)?;
    prune(AnyConnection::Postgres(connection), &marks).await
}

async fn claim(
    connection: &mut PgConnection,
    term: &TermId,
    request: &ClaimRequest<'_>,
) -> Result<Claimed, StoreError> {
    let rows = claimed(connection, term, request, true).await.map_err(|error| fenced(term, "claiming", error))?;
    Ok(super::claimed::ClaimedRow::split(rows, request.from, request.limit))
}
