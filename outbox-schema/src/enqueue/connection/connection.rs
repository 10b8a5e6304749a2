//! What enqueuing needs of a connection, for each of the databases.

/// A connection of the application, as a rule within its transaction: `&mut *tx`. It is a `sqlx::PgConnection`, a
/// `sqlx::MySqlConnection` or a `sqlx::SqliteConnection`, each with the feature of its database.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no connection that messages can be enqueued on",
    note = "of a transaction, or of a connection out of a pool, pass what is in it: `&mut *tx`",
    note = "outbox-schema has a feature for each database: postgres, mysql, sqlite",
    note = "it has to be a type of sqlx 0.9, the release that outbox-schema uses"
)]
pub trait OutboxConnection: sealed::Insert {}

pub(super) mod sealed {
    use super::StoredRow;
    use crate::enqueue::row::Row;

    pub trait Insert: Send {
        /// Inserts the rows whose keys are not in the outbox yet, in order. Returns the inserted rows.
        fn insert(&mut self, rows: &[Row<'_>]) -> impl Future<Output = sqlx::Result<Vec<StoredRow>>> + Send;

        /// Finds the rows in the outbox that have the keys of `rows`.
        fn find(&mut self, rows: &[&Row<'_>]) -> impl Future<Output = sqlx::Result<Vec<StoredRow>>> + Send;
    }
}

/// A row that is in the outbox.
#[derive(Debug, sqlx::FromRow)]
pub struct StoredRow {
    pub(in crate::enqueue) id: i64,
    pub(in crate::enqueue) idempotency_key: String,
}
