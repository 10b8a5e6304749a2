//! The trial of a poller's work on MySQL and MariaDB.

use super::looks::Looks;
use super::mark::write;
use super::{MySqlStore, Step};
use crate::sql::AnyConnection;
use crate::store::Header;
use crate::store::steps::MarkGroup;
use crate::store::trial::{ENQUEUE, LOOK, MARK, MOST, Probe, TrialError, tried};
use crate::{StoreError, WalkStart};

impl MySqlStore {
    pub(crate) async fn trial(&self) -> Result<(), TrialError> {
        let mut step = tried(ENQUEUE, self.begin("beginning").await)?;
        let outcome = life(&mut step).await;
        // What cannot be rolled back was not made: the connection is closed with its transaction.
        let _ = step.roll_back().await;
        outcome
    }
}

async fn life(step: &mut Step) -> Result<(), TrialError> {
    let probe = Probe::new();
    probe.insert(&mut AnyConnection::MySql(step)).await?;
    let first = probe.begin(&mut AnyConnection::MySql(step), 0).await?;
    let (unordered, ordered) = tried(LOOK, looked(&mut Looks(step), &probe).await)?;
    let rows = Probe::rows(&unordered, &ordered)?;
    let other = Looks(step).look(probe.shard, WalkStart::default(), MOST, &[rows[0].0], &[]).await;
    let marks = probe.claim(&mut AnyConnection::MySql(step), &first, &rows, tried(LOOK, other)?).await?;
    tried(MARK, write(step, &MarkGroup::of(&marks), Vec::new()).await)?;
    probe.end(AnyConnection::MySql(step), &marks).await
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
