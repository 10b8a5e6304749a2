//! Enqueuing on PostgreSQL.

use sqlx::PgConnection;

use super::sealed::Insert;
use super::{OutboxConnection, StoredRow};
use crate::enqueue::row::{Row, keys_as_json};

impl OutboxConnection for PgConnection {}

impl Insert for PgConnection {
    async fn insert(&mut self, rows: &[Row<'_>]) -> sqlx::Result<Vec<StoredRow>> {
        // A column without values is left empty, and unnest fills it up.
        sqlx::query_as(query!("postgres/enqueue/enqueue"))
            .bind(column(rows, |row| Some(row.key.as_ref())))
            .bind(column(rows, |row| Some(row.channel)))
            .bind(column(rows, |row| Some(row.target)))
            .bind(column(rows, |row| Some(row.payload.as_ref())))
            .bind(column(rows, |row| row.headers.as_deref()))
            .bind(column(rows, |row| row.ordering_key))
            .bind(column(rows, |row| Some(i16::from(row.priority))))
            .bind(column(rows, |row| row.max_attempts.map(u32::cast_signed)))
            .bind(column(rows, |row| row.due_in_ms.map(u64::cast_signed)))
            .bind(column(rows, |row| row.due_at_ms))
            .bind(column(rows, |row| row.expires_in_ms.map(u64::cast_signed)))
            .bind(column(rows, |row| row.expires_at_ms))
            .bind(column(rows, |row| row.traceparent.as_deref()))
            .bind(column(rows, |row| row.tracestate.as_deref()))
            .bind(column(rows, |row| row.tenant))
            .bind(column(rows, |row| row.tags.as_deref()))
            .fetch_all(self)
            .await
    }

    async fn find(&mut self, rows: &[&Row<'_>]) -> sqlx::Result<Vec<StoredRow>> {
        let statement = query!("postgres/enqueue/enqueued");
        sqlx::query_as(statement).bind(keys_as_json(rows)).fetch_all(self).await
    }
}

/// One column of `rows`. It is empty where no row has a value.
fn column<'a, T>(rows: &'a [Row<'_>], of: impl Fn(&'a Row<'_>) -> Option<T>) -> Vec<Option<T>> {
    let column: Vec<_> = rows.iter().map(of).collect();
    if column.iter().all(Option::is_none) { Vec::new() } else { column }
}
