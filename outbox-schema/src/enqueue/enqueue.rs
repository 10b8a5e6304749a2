//! Enqueuing: a message becomes a row in the caller's own transaction, so that both are committed or neither.

use std::collections::HashMap;

use crate::words::words;
use crate::{InvalidMessage, MessageId, NewMessage};

use super::connection::OutboxConnection;
use super::row::Row;

/// The most rows of one statement.
const BATCH_ROWS: usize = 1_000;

/// The most bytes of one statement before quoting, unless a single row has more. `max_allowed_packet` is 16 MiB on
/// MariaDB.
const BATCH_BYTES: usize = 4 * 1024 * 1024;

/// The result of enqueuing a message.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Enqueued {
    /// The message is a row now. It will be sent once the transaction is committed.
    Inserted {
        /// The primary key of the row.
        id: MessageId,
        /// The idempotency key of the message: its own, or a new one.
        key: String,
    },
    /// The outbox has a message with that key already, so nothing was inserted. The transaction goes on undisturbed.
    Duplicate {
        /// The id of the row with that key. None where it was pruned at this very moment.
        id: Option<MessageId>,
        /// The idempotency key of both.
        key: String,
    },
}

impl Enqueued {
    /// The idempotency key.
    pub fn key(&self) -> &str {
        match self {
            Self::Inserted { key, .. } | Self::Duplicate { key, .. } => key,
        }
    }

    /// Whether a row was inserted.
    pub fn is_inserted(&self) -> bool {
        match self {
            Self::Inserted { .. } => true,
            Self::Duplicate { .. } => false,
        }
    }
}

/// Why a message was not enqueued.
#[derive(Debug, thiserror::Error)]
pub enum EnqueueError {
    /// A message is not valid. This was found before the database was asked: nothing was inserted, and the transaction
    /// goes on.
    #[error("message {} is not valid: {source}", .index + 1)]
    Invalid {
        /// The place of the message in the slice, from 0.
        index: usize,
        /// What is wrong with the message.
        source: InvalidMessage,
    },
    /// The connection sees no table `outbox`.
    #[error(
        "there is no table `outbox` here ({}): run `outbox migrate` on this database; on PostgreSQL the schema \
         that `database.schema` names must be in the search_path of this role too",
        words(.0)
    )]
    Missing(#[source] sqlx::Error),
    /// The database refused the insert, or did not answer. PostgreSQL aborts the transaction then.
    #[error("the outbox row was not inserted: {}{}", words(.0), advice(.0))]
    Database(#[source] sqlx::Error),
}

/// What to do about a refusal, behind the words of the database.
fn advice(error: &sqlx::Error) -> &'static str {
    let said = words(error);
    // ER_COLUMNACCESS_DENIED_ERROR of MySQL and MariaDB names the column.
    let times = ["available_at", "expires_at"].iter().any(|column| said.contains(column));
    if said.contains("outbox_payload_encoded_twice") {
        ". The payload is a JSON string that holds JSON, so it was encoded twice: give the JSON itself"
    } else if said.contains("command denied") && times {
        ". A delay and an expiry are written as times, by a right of its own: whoever owns the tables gives it with mysql_times.sql"
    } else {
        ""
    }
}

impl From<sqlx::Error> for EnqueueError {
    fn from(error: sqlx::Error) -> Self {
        let missing = error.as_database_error().is_some_and(|database| {
            // undefined_table of PostgreSQL, ER_NO_SUCH_TABLE of MySQL; SQLite has no code for it.
            matches!(database.code().as_deref(), Some("42P01" | "42S02"))
                || database.message().contains("no such table")
        });
        if missing { Self::Missing(error) } else { Self::Database(error) }
    }
}

/// Enqueues a message in the transaction of `connection`. Without a transaction, the message is committed at once.
///
/// ```no_run
/// # async fn place(pool: sqlx::PgPool) -> Result<(), Box<dyn std::error::Error>> {
/// use outbox_schema::{NewMessage, enqueue};
///
/// let mut tx = pool.begin().await?;
/// sqlx::query("INSERT INTO orders (id) VALUES (4711)").execute(&mut *tx).await?;
/// let message = NewMessage::http("https://shop.example/hooks").idempotency_key("order-4711-placed");
/// enqueue(&mut *tx, &message).await?;
/// tx.commit().await?;
/// # Ok(()) }
/// ```
///
/// A message whose key is in the outbox already is [`Enqueued::Duplicate`]. It neither aborts the transaction nor hides
/// another error. (Under REPEATABLE READ or SERIALIZABLE, PostgreSQL reports a key that a concurrent transaction has
/// just committed as a serialization failure, like any other such conflict.)
///
/// The connection needs the rights that `grants/*.sql` gives to an application: INSERT, and SELECT on `id` and
/// `idempotency_key`.
///
/// # Errors
/// [`EnqueueError::Invalid`] before the database is asked; otherwise the error of the database.
pub async fn enqueue<C: OutboxConnection>(connection: &mut C, message: &NewMessage) -> Result<Enqueued, EnqueueError> {
    let enqueued = enqueue_all(connection, std::slice::from_ref(message)).await?;
    enqueued.into_iter().next().ok_or_else(|| sqlx::Error::RowNotFound.into())
}

/// Enqueues messages as [`enqueue`] does, in their order and many with one statement. The results have the same order.
/// Among messages with the same key the first one counts. All messages are validated before the first is inserted.
///
/// # Errors
/// As for [`enqueue`]. Messages that were inserted before the error share the fate of the transaction.
pub async fn enqueue_all<C: OutboxConnection>(
    connection: &mut C,
    messages: &[NewMessage],
) -> Result<Vec<Enqueued>, EnqueueError> {
    let rows = messages
        .iter()
        .enumerate()
        .map(|(index, message)| Row::of(message).map_err(|source| EnqueueError::Invalid { index, source }));
    let rows = rows.collect::<Result<Vec<_>, _>>()?;
    let mut enqueued = Vec::with_capacity(rows.len());
    let mut rest = rows.as_slice();
    while !rest.is_empty() {
        let (batch, following) = rest.split_at(batch_length(rest));
        enqueued.extend(insert(connection, batch).await?);
        rest = following;
    }
    Ok(enqueued)
}

/// The number of `rows` in the next statement: at least one.
fn batch_length(rows: &[Row<'_>]) -> usize {
    let mut bytes = 0;
    let fitting = rows.iter().take(BATCH_ROWS).take_while(|row| {
        bytes += row.bytes();
        bytes <= BATCH_BYTES
    });
    fitting.count().max(1)
}

async fn insert<C: OutboxConnection>(connection: &mut C, rows: &[Row<'_>]) -> Result<Vec<Enqueued>, EnqueueError> {
    let inserted = connection.insert(rows).await?;
    let mut inserted: HashMap<_, _> = inserted.into_iter().map(|kept| (kept.idempotency_key, kept.id)).collect();
    // The id is taken out of the map, so that a second message with the same key is a duplicate of the first.
    let ids: Vec<_> = rows.iter().map(|row| inserted.remove(row.key.as_ref())).collect();
    let duplicates: Vec<_> = rows.iter().zip(&ids).filter(|(_, id)| id.is_none()).map(|(row, _)| row).collect();
    let kept = if duplicates.is_empty() { Vec::new() } else { connection.find(&duplicates).await? };
    let kept: HashMap<_, _> = kept.into_iter().map(|kept| (kept.idempotency_key, kept.id)).collect();
    let enqueued = rows.iter().zip(ids).map(|(row, id)| match id {
        Some(id) => Enqueued::Inserted { id: MessageId(id), key: row.key.to_string() },
        None => {
            Enqueued::Duplicate { id: kept.get(row.key.as_ref()).copied().map(MessageId), key: row.key.to_string() }
        }
    });
    Ok(enqueued.collect())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

    use super::*;

    fn message(bytes: usize) -> NewMessage {
        NewMessage::new("http", "/", format!("\"{}\"", "x".repeat(bytes)))
    }

    fn rows(number: usize, message: &NewMessage) -> Vec<Row<'_>> {
        (0..number).map(|_| Row::of(message).unwrap()).collect()
    }

    #[test]
    fn a_statement_is_bounded_in_rows_and_bytes_but_takes_one_row_of_any_size() {
        assert_eq!(batch_length(&rows(BATCH_ROWS + 1, &message(1))), BATCH_ROWS);
        assert_eq!(batch_length(&rows(3, &message(BATCH_BYTES / 2))), 1);
        assert_eq!(batch_length(&rows(2, &message(BATCH_BYTES))), 1);
        assert_eq!(batch_length(&rows(5, &message(10))), 5);
    }
}
