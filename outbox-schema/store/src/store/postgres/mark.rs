//! Marks: each statement writes a group, as far as it accepts it, or nothing.

use outbox_schema::MessageId;
use sqlx::{Executor, PgConnection, PgExecutor};
use uuid::Uuid;

use super::PostgresStore;
use super::errors::failed;
use crate::mark::MarkReport;
use crate::sql::AnyConnection;
use crate::store::outcomes::tell_marked;
use crate::store::wire::{MarkRow, as_json};
use crate::{ClaimId, Mark, StoreError};

const DOING: &str = "marking messages";

impl PostgresStore {
    /// Most groups are plain deliveries, for which a leaner statement does. Where it does not take all of them, the statement
    /// for all marks tells which are fenced or held, and which were marked already. Each is a transaction of its own in one round
    /// trip, but where outcomes are told: those are written in one transaction with the marks.
    pub(super) async fn mark_group(&self, marks: &[Mark], finished: &[ClaimId]) -> Result<MarkReport, StoreError> {
        let rows = MarkRow::all(marks);
        let finished: Vec<Uuid> = finished.iter().map(|claim| claim.0).collect();
        let claims = claims_of(&rows);
        let tells = rows.iter().any(|row| row.told.is_some());
        let mut session = self.session(tells).await.map_err(|error| failed(DOING, error))?;
        let plain = rows.iter().all(MarkRow::is_plain);
        let report = if plain && deliver(&mut *session, &rows, &claims, &finished).await? {
            MarkReport::default()
        } else {
            mark(&mut *session, &rows, &claims, &finished).await?
        };
        if tells {
            // What was refused is not at the revision to which its mark would have raised it, or was told before.
            tell_marked(&mut AnyConnection::Postgres(&mut session), &rows).await?;
            session.execute("COMMIT").await.map_err(|error| failed(DOING, error))?;
        }
        session.finish();
        Ok(report)
    }
}

/// Writes a group by both statements, in the transaction of a trial.
pub(super) async fn mark_in_trial(connection: &mut PgConnection, marks: &[Mark]) -> Result<(), StoreError> {
    let rows = MarkRow::all(marks);
    let claims = claims_of(&rows);
    deliver(&mut *connection, &rows, &claims, &[]).await?;
    mark(connection, &rows, &claims, &[]).await.map(drop)
}

/// The claims of a group.
fn claims_of(rows: &[MarkRow<'_>]) -> Vec<Uuid> {
    let mut claims: Vec<_> = rows.iter().map(|row| row.claim).collect();
    claims.sort_unstable();
    claims.dedup();
    claims
}

/// Marks plain deliveries. False where some were not accepted: then no claim has been removed, and the others are
/// marked.
async fn deliver(
    database: impl PgExecutor<'_>,
    rows: &[MarkRow<'_>],
    claims: &[Uuid],
    finished: &[Uuid],
) -> Result<bool, StoreError> {
    sqlx::query_scalar(query!("postgres/poller/mark_delivered"))
        .bind(claims)
        .bind(finished)
        .bind(rows.iter().map(|row| row.claim).collect::<Vec<_>>())
        .bind(rows.iter().map(|row| row.id).collect::<Vec<_>>())
        .bind(rows.iter().map(|row| row.revision).collect::<Vec<_>>())
        .bind(rows.iter().map(|row| row.started_ms.cast_signed()).collect::<Vec<_>>())
        .bind(rows.iter().map(|row| row.status_code.map(i32::from)).collect::<Vec<_>>())
        .bind(rows.iter().map(|row| row.receipt.as_deref()).collect::<Vec<_>>())
        .fetch_one(database)
        .await
        .map_err(|error| failed(DOING, error))
}

async fn mark(
    database: impl PgExecutor<'_>,
    rows: &[MarkRow<'_>],
    claims: &[Uuid],
    finished: &[Uuid],
) -> Result<MarkReport, StoreError> {
    let refused: Vec<(i64, bool)> = sqlx::query_as(query!("postgres/poller/mark"))
        .bind(as_json(DOING, rows)?)
        .bind(claims)
        .bind(finished)
        .fetch_all(database)
        .await
        .map_err(|error| failed(DOING, error))?;
    let (held, fenced): (Vec<_>, Vec<_>) = refused.into_iter().partition(|(_, is_held)| *is_held);
    let [fenced, held] = [fenced, held].map(|rows| rows.into_iter().map(|(id, _)| MessageId(id)).collect());
    Ok(MarkReport { fenced, held })
}
