//! Claims by ids, in the dialects that have no functions of their own. MySQL's statements lock what they read; SQLite's need not,
//! since whoever writes there has locked the file.

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use outbox_schema::MessageId;
use sqlx::types::Json;

use super::header::Header;
use crate::sql::{AnyConnection, AnyTransaction};
use crate::statement::{IN_A_FUNCTION, Statement};
use crate::store::due::{CLAIMING, DEFERRING, LookAndClaim, LookedAndClaimed, RowsToClaim};
use crate::store::headers::in_order;
use crate::store::lossy::Lossy;
use crate::store::rows::{ReadRow, by_channel};
use crate::store::steps::{Batch, ClaimTermRow, TermRow, failed};
use crate::store::term::hold;
use crate::store::wire::{ChannelRow, as_json, ids_as_json, millis_i64};
use crate::{ChannelTerms, ClaimId, Database, Message, Shard, StoreError, TermId};

const TERM: Statement = step!("due/term");
const LOCK: Statement = step!("poller/claim_lock");
const MADE: Statement = step!("poller/claim_made");
const UNDISTURBED: Statement = step!("poller/claim_undisturbed");
const LOCK_FREE: Statement = step!("poller/lock_free");
const FITTING: Statement = step!("due/claim_rows");
const INSERT: Statement = step!("poller/claim_insert");
const CLAIMED: Statement = step!("poller/claimed");
const BODY: Statement = step!("poller/claimed_body");
const SHOWN: Statement = Statement {
    postgres: IN_A_FUNCTION,
    mysql: query!("mysql/due/shown", "mysql/due/by_ids"),
    sqlite: query!("sqlite/due/shown", "sqlite/due/by_ids"),
};
const UNKNOWN: Statement = step!("due/unknown");
const BEHIND: Statement = step!("poller/defer_behind");
const DEFER: Statement = step!("poller/defer");

/// Claims rows, as [`DueRows::claim_rows`](crate::DueRows::claim_rows) says.
pub(crate) async fn claim_rows(
    database: &Database,
    term: &TermId,
    request: &RowsToClaim<'_>,
) -> Result<Vec<Message>, StoreError> {
    let mut transaction = AnyTransaction::to_write(database).await.map_err(failed(CLAIMING))?;
    let messages = claim(&mut transaction.connection(), term, request).await?;
    transaction.commit().await.map_err(failed(CLAIMING))?;
    Ok(messages)
}

/// Claims what a look found, where that is little. Where an earlier try made the claim, nothing was looked for: None.
pub(crate) async fn claim_found(
    database: &Database,
    term: &TermId,
    request: &LookAndClaim<'_>,
    found: Option<Vec<Header>>,
) -> Result<LookedAndClaimed, StoreError> {
    match found {
        Some(headers) if !(1..=request.up_to as usize).contains(&headers.len()) => {
            Ok(LookedAndClaimed { headers, messages: Vec::new() })
        }
        found => {
            let mut transaction = AnyTransaction::to_write(database).await.map_err(failed(CLAIMING))?;
            let claimed = claim_all(&mut transaction.connection(), term, request, found).await?;
            transaction.commit().await.map_err(failed(CLAIMING))?;
            Ok(claimed)
        }
    }
}

/// Claims all that a look found, in a transaction. None: what an earlier try of the claim took, which is shown again.
pub(crate) async fn claim_all(
    connection: &mut AnyConnection<'_>,
    term: &TermId,
    request: &LookAndClaim<'_>,
    found: Option<Vec<Header>>,
) -> Result<LookedAndClaimed, StoreError> {
    let rows: Vec<_> = found.iter().flatten().map(|header| (header.id, header.revision)).collect();
    let rows = RowsToClaim { claim: request.claim, rows: &rows, terms: request.terms };
    let messages = claim(connection, term, &rows).await?;
    if let Some(headers) = found {
        return Ok(LookedAndClaimed { headers, messages });
    }
    let ids = ids_as_json(&messages.iter().map(Message::id).collect::<Vec<_>>());
    let headers = in_order(connection.rows(&SHOWN, &[(&ids).into()]).await.map_err(failed(CLAIMING))?);
    Ok(LookedAndClaimed { headers, messages })
}

/// Requires that the term is still this one. Says whether this claim was made by an earlier try.
pub(crate) async fn is_made(
    connection: &mut AnyConnection<'_>,
    term: &TermId,
    claim: ClaimId,
) -> Result<bool, StoreError> {
    proven(connection, &TERM, term, claim).await
}

async fn proven(
    connection: &mut AnyConnection<'_>,
    statement: &'static Statement,
    term: &TermId,
    claim: ClaimId,
) -> Result<bool, StoreError> {
    let claim = claim.0.to_string();
    let found: sqlx::Result<Vec<ClaimTermRow>> =
        connection.rows(statement, &[(&claim).into(), term.shard.into()]).await;
    let found = found.map_err(failed(CLAIMING))?.pop();
    TermRow::require(found.as_ref().map(|row| &row.term), term)?;
    Ok(found.is_some_and(|row| row.made))
}

/// Claims rows in a transaction, or reads again what an earlier try of the claim took: the answer to that was lost.
pub(crate) async fn claim(
    connection: &mut AnyConnection<'_>,
    term: &TermId,
    request: &RowsToClaim<'_>,
) -> Result<Vec<Message>, StoreError> {
    let channels = as_json(CLAIMING, &ChannelRow::all(request.terms.channels))?;
    if proven(connection, &LOCK, term, request.claim).await? {
        let rows = made(connection, request.claim).await?;
        return read_rows(connection, &rows, &channels).await;
    }
    let rows = fitting(connection, term.shard, request.each_once(), &channels).await?;
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    let messages = read_rows(connection, &rows, &channels).await?;
    insert(connection, term, request.claim, &Batch::of(CLAIMING, &rows, &messages, request.terms)?).await?;
    Ok(messages)
}

/// Ids, and the revision of each.
type Made = (Json<Vec<i64>>, Json<Vec<i32>>);

/// What a claim was made of.
async fn made(connection: &mut AnyConnection<'_>, claim: ClaimId) -> Result<Vec<(i64, i32)>, StoreError> {
    let claim = claim.0.to_string();
    let made = connection.rows(&MADE, &[(&claim).into()]).await;
    let made: Vec<Made> = made.map_err(failed(CLAIMING))?;
    Ok(made.into_iter().flat_map(|(ids, revisions)| ids.0.into_iter().zip(revisions.0)).collect())
}

/// Those of the rows that a claim may take, in their order. New cancellations wait until it has committed. Where one is open
/// already, the claim locks its rows so that nobody cancels them meanwhile, and leaves those alone that others have locked.
async fn fitting(
    connection: &mut AnyConnection<'_>,
    shard: Shard,
    mut rows: Vec<(i64, i32)>,
    channels: &str,
) -> Result<Vec<(i64, i32)>, StoreError> {
    let undisturbed = connection.rows::<()>(&UNDISTURBED, &[shard.into()]).await.map_err(failed(CLAIMING))?;
    if undisturbed.is_empty() {
        let ids: Vec<_> = rows.iter().map(|(id, _)| *id).collect();
        let free = lock_free(connection, CLAIMING, &ids).await?;
        rows.retain(|(id, _)| free.contains(id));
    }
    let rows = as_json(CLAIMING, &rows)?;
    let fitting = connection.rows(&FITTING, &[(&rows).into(), channels.into(), shard.into()]).await;
    let mut fitting: Vec<(i64, i64, i32)> = fitting.map_err(failed(CLAIMING))?;
    fitting.sort_unstable();
    Ok(fitting.into_iter().map(|(_place, id, revision)| (id, revision)).collect())
}

/// Locks those of these rows that no other transaction has locked.
async fn lock_free(
    connection: &mut AnyConnection<'_>,
    doing: &'static str,
    ids: &[i64],
) -> Result<HashSet<i64>, StoreError> {
    let ids = as_json(doing, ids)?;
    let free: Vec<(i64,)> = connection.rows(&LOCK_FREE, &[(&ids).into()]).await.map_err(failed(doing))?;
    Ok(free.into_iter().map(|(id,)| id).collect())
}

async fn insert(
    connection: &mut AnyConnection<'_>,
    term: &TermId,
    claim: ClaimId,
    batch: &Batch,
) -> Result<(), StoreError> {
    let claim = claim.0.to_string();
    let values = [
        (&claim).into(),
        term.shard.into(),
        term.epoch.0.into(),
        term.holder.as_str().into(),
        (&batch.message_ids).into(),
        (&batch.revisions).into(),
        batch.settling_ms.into(),
        batch.settling_closed_ms.into(),
        (&batch.at_most_once).into(),
    ];
    connection.changed(&INSERT, &values).await.map(drop).map_err(|error| match error.as_database_error() {
        // An earlier try of the same claim has committed meanwhile. The next try finds it.
        Some(database) if database.is_unique_violation() => {
            StoreError::Unavailable { doing: CLAIMING, source: error.into() }
        }
        Some(_) | None => failed(CLAIMING)(error),
    })
}

/// A payload, and headers.
type Body = (Lossy<String>, Lossy<Option<String>>);

/// The rows of a claim that may still be sent under it, in their order. Where the database cannot give what they say all
/// together, each is read by itself.
async fn read_rows(
    connection: &mut AnyConnection<'_>,
    rows: &[(i64, i32)],
    channels: &str,
) -> Result<Vec<Message>, StoreError> {
    let rows = as_json(CLAIMING, rows)?;
    let mut read = claimed(connection, &rows, channels, true).await;
    if matches!(read, Err(StoreError::Refused { .. })) {
        read = claimed(connection, &rows, channels, false).await;
        for message in read.iter_mut().flatten().filter(|message| !message.too_large) {
            let values = [message.id.into(), i64::from(message.revision).into()];
            let body = connection.rows(&BODY, &values).await;
            let body = body.and_then(|mut bodies| bodies.pop().ok_or(sqlx::Error::RowNotFound));
            let body = body.map(|(payload, headers): Body| (payload.into(), headers.into()));
            message.read_apart(body.map_err(failed(CLAIMING)))?;
        }
    }
    read
}

async fn claimed(
    connection: &mut AnyConnection<'_>,
    rows: &str,
    channels: &str,
    bodies: bool,
) -> Result<Vec<Message>, StoreError> {
    let values = [rows.into(), channels.into(), i64::from(bodies).into()];
    connection.rows(&CLAIMED, &values).await.map(ReadRow::in_order).map_err(failed(CLAIMING))
}

/// Defers rows of unknown channels, as [`DueRows::defer_unknown`](crate::DueRows::defer_unknown) says: those that were met, and
/// those that wait close behind the first due ones.
pub(crate) async fn defer_unknown(
    database: &Database,
    term: &TermId,
    met: &[MessageId],
    channels: &[ChannelTerms],
    delay: Duration,
) -> Result<BTreeMap<String, u64>, StoreError> {
    let channels = as_json(DEFERRING, &ChannelRow::all(channels))?;
    let mut transaction = hold(database, DEFERRING, term).await?;
    let mut connection = transaction.connection();
    let met: Vec<_> = met.iter().map(|id| id.0).collect();
    let met = as_json(DEFERRING, &lock_free(&mut connection, DEFERRING, &met).await?)?;
    let unknown = connection.rows(&UNKNOWN, &[(&met).into(), (&channels).into(), term.shard.into()]).await;
    let mut unknown: Vec<(i64, Lossy<String>)> = unknown.map_err(failed(DEFERRING))?;
    let behind = connection.rows(&BEHIND, &[term.shard.into(), (&channels).into()]).await;
    let behind: Vec<(i64, Lossy<String>)> = behind.map_err(failed(DEFERRING))?;
    let ids: Vec<_> = behind.iter().map(|(id, _)| *id).collect();
    let free = lock_free(&mut connection, DEFERRING, &ids).await?;
    unknown.extend(behind.into_iter().filter(|(id, _)| free.contains(id)));
    let unknown: BTreeMap<i64, String> = unknown.into_iter().map(|(id, channel)| (id, channel.into())).collect();
    let ids = as_json(DEFERRING, &unknown.keys().collect::<Vec<_>>())?;
    let deferred = connection.changed(&DEFER, &[(&ids).into(), millis_i64(delay).into()]).await;
    deferred.map_err(failed(DEFERRING))?;
    transaction.commit().await.map_err(failed(DEFERRING))?;
    Ok(by_channel(unknown.into_values()))
}
