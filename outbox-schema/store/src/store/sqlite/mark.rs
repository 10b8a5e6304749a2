//! Marks: a group is written as a whole or not at all.

use outbox_schema::MessageId;
use serde::Serialize;
use sqlx::SqliteTransaction;
use uuid::Uuid;

use super::SqliteStore;
use super::errors::failed;
use crate::mark::MarkReport;
use crate::sql::AnyConnection;
use crate::store::outcomes::tell_marked;
use crate::store::steps::{MarkGroup, attempts_to_record};
use crate::store::wire::{DeliveryRow, MarkRow, as_json};
use crate::{ClaimId, Mark, StoreError};

const DOING: &str = "marking messages";

impl SqliteStore {
    pub(super) async fn mark_in_steps(&self, marks: &[Mark], finished: &[ClaimId]) -> Result<MarkReport, StoreError> {
        let group = MarkGroup::of(marks);
        let finished: Vec<_> = finished.iter().map(|claim| claim.0).collect();
        let mut tx = self.begin(DOING).await?;
        let fenced = write(&mut tx, &group, &finished).await?;
        tx.commit().await.map_err(|error| failed(DOING, error))?;
        Ok(MarkReport { fenced: fenced.into_iter().map(MessageId).collect(), held: Vec::new() })
    }
}

/// Writes a group. Returns the fenced rows.
pub(super) async fn write(
    tx: &mut SqliteTransaction<'static>,
    group: &MarkGroup<'_>,
    finished: &[Uuid],
) -> Result<Vec<i64>, StoreError> {
    let standing: Vec<String> = sqlx::query_scalar(query!("sqlite/poller/claims_lock"))
        .bind(as_json(DOING, &group.claims(finished))?)
        .fetch_all(&mut **tx)
        .await
        .map_err(|error| failed(DOING, error))?;
    let standing = standing.iter().filter_map(|id| Uuid::parse_str(id).ok()).collect();
    let (delivered, others): (Vec<_>, Vec<_>) = group.under(&standing).into_iter().partition(|row| row.is_delivery());
    let delivered = DeliveryRow::all(&delivered);
    let mut accepted = take(tx, query!("sqlite/poller/mark_delivered"), &delivered).await?;
    accepted.extend(take(tx, query!("sqlite/poller/mark"), &others).await?);
    let (accepted, refused) = group.split(&accepted);
    let fenced = which_are_fenced(tx, &refused).await?;

    let attempts = attempts_to_record(&accepted, &refused, &fenced);
    execute(tx, query!("sqlite/poller/mark_record"), &attempts).await?;
    tell_marked(&mut AnyConnection::Sqlite(tx), accepted.iter().copied()).await?;
    let gone: Vec<&MarkRow<'_>> = accepted.into_iter().filter(|row| row.invalid_target).collect();
    execute(tx, query!("sqlite/poller/mark_invalid_target"), &gone).await?;
    execute(tx, query!("sqlite/poller/mark_pause"), &group.pauses()).await?;
    execute(tx, query!("sqlite/poller/claims_delete"), finished).await?;
    Ok(fenced)
}

/// Marks the rows that may still be marked. Returns their ids.
async fn take<T: Serialize>(
    tx: &mut SqliteTransaction<'static>,
    statement: &'static str,
    rows: &[T],
) -> Result<Vec<i64>, StoreError> {
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    sqlx::query_scalar(statement)
        .bind(as_json(DOING, rows)?)
        .fetch_all(&mut **tx)
        .await
        .map_err(|error| failed(DOING, error))
}

/// The refused marks that are not merely repeated.
async fn which_are_fenced(
    tx: &mut SqliteTransaction<'static>,
    refused: &[&MarkRow<'_>],
) -> Result<Vec<i64>, StoreError> {
    if refused.is_empty() {
        return Ok(Vec::new());
    }
    sqlx::query_scalar(query!("sqlite/poller/mark_fenced"))
        .bind(as_json(DOING, refused)?)
        .fetch_all(&mut **tx)
        .await
        .map_err(|error| failed(DOING, error))
}

/// Runs a statement for its rows. Without rows there is no round trip.
async fn execute<T: Serialize>(
    tx: &mut SqliteTransaction<'static>,
    statement: &'static str,
    rows: &[T],
) -> Result<(), StoreError> {
    if rows.is_empty() {
        return Ok(());
    }
    let done = sqlx::query(statement).bind(as_json(DOING, rows)?).execute(&mut **tx).await;
    done.map(drop).map_err(|error| failed(DOING, error))
}
