//! The trial of a poller's work on MySQL and MariaDB.

use super::claim::ClaimParameters;
use super::errors::failed;
use super::mark::write;
use super::{MySqlStore, Step};
use crate::sql::AnyConnection;
use crate::store::settle::decide;
use crate::store::steps::MarkGroup;
use crate::store::term::mint;
use crate::store::trial::{CLAIM, ENQUEUE, MARK, Probe, SETTLE, TERM, TrialError, prune, tried};
use crate::{ClaimId, ClaimRequest, Claimed, Epoch, StoreError, TermId};

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
    for target in Probe::TARGETS {
        let inserted =
            sqlx::query(query!("mysql/poller/trial")).bind(target).bind(probe.shard.0).execute(&mut **step).await;
        tried(ENQUEUE, inserted.map_err(|error| failed("inserting a message", error)))?;
    }
    let first = probe.term(Epoch(tried(TERM, begin(step, &probe, 0).await)?), 0);
    let claimed = ClaimId::mint();
    let delivered = tried(CLAIM, claim(step, &first, &probe.request(claimed)).await)?;
    let marks = Probe::deliveries(&first, claimed, &delivered)?;
    tried(MARK, write(step, &MarkGroup::of(&marks), Vec::new()).await)?;
    tried(CLAIM, claim(step, &first, &probe.request(ClaimId::mint())).await)?;
    tried(TERM, begin(step, &probe, 1).await)?;
    tried(SETTLE, decide(&mut AnyConnection::MySql(step), probe.shard, &probe.channels).await)?;
    prune(AnyConnection::MySql(step), &marks).await
}

async fn begin(step: &mut Step, probe: &Probe, holder: usize) -> Result<i64, StoreError> {
    mint(&mut AnyConnection::MySql(step), probe.shard, &probe.holders[holder]).await
}

async fn claim(step: &mut Step, term: &TermId, request: &ClaimRequest<'_>) -> Result<Claimed, StoreError> {
    ClaimParameters::of(term, request)?.claim(step).await
}
