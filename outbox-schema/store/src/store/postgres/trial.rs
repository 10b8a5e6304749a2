//! The trial of a poller's work on PostgreSQL.

use sqlx::postgres::PgRow;
use sqlx::{Executor, PgConnection};

use super::claim::{Claim, DueMessage, claim_rows, look_and_claim};
use super::errors::{failed, fenced};
use super::looks::{self, Look, headers, keys_step, lanes_step};
use super::mark::mark_in_trial;
use super::{PostgresStore, begun, ended, settled};
use crate::sql::AnyConnection;
use crate::store::Header;
use crate::store::TermCounts;
use crate::store::due::{CLAIMING, LOOKING, RowsToClaim};
use crate::store::trial::{CLAIM, ENQUEUE, LOOK, MARK, MOST, Probe, SETTLE, TERM, TrialError, prune, tried};
use crate::{ClaimId, Epoch, StoreError, TermEnd, TermId, WalkStart};

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
    probe.insert(&mut AnyConnection::Postgres(connection)).await?;
    let first = probe
        .term(tried(TERM, begun(connection, probe.shard, &probe.holders[0], Epoch::default(), None).await)?.epoch, 0);
    let (unordered, ordered) = tried(LOOK, looked(connection, &probe).await)?;
    let rows = Probe::rows(&unordered, &ordered)?;
    let terms = probe.terms();
    let request = RowsToClaim { claim: ClaimId::mint(), rows: &rows, terms: &terms };
    let messages = tried(CLAIM, claimed(connection, &first, claim_rows(&first, &request, true)).await)?;
    let marks = Probe::deliveries(&first, request.claim, &DueMessage::claimed(messages))?;
    let known = rows.map(|(id, _)| id);
    let other = look_and_claim(&first, &Probe::look_and_claim(&known, &terms), true);
    tried(CLAIM, claimed(connection, &first, other).await)?;
    tried(MARK, mark_in_trial(connection, &marks).await)?;
    tried(TERM, ended(connection, &first, TermEnd::Shutdown, TermCounts::default()).await)?;
    let second = probe
        .term(tried(TERM, begun(connection, probe.shard, &probe.holders[1], Epoch::default(), None).await)?.epoch, 1);
    tried(SETTLE, settled(&mut *connection, &second, &probe.channels).await)?;
    prune(AnyConnection::Postgres(connection), &marks).await
}

/// Looks in each way at what is due: without an ordering key, and with.
async fn looked(connection: &mut PgConnection, probe: &Probe) -> Result<(Vec<Header>, Vec<Header>), StoreError> {
    let shard = probe.shard;
    let unordered = headers(&rows(connection, looks::look(shard, &WalkStart::default(), MOST)).await?)?;
    headers(&rows(connection, looks::newest(shard, MOST)).await?)?;
    let lanes = Probe::lanes(&unordered);
    headers(&rows(connection, looks::look_at_lanes(shard, &lanes, MOST)).await?)?;
    lanes_step(&rows(connection, looks::next_lanes(shard, None, MOST, MOST)).await?)?;
    let halting = probe.terms().halting();
    let step = keys_step(&rows(connection, looks::next_keys(shard, None, MOST, MOST, &halting)).await?)?;
    Ok((unordered, step.headers))
}

async fn rows(connection: &mut PgConnection, look: Look) -> Result<Vec<PgRow>, StoreError> {
    look.fetch_all(connection).await.map_err(|error| failed(LOOKING, error))
}

async fn claimed(connection: &mut PgConnection, term: &TermId, claim: Claim) -> Result<Vec<DueMessage>, StoreError> {
    claim.fetch_all(connection).await.map_err(|error| fenced(term, CLAIMING, error))
}
