//! Terms, minted and ended, in the dialects that have no functions of their own. MySQL's statements lock what they read; SQLite's
//! need not, since whoever writes there has locked the file.

use super::unsettled::unsettled;
use crate::destination::{DestinationState, MOST_TOLD};
use crate::lineage;
use crate::sql::{AnyConnection, AnyTransaction, Value, read, write};
use crate::statement::Statement;
use crate::store::rows::DestinationRow;
use crate::store::steps::{TermRow, failed};
use crate::store::wire::as_json;
use crate::store::{OpenedTerm, TermCounts};
use crate::{ClaimId, Database, Epoch, Holder, Lineage, Shard, StoreError, TermEnd, TermId};

const TERM_SHARED: Statement = statement!("poller/term_lock_shared");
const ENSURE: Statement = step!("poller/term_ensure");
const LOCK: Statement = step!("poller/term_lock");
const MINT: Statement = step!("poller/term_mint");
const LOG_LOST: Statement = step!("poller/term_log_lost");
const LOG: Statement = step!("poller/term_log");
const UNSUPERSEDED: Statement = step!("poller/unsuperseded");
const UNSETTLED_FROM: Statement = step!("poller/unsettled_from");
const SUPERSEDE: Statement = step!("poller/supersede");
pub(crate) const DESTINATIONS_KNOWN: Statement = statement!("poller/destination_states", "poller/destinations_known");
const DESTINATIONS_MET: Statement = statement!("poller/destination_states", "poller/destinations_met");
const UNCLOSED: Statement = step!("poller/unclosed");
const CLOSE_GATE: Statement = step!("poller/close_gate");
const RELEASE_BAR: Statement = statement!("poller/release_bar");
const RELEASE_MADE: Statement = statement!("poller/release_made");
const END: Statement = step!("poller/end_term");

/// Begins a term, as [`Store::begin_term`](crate::Store::begin_term) says.
pub(crate) async fn begin(
    database: &Database,
    shard: Shard,
    holder: &Holder,
    above: Epoch,
) -> Result<OpenedTerm, StoreError> {
    let doing = "beginning a term";
    let mut transaction = AnyTransaction::to_write_after_all(database).await.map_err(failed(doing))?;
    let lineage = match transaction.connection() {
        AnyConnection::MySql(connection) => lineage::read_mysql(connection).await.map_err(failed(doing))?.lineage(),
        AnyConnection::Postgres(_) | AnyConnection::Sqlite(_) => None,
    };
    let epoch = mint(&mut transaction.connection(), shard, holder, above, lineage.as_ref()).await?;
    let (unsettled, _) = unsettled(&mut transaction.connection(), shard).await?;
    transaction.commit().await.map_err(failed(doing))?;

    let destinations = read(database, &DESTINATIONS_KNOWN, &[MOST_TOLD.into()]).await.map_err(failed(doing))?;
    Ok(OpenedTerm { epoch: Epoch(epoch), lineage, unsettled, destinations: states(destinations) })
}

/// What the database keeps of these destinations, as [`Store::destinations`](crate::Store::destinations) says.
pub(crate) async fn destinations(database: &Database, names: &[String]) -> Result<Vec<DestinationState>, StoreError> {
    let doing = "reading what is known of destinations";
    let names = as_json(doing, names)?;
    read(database, &DESTINATIONS_MET, &[(&names).into()]).await.map(states).map_err(failed(doing))
}

pub(crate) fn states(rows: Vec<DestinationRow>) -> Vec<DestinationState> {
    rows.into_iter().map(Into::into).collect()
}

/// Ends a term, as [`Store::end_term`](crate::Store::end_term) says. In two transactions: one that locked the claims and then the
/// log could be in a deadlock with a term that begins.
pub(crate) async fn end(
    database: &Database,
    term: &TermId,
    end: TermEnd,
    counts: TermCounts,
) -> Result<(), StoreError> {
    let doing = "ending a term";
    let [shard, epoch, holder]: [Value<'_>; 3] = [term.shard.into(), term.epoch.0.into(), term.holder.as_str().into()];
    let mut transaction = AnyTransaction::to_write(database).await.map_err(failed(doing))?;
    let mut connection = transaction.connection();
    changed_by_id(&mut connection, &UNCLOSED, &[shard, epoch, holder], &CLOSE_GATE).await.map_err(failed(doing))?;
    transaction.commit().await.map_err(failed(doing))?;
    let TermCounts { claimed, delivered, failed: not_delivered, in_doubt } = counts;
    let [claimed, delivered, not_delivered, in_doubt] =
        [claimed, delivered, not_delivered, in_doubt].map(|count| count.cast_signed().into());
    let values = [shard, epoch, holder, end.as_str().into(), claimed, delivered, not_delivered, in_doubt];
    write(database, &END, &values).await.map_err(failed(doing))
}

/// Releases a claim, as [`Store::release`](crate::Store::release) says. What bars its id comes first: after that the claim is there
/// or never will be.
pub(crate) async fn release(database: &Database, shard: Shard, claim: ClaimId) -> Result<(), StoreError> {
    let (doing, claim) = ("releasing a claim", claim.0.to_string());
    write(database, &RELEASE_BAR, &[(&claim).into(), shard.into()]).await.map_err(failed(doing))?;
    write(database, &RELEASE_MADE, &[(&claim).into()]).await.map_err(failed(doing))
}

/// Mints the next epoch, then freezes the claims that earlier terms left. Claimers hold the term row shared, or write, so once
/// the row is locked, or this transaction writes, no claim of an earlier term can still appear.
pub(crate) async fn mint(
    connection: &mut AnyConnection<'_>,
    shard: Shard,
    holder: &Holder,
    above: Epoch,
    lineage: Option<&Lineage>,
) -> Result<i64, StoreError> {
    minted(connection, shard, holder, above, lineage).await.map_err(failed("beginning a term"))
}

async fn minted(
    connection: &mut AnyConnection<'_>,
    shard: Shard,
    holder: &Holder,
    above: Epoch,
    lineage: Option<&Lineage>,
) -> sqlx::Result<i64> {
    let (shard, holder) = (Value::from(shard), holder.as_str());
    let mut term: Option<TermRow> = connection.rows(&LOCK, &[shard]).await?.pop();
    if term.is_none() {
        connection.changed(&ENSURE, &[shard]).await?;
        term = connection.rows(&LOCK, &[shard]).await?.pop();
    }
    let term = term.ok_or(sqlx::Error::RowNotFound)?;
    if term.holder == holder {
        return Ok(term.epoch); // the answer to an earlier call was lost
    }

    let minted = term.epoch.max(above.0) + 1;
    let unsettled_from: Vec<(i64,)> = connection.rows(&UNSETTLED_FROM, &[shard, minted.into()]).await?;
    let (unsettled_from,) = unsettled_from.into_iter().next().ok_or(sqlx::Error::RowNotFound)?;
    connection.changed(&MINT, &[shard, minted.into(), holder.into(), unsettled_from.into()]).await?;
    connection.changed(&LOG_LOST, &[shard, term.epoch.into()]).await?;
    let served_by = lineage.map(ToString::to_string);
    connection.changed(&LOG, &[shard, minted.into(), holder.into(), served_by.as_deref().into()]).await?;

    changed_by_id(connection, &UNSUPERSEDED, &[shard, term.epoch.into()], &SUPERSEDE).await?;
    Ok(minted)
}

/// Changes the claims that a statement finds.
async fn changed_by_id(
    connection: &mut AnyConnection<'_>,
    found: &'static Statement,
    values: &[Value<'_>],
    change: &'static Statement,
) -> sqlx::Result<()> {
    let claims: Vec<(String,)> = connection.rows(found, values).await?;
    let claims: Vec<_> = claims.into_iter().map(|(claim,)| claim).collect();
    if !claims.is_empty() {
        connection.changed(change, &[(&serde_json::Value::from(claims).to_string()).into()]).await?;
    }
    Ok(())
}

/// A transaction on any of the databases that holds the row of `term` shared: no other term begins until it ends, and what an
/// ended term believes of messages and destinations moves no row.
///
/// # Errors
/// [`StoreError::Fenced`] where `term` is no longer the current one.
pub(crate) async fn hold(
    database: &Database,
    doing: &'static str,
    term: &TermId,
) -> Result<AnyTransaction, StoreError> {
    held(AnyTransaction::to_write(database).await.map_err(failed(doing))?, doing, term).await
}

/// The same in a transaction that has begun.
pub(crate) async fn held(
    mut transaction: AnyTransaction,
    doing: &'static str,
    term: &TermId,
) -> Result<AnyTransaction, StoreError> {
    let held = transaction.connection().rows::<TermRow>(&TERM_SHARED, &[term.shard.into()]).await;
    TermRow::require(held.map_err(failed(doing))?.first(), term)?;
    Ok(transaction)
}
