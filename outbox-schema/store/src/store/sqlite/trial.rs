//! The trial of a poller's work on SQLite.

use sqlx::SqliteTransaction;

use super::SqliteStore;
use super::looks::Looks;
use super::mark::write;
use crate::sql::AnyConnection;
use crate::store::Header;
use crate::store::steps::MarkGroup;
use crate::store::trial::{ENQUEUE, LOOK, MARK, MOST, Probe, TrialError, tried};
use crate::{StoreError, WalkStart};

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
    probe.insert(&mut AnyConnection::Sqlite(tx)).await?;
    let first = probe.begin(&mut AnyConnection::Sqlite(tx), 0).await?;
    let (unordered, ordered) = tried(LOOK, looked(&mut Looks(tx), &probe).await)?;
    let rows = Probe::rows(&unordered, &ordered)?;
    let other = Looks(tx).look(probe.shard, WalkStart::default(), MOST, &[rows[0].0], &[]).await;
    let marks = probe.claim(&mut AnyConnection::Sqlite(tx), &first, &rows, tried(LOOK, other)?).await?;
    tried(MARK, write(tx, &MarkGroup::of(&marks), &[]).await)?;
    probe.end(AnyConnection::Sqlite(tx), &marks).await
}

/// Looks in each way at what is due: without an ordering key, and with.
async fn looked(looks: &mut Looks<'_>, probe: &Probe) -> Result<(Vec<Header>, Vec<Header>), StoreError> {
    let unordered = looks.look(probe.shard, WalkStart::default(), MOST, &[], &[]).await?;
    looks.newest(probe.shard, MOST).await?;
    looks.look_at_lanes(probe.shard, &Probe::lanes(&unordered), MOST).await?;
    looks.next_lanes(probe.shard, None, MOST, MOST).await?;
    let step = looks.next_keys(probe.shard, None, MOST, MOST, &probe.terms().halting()).await?;
    Ok((unordered, step.headers))
}
