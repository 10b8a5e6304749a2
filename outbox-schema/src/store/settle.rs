//! Settling: the rows that earlier terms left in doubt, in the dialects that have no functions of their own.

use std::time::Duration;

use crate::sql::{AnyConnection, Statement, Value, read};
use crate::store::outcomes::tell_settled;
use crate::store::rows::UnsettledRow;
use crate::store::steps::{Decision, DoubtRow, failed};
use crate::store::term::hold;
use crate::store::wire::{ChannelRow, as_json};
use crate::store::{Decided, Settlement, dead};
use crate::{ChannelTerms, Database, MessageId, Shard, StoreError, TermId};

const OVER: Statement = step!("poller/settle_over");
const CLAIMS_LOCK: Statement = step!("poller/claims_lock");
const DOUBT: Statement = step!("poller/settle_doubt");
const SETTLE: Statement = step!("poller/settle");
const RECORD: Statement = step!("poller/settle_record");
const CLAIMS_DELETE: Statement = step!("poller/claims_delete");
const UNSETTLED: Statement = step!("poller/unsettled");

const DOING: &str = "settling claims";

/// Settles what can be settled, as [`Store::settle`](crate::Store::settle) says.
pub(crate) async fn settle(
    database: &Database,
    term: &TermId,
    channels: &[ChannelTerms],
) -> Result<Settlement, StoreError> {
    let mut transaction = hold(database, DOING, term).await?;
    let decided = decide(&mut transaction.connection(), term.shard, channels).await?;
    transaction.commit().await.map_err(failed(DOING))?;
    let (unsettled, next) = unsettled(database, term.shard).await?;
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
    let (decisions, refused) = settled(connection, doubt.into_iter().map(Into::into).collect()).await?;
    over.retain(|claim| refused.iter().all(|decision| decision.claim != *claim));
    for (statement, argument) in [(&RECORD, as_json(DOING, &decisions)?), (&CLAIMS_DELETE, as_json(DOING, &over)?)] {
        connection.changed(statement, &[(&argument).into()]).await.map_err(failed(DOING))?;
    }
    let decided: Vec<Decided> = decisions.into_iter().map(Into::into).collect();
    tell_settled(connection, &dead(&decided), channels).await?;
    Ok(decided)
}

/// Writes decisions: all at once, or each by itself where the database refuses one of them, as by a trigger that the application
/// added. Gives those that are written and those that are refused. A refused statement changes nothing, and the transaction goes on.
async fn settled(
    connection: &mut AnyConnection<'_>,
    decisions: Vec<Decision>,
) -> Result<(Vec<Decision>, Vec<Decision>), StoreError> {
    let (mut groups, mut written, mut refused) = (vec![decisions], Vec::new(), Vec::new());
    while let Some(group) = groups.pop() {
        let argument = as_json(DOING, &group)?;
        match connection.changed(&SETTLE, &[(&argument).into()]).await.map_err(failed(DOING)) {
            Ok(_) => written.extend(group),
            Err(StoreError::Refused { .. }) if group.len() > 1 => groups.extend(group.into_iter().map(|one| vec![one])),
            Err(error @ StoreError::Refused { .. }) => {
                let message_id = group.first().map(|decision| decision.message_id);
                tracing::warn!(message_id, %error, "settle.refused");
                refused.extend(group);
            }
            Err(error) => return Err(error),
        }
    }
    Ok((written, refused))
}

/// Rows of claims that wait for their settling time, and when the first of these is over.
pub(crate) async fn unsettled(
    database: &Database,
    shard: Shard,
) -> Result<(Vec<MessageId>, Option<Duration>), StoreError> {
    let rows: Vec<UnsettledRow> =
        read(database, &UNSETTLED, &[shard.into()]).await.map_err(failed("reading unsettled claims"))?;
    Ok(UnsettledRow::split(&rows))
}
