//! The trial of a poller's work on SQLite.

use sqlx::SqliteTransaction;

use super::SqliteStore;
use super::claim::{ClaimParameters, Cursors};
use super::errors::failed;
use super::mark::write;
use crate::sql::AnyConnection;
use crate::store::settle::decide;
use crate::store::steps::MarkGroup;
use crate::store::term::mint;
use crate::store::trial::{CLAIM, ENQUEUE, MARK, Probe, SETTLE, TERM, TrialError, prune, tried};
use crate::{ClaimId, ClaimRequest, Claimed, Epoch, StoreError, TermId};

impl SqliteStore {
    pub(crate) async fn trial(&self) -> Result<(), TrialError> {
        let mut tx = tried(ENQUEUE, self.begin("beginning").await)?;
        let outcome = life(&mut tx).await;
        // Where the rollback fails, nothing was made all the same: the transaction ends with its connection.
        let _ = tx.rollback().await;
        outcome
    }
}

async fn life(tx: &mut SqliteTransaction<'static>) -> Result<(), TrialError> {
    let probe = Probe::new();
    for target in Probe::TARGETS {
        let inserted =
            sqlx::query(query!("sqlite/poller/trial")).bind(target).bind(probe.shard.0).execute(&mut **tx).await;
        tried(ENQUEUE, inserted.map_err(|error| failed("inserting a message", error)))?;
    }
    let first = probe.term(Epoch(tried(TERM, begin(tx, &probe, 0).await)?), 0);
    let claimed = ClaimId::mint();
    let delivered = tried(CLAIM, claim(tx, &first, &probe.request(claimed)).await)?;
    let marks = Probe::deliveries(&first, claimed, &delivered)?;
    tried(MARK, write(tx, &MarkGroup::of(&marks), &[]).await)?;
    tried(CLAIM, claim(tx, &first, &probe.request(ClaimId::mint())).await)?;
    tried(TERM, begin(tx, &probe, 1).await)?;
    tried(SETTLE, decide(&mut AnyConnection::Sqlite(tx), probe.shard, &probe.channels).await)?;
    prune(AnyConnection::Sqlite(tx), &marks).await
}

async fn begin(tx: &mut SqliteTransaction<'static>, probe: &Probe, holder: usize) -> Result<i64, StoreError> {
    mint(&mut AnyConnection::Sqlite(tx), probe.shard, &probe.holders[holder]).await
}

async fn claim(
    tx: &mut SqliteTransaction<'static>,
    term: &TermId,
    request: &ClaimRequest<'_>,
) -> Result<Claimed, StoreError> {
    ClaimParameters::of(term, request, &Cursors::default())?.claim(tx).await
}
