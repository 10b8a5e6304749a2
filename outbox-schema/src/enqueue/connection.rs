//! What enqueuing needs of a connection, for each of the databases.

use sqlx::{MySqlConnection, PgConnection, SqliteConnection};

use super::row::{Row, keys_as_json, rows_as_json};

/// A connection of the application, as a rule within its transaction: `&mut *tx`. It is a [`PgConnection`], a
/// [`MySqlConnection`] or a [`SqliteConnection`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no connection that messages can be enqueued on",
    note = "of a transaction, or of a connection out of a pool, pass what is in it: `&mut *tx`",
    note = "it has to be a type of sqlx 0.9, the release that outbox-schema uses"
)]
pub trait OutboxConnection: sealed::Insert {}

impl OutboxConnection for PgConnection {}
impl OutboxConnection for MySqlConnection {}
impl OutboxConnection for SqliteConnection {}

mod sealed {
    use super::{Kept, Row};

    pub trait Insert: Send {
        /// Inserts the rows whose keys are not in the outbox yet, in order. Returns the inserted rows.
        fn insert(&mut self, rows: &[Row<'_>]) -> impl Future<Output = sqlx::Result<Vec<Kept>>> + Send;

        /// Finds the rows in the outbox that have the keys of `rows`.
        fn find(&mut self, rows: &[&Row<'_>]) -> impl Future<Output = sqlx::Result<Vec<Kept>>> + Send;
    }
}

/// A row that is in the outbox.
#[derive(Debug, sqlx::FromRow)]
pub struct Kept {
    pub(super) id: i64,
    pub(super) idempotency_key: String,
}

impl sealed::Insert for PgConnection {
    async fn insert(&mut self, rows: &[Row<'_>]) -> sqlx::Result<Vec<Kept>> {
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
            .fetch_all(self)
            .await
    }

    async fn find(&mut self, rows: &[&Row<'_>]) -> sqlx::Result<Vec<Kept>> {
        let statement = query!("postgres/enqueue/enqueued");
        sqlx::query_as(statement).bind(keys_as_json(rows)).fetch_all(self).await
    }
}

/// One column of `rows`. It is empty where no row has a value.
fn column<'a, T>(rows: &'a [Row<'_>], of: impl Fn(&'a Row<'_>) -> Option<T>) -> Vec<Option<T>> {
    let column: Vec<_> = rows.iter().map(of).collect();
    if column.iter().all(Option::is_none) { Vec::new() } else { column }
}

impl sealed::Insert for SqliteConnection {
    async fn insert(&mut self, rows: &[Row<'_>]) -> sqlx::Result<Vec<Kept>> {
        let statement = query!("sqlite/enqueue/enqueue");
        sqlx::query_as(statement).bind(rows_as_json(rows)?).fetch_all(self).await
    }

    async fn find(&mut self, rows: &[&Row<'_>]) -> sqlx::Result<Vec<Kept>> {
        let statement = query!("sqlite/enqueue/enqueued");
        sqlx::query_as(statement).bind(keys_as_json(rows)).fetch_all(self).await
    }
}

impl sealed::Insert for MySqlConnection {
    /// `INSERT IGNORE` would hide other errors, and `ON DUPLICATE KEY UPDATE` needs the right to update. So a duplicate
    /// is an error here. MySQL then undoes the statement and keeps the transaction.
    async fn insert(&mut self, rows: &[Row<'_>]) -> sqlx::Result<Vec<Kept>> {
        match insert_mysql(self, rows).await {
            Ok(kept) => Ok(kept),
            Err(error) if !is_duplicate_message(&error) => Err(error),
            Err(_) if rows.len() == 1 => Ok(Vec::new()),
            Err(_) => {
                let mut kept = Vec::new();
                for row in rows {
                    match insert_mysql(self, std::slice::from_ref(row)).await {
                        Ok(one) => kept.extend(one),
                        Err(error) if is_duplicate_message(&error) => {}
                        Err(error) => return Err(error),
                    }
                }
                Ok(kept)
            }
        }
    }

    async fn find(&mut self, rows: &[&Row<'_>]) -> sqlx::Result<Vec<Kept>> {
        let statement = query!("mysql/enqueue/enqueued");
        sqlx::query_as(statement).bind(keys_as_json(rows)).fetch_all(self).await
    }
}

/// Inserts all rows. Where one is a duplicate, inserts none and returns the error of the first duplicate.
async fn insert_mysql(connection: &mut MySqlConnection, rows: &[Row<'_>]) -> sqlx::Result<Vec<Kept>> {
    use sealed::Insert;

    let statement = if rows.iter().any(Row::says_a_time) {
        query!("mysql/enqueue/enqueue")
    } else {
        query!("mysql/enqueue/enqueue_at_once")
    };
    let done = sqlx::query(statement).bind(rows_as_json(rows)?).execute(&mut *connection).await?;
    match rows {
        [row] => Ok(vec![Kept { id: done.last_insert_id().cast_signed(), idempotency_key: row.key.to_string() }]),
        // The ids of several rows need not be consecutive.
        rows => connection.find(&rows.iter().collect::<Vec<_>>()).await,
    }
}

/// Whether the error is 1062 about the idempotency key, and not about a key that the application added.
fn is_duplicate_message(error: &sqlx::Error) -> bool {
    let Some(error) =
        error.as_database_error().and_then(|error| error.try_downcast_ref::<sqlx::mysql::MySqlDatabaseError>())
    else {
        return false;
    };
    error.number() == 1062 && names_our_key(error.message())
}

/// `Duplicate entry 'order-1' for key 'outbox_idempotency_key'`; MySQL puts the table before the name. It is read from
/// its end: the entry comes from the application and may contain anything.
fn names_our_key(message: &str) -> bool {
    let key = message.rsplit("for key ").next().unwrap_or_default().trim_matches('\'');
    matches!(key, "outbox_idempotency_key" | "outbox.outbox_idempotency_key")
}

#[cfg(test)]
mod tests {
    use super::names_our_key;

    #[test]
    fn only_a_duplicate_of_the_idempotency_key_is_a_duplicate_message() {
        assert!(names_our_key("Duplicate entry 'order-1' for key 'outbox_idempotency_key'"));
        assert!(names_our_key("Duplicate entry 'order-1' for key 'outbox.outbox_idempotency_key'"));
        assert!(!names_our_key("Duplicate entry '7' for key 'PRIMARY'"));
        assert!(!names_our_key("Duplicate entry 'for key 'outbox_idempotency_key'' for key 'orders.number'"));
    }
}
