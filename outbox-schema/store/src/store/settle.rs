//! Settling: the rows that earlier terms left in doubt. PostgreSQL decides in a function of its own; what it returns is read here too.

use std::collections::HashSet;

use outbox_schema::MessageId;

use super::unsettled::unsettled;
use crate::sql::{AnyConnection, AnyTransaction, Value};
use crate::statement::Statement;
use crate::store::outcomes::tell_settled;
use crate::store::rows::DecidedRow;
use crate::store::steps::{CRASHED, Decision, DoubtRow, ENDED, failed};
use crate::store::term::held;
use crate::store::wire::{ChannelRow, as_json, ids_as_json};
use crate::store::{Decided, Settlement, dead};
use crate::{ChannelTerms, Database, Shard, StoreError, TermId};

const OVER: Statement = step!("poller/settle_over");
const CLAIMS_LOCK: Statement = step!("poller/claims_lock");
const DOUBT: Statement = step!("poller/settle_doubt");
const SETTLE: Statement = step!("poller/settle");
const OPEN: Statement = step!("poller/settle_open");
const RECORD: Statement = step!("poller/settle_record");
const COUNT: Statement = step!("poller/settle_count");
const CLAIMS_DELETE: Statement = step!("poller/claims_delete");

const SETTLED: Statement = statement!("poller/settled");

const DOING: &str = "settling claims";

/// Settles what can be settled, as [`Store::settle`](crate::Store::settle) says.
pub(crate) async fn settle(
    database: &Database,
    term: &TermId,
    channels: &[ChannelTerms],
    unanswered: &[MessageId],
) -> Result<Settlement, StoreError> {
    let begun = AnyTransaction::to_write_after_all(database).await.map_err(failed(DOING))?;
    let mut transaction = held(begun, DOING, term).await?;
    let mut connection = transaction.connection();
    let decided = decide(&mut connection, term.shard, channels).await?;
    let settlement = settlement(&mut connection, term.shard, decided, unanswered).await?;
    transaction.commit().await.map_err(failed(DOING))?;
    Ok(settlement)
}

/// What was `decided` in this transaction, and what it left. Of the rows that an earlier call may have decided, `unanswered`, those
/// that it did decide are found by what it recorded.
pub(crate) async fn settlement(
    connection: &mut AnyConnection<'_>,
    shard: Shard,
    mut decided: Vec<Decided>,
    unanswered: &[MessageId],
) -> Result<Settlement, StoreError> {
    let (unsettled, next) = unsettled(connection, shard).await?;
    let known: HashSet<MessageId> = decided.iter().map(|row| row.id).chain(unsettled.iter().copied()).collect();
    let others: Vec<MessageId> = unanswered.iter().copied().filter(|id| !known.contains(id)).collect();
    if !others.is_empty() {
        let others = ids_as_json(&others);
        let values = [(&others).into(), CRASHED.into(), ENDED.into()];
        let earlier: Vec<DecidedRow> = connection.rows(&SETTLED, &values).await.map_err(failed(DOING))?;
        decided.extend(earlier.into_iter().map(Decided::from));
    }
    Ok(Settlement { decided, unsettled, next })
}

/// Decides the rows of the claims whose settling time is over, and ends those claims and those of which nothing is left.
pub(crate) async fn decide(
    connection: &mut AnyConnection<'_>,
    shard: Shard,
    channels: &[ChannelTerms],
) -> Result<Vec<Decided>, StoreError> {
    let policies = as_json(DOING, &ChannelRow::all(channels))?;
    let over: Vec<(String,)> = connection.rows(&OVER, &[shard.into()]).await.map_err(failed(DOING))?;
    if over.is_empty() {
        return Ok(Vec::new());
    }
    let mut over: Vec<_> = over.into_iter().map(|(claim,)| claim).collect();
    let asked = as_json(DOING, &over)?;
    connection.rows::<(String,)>(&CLAIMS_LOCK, &[(&asked).into()]).await.map_err(failed(DOING))?;
    let doubt: Vec<DoubtRow> =
        connection.rows(&DOUBT, &[Value::from(&asked), (&policies).into()]).await.map_err(failed(DOING))?;
    let decisions = settled(connection, doubt.into_iter().map(Into::into).collect()).await?;
    let open: Vec<(String,)> = connection.rows(&OPEN, &[(&asked).into()]).await.map_err(failed(DOING))?;
    over.retain(|claim| open.iter().all(|(open,)| open != claim));
    let (written, over) = (as_json(DOING, &decisions)?, as_json(DOING, &over)?);
    for (statement, argument) in [(&RECORD, &written), (&COUNT, &written), (&CLAIMS_DELETE, &over)] {
        connection.changed(statement, &[argument.into()]).await.map_err(failed(DOING))?;
    }
    let decided: Vec<Decided> = decisions.into_iter().map(Into::into).collect();
    tell_settled(connection, &dead(&decided), channels).await?;
    Ok(decided)
}

/// Writes decisions: all at once, or each by itself where the database refuses one of them, as by a trigger that the application
/// added. Gives those that are written. A refused statement changes nothing, and the transaction goes on.
async fn settled(connection: &mut AnyConnection<'_>, decisions: Vec<Decision>) -> Result<Vec<Decision>, StoreError> {
    let (mut groups, mut written) = (vec![decisions], Vec::new());
    while let Some(group) = groups.pop() {
        let argument = as_json(DOING, &group)?;
        match connection.changed(&SETTLE, &[(&argument).into()]).await.map_err(failed(DOING)) {
            Ok(_) => written.extend(group),
            Err(StoreError::Refused { .. }) if group.len() > 1 => groups.extend(group.into_iter().map(|one| vec![one])),
            Err(error @ StoreError::Refused { .. }) => {
                let message_id = group.first().map(|decision| decision.message_id);
                tracing::warn!(message_id, %error, "settle.refused");
            }
            Err(error) => return Err(error),
        }
    }
    Ok(written)
}
