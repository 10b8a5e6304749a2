//! Marks: a group is written as a whole or not at all.

use sqlx::PgExecutor;
use uuid::Uuid;

use super::{PostgresStore, refused};
use crate::mark::MarkReport;
use crate::wire::{MarkRow, as_json};
use crate::{ClaimId, Mark, MessageId, StoreError};

const DOING: &str = "marking messages";

impl PostgresStore {
    /// Most marks are plain deliveries, for which a leaner statement does. Those that it does not take are fenced, or
    /// were marked already: the statement for all marks tells which.
    pub(super) async fn mark_group(&self, marks: &[Mark], finished: &[ClaimId]) -> Result<MarkReport, StoreError> {
        let rows = MarkRow::all(marks);
        let finished: Vec<Uuid> = finished.iter().map(|claim| claim.0).collect();
        let claims = claims_of(&rows);
        let (delivered, others): (Vec<_>, Vec<_>) = rows.iter().partition(|row| row.is_delivery());
        if delivered.is_empty() {
            return mark(&self.pool, &others, &claims, &finished).await;
        }
        if others.is_empty() {
            if deliver(&self.pool, &delivered, &claims, &finished).await? {
                return Ok(MarkReport::default());
            }
            return mark(&self.pool, &delivered, &claims, &finished).await;
        }
        let mut tx = self.pool.begin().await.map_err(|error| refused(DOING, error))?;
        let all_taken = deliver(&mut *tx, &delivered, &claims, &[]).await?;
        let left = if all_taken { others } else { rows.iter().collect() };
        let report = mark(&mut *tx, &left, &claims, &finished).await?;
        tx.commit().await.map_err(|error| refused(DOING, error))?;
        Ok(report)
    }
}

/// The claims that a group is about.
fn claims_of(rows: &[MarkRow<'_>]) -> Vec<Uuid> {
    let mut claims: Vec<_> = rows.iter().map(|row| row.claim).collect();
    claims.sort_unstable();
    claims.dedup();
    claims
}

/// False where some were not taken; then no claim has been removed.
async fn deliver(
    connection: impl PgExecutor<'_>,
    rows: &[&MarkRow<'_>],
    claims: &[Uuid],
    finished: &[Uuid],
) -> Result<bool, StoreError> {
    sqlx::query_scalar(include_str!("../../queries/postgres/mark_delivered.sql"))
        .bind(claims)
        .bind(finished)
        .bind(rows.iter().map(|row| row.claim).collect::<Vec<_>>())
        .bind(rows.iter().map(|row| row.id).collect::<Vec<_>>())
        .bind(rows.iter().map(|row| row.revision).collect::<Vec<_>>())
        .bind(rows.iter().map(|row| row.started_ms.cast_signed()).collect::<Vec<_>>())
        .bind(rows.iter().map(|row| row.status_code.map(i32::from)).collect::<Vec<_>>())
        .bind(rows.iter().map(|row| row.receipt.as_deref()).collect::<Vec<_>>())
        .fetch_one(connection)
        .await
        .map_err(|error| refused(DOING, error))
}

async fn mark(
    connection: impl PgExecutor<'_>,
    rows: &[&MarkRow<'_>],
    claims: &[Uuid],
    finished: &[Uuid],
) -> Result<MarkReport, StoreError> {
    let fenced: Vec<i64> = sqlx::query_scalar(include_str!("../../queries/postgres/mark.sql"))
        .bind(as_json(DOING, rows)?)
        .bind(claims)
        .bind(finished)
        .fetch_all(connection)
        .await
        .map_err(|error| refused(DOING, error))?;
    Ok(MarkReport { fenced: fenced.into_iter().map(MessageId).collect() })
}
