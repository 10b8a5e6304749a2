//! Enqueuing on SQLite.

use sqlx::SqliteConnection;

use super::sealed::Insert;
use super::{OutboxConnection, StoredRow};
use crate::enqueue::row::{Row, keys_as_json, rows_as_json};

impl OutboxConnection for SqliteConnection {}

impl Insert for SqliteConnection {
    async fn insert(&mut self, rows: &[Row<'_>]) -> sqlx::Result<Vec<StoredRow>> {
        let statement = query!("sqlite/enqueue/enqueue");
        sqlx::query_as(statement).bind(rows_as_json(rows)?).fetch_all(self).await
    }

    async fn find(&mut self, rows: &[&Row<'_>]) -> sqlx::Result<Vec<StoredRow>> {
        let statement = query!("sqlite/enqueue/enqueued");
        sqlx::query_as(statement).bind(keys_as_json(rows)).fetch_all(self).await
    }
}
