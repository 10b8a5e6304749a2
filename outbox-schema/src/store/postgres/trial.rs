//! The trial of a poller's work on PostgreSQL.

use sqlx::{Executor, PgConnection};

use super::claim::asked;
use super::errors::{failed, fenced};
use super::mark::mark_in_trial;
use super::{PostgresStore, begun, ended, settled};
use crate::sql::AnyConnection;
use crate::store::TermCounts;
use crate::store::fitting::Fitting;
use crate::store::trial::{CLAIM, ENQUEUE, MARK, Probe, SETTLE, TERM, TrialError, prune, tried};
use crate::{ClaimId, ClaimRequest, Claimed, StoreError, Strangers, TermEnd, TermId};

const BEGINNING: &str = "beginning";

impl PostgresStore {
    /// Makes the trial on the connection of the loop, where it also spares the first term: the server has then planned what the loop
    /// will ask.
    pub(crate) async fn trial(&self) -> Result<(), TrialError> {
        let connection = self.of_the_loop.take().await.map_err(|error| failed(BEGINNING, error));
        let mut connection = tried(ENQUEUE, connection)?;
        let begun = connection.execute("BEGIN ISOLATION LEVEL READ COMMITTED").await;
        tried(ENQUEUE, begun.map_err(|error| failed(BEGINNING, error)))?;
        let outcome = life(&mut connection).await;
        // What cannot be rolled back was not made: the connection is closed with its transaction.
        if connection.execute("ROLLBACK").await.is_ok() {
            self.of_the_loop.keep(connection);
        }
        outcome
    }
}

async fn life(connection: &mut PgConnection) -> Result<(), TrialError> {
    let probe = Probe::new();
    for target in Probe::TARGETS {
        let inserted = sqlx::query(query!("postgres/poller/trial"))
            .bind(target)
            .bind(probe.shard.0)
            .execute(&mut *connection)
            .await;
        tried(ENQUEUE, inserted.map_err(|error| failed("inserting a message", error)))?;
    }
    let first = probe.term(tried(TERM, begun(connection, probe.shard, &probe.holders[0]).await)?.epoch, 0);
    let claimed = ClaimId::mint();
    let delivered = tried(CLAIM, claim(connection, &first, &probe.request(claimed)).await)?;
    let marks = Probe::deliveries(&first, claimed, &delivered)?;
    tried(MARK, mark_in_trial(connection, &marks).await)?;
    // Another message, of a stranger: the claim asks, and is made again.
    let ask = Strangers { rows: 0, bytes: 0, ask: true };
    let request = ClaimRequest { strangers: ask, ..probe.request(ClaimId::mint()) };
    let met = tried(CLAIM, claim(connection, &first, &request).await)?;
    let request = ClaimRequest { found: Some(&met.found), ..probe.request(request.claim) };
    tried(CLAIM, claim(connection, &first, &request).await)?;
    tried(TERM, ended(connection, &first, TermEnd::Shutdown, TermCounts::default()).await)?;
    let second = probe.term(tried(TERM, begun(connection, probe.shard, &probe.holders[1]).await)?.epoch, 1);
    tried(SETTLE, settled(&mut *connection, &second, &probe.channels).await)?;
    prune(AnyConnection::Postgres(connection), &marks).await
}

async fn claim(
    connection: &mut PgConnection,
    term: &TermId,
    request: &ClaimRequest<'_>,
) -> Result<Claimed, StoreError> {
    let chosen = request.found.map(|found| Fitting::of(found.0.clone(), request, request.from));
    let rows = asked(connection, term, request, chosen.as_ref(), true).await;
    let rows = rows.map_err(|error| fenced(term, "claiming", error))?;
    Ok(super::claimed::ClaimedRow::split(rows, request))
}
