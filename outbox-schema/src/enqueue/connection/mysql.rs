//! Enqueuing on MySQL and MariaDB.

use sqlx::MySqlConnection;

use super::sealed::Insert;
use super::{OutboxConnection, StoredRow};
use crate::enqueue::row::{Row, keys_as_json, rows_as_json};

impl OutboxConnection for MySqlConnection {}

impl Insert for MySqlConnection {
    /// `INSERT IGNORE` would hide other errors, and `ON DUPLICATE KEY UPDATE` needs the right to update. So a duplicate
    /// is an error here. MySQL then undoes the statement and keeps the transaction.
    async fn insert(&mut self, rows: &[Row<'_>]) -> sqlx::Result<Vec<StoredRow>> {
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

    async fn find(&mut self, rows: &[&Row<'_>]) -> sqlx::Result<Vec<StoredRow>> {
        let statement = query!("mysql/enqueue/enqueued");
        sqlx::query_as(statement).bind(keys_as_json(rows)).fetch_all(self).await
    }
}

/// Inserts all rows. Where one is a duplicate, inserts none and returns the error of the first duplicate.
async fn insert_mysql(connection: &mut MySqlConnection, rows: &[Row<'_>]) -> sqlx::Result<Vec<StoredRow>> {
    let statement = if rows.iter().any(says_a_time) {
        query!("mysql/enqueue/enqueue")
    } else {
        query!("mysql/enqueue/enqueue_at_once")
    };
    let done = sqlx::query(statement).bind(rows_as_json(rows)?).execute(&mut *connection).await?;
    match rows {
        [row] => Ok(vec![StoredRow { id: done.last_insert_id().cast_signed(), idempotency_key: row.key.to_string() }]),
        // The ids of several rows need not be consecutive.
        rows => connection.find(&rows.iter().collect::<Vec<_>>()).await,
    }
}

/// Whether the message is delayed or expires.
fn says_a_time(row: &Row<'_>) -> bool {
    row.due_in_ms.is_some() || row.due_at_ms.is_some() || row.expires_in_ms.is_some() || row.expires_at_ms.is_some()
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
