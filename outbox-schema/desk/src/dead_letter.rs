//! A dead letter, and a page of them.

use outbox_schema::MessageId;
use outbox_store::store::Lossy;
use serde::{Deserialize, Serialize};
use sqlx::FromRow;

use super::Cursor;

/// A dead letter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, FromRow)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[allow(missing_docs, reason = "columns of the table `outbox`")]
pub struct DeadLetter {
    pub id: i64,
    #[sqlx(try_from = "Lossy<String>")]
    pub idempotency_key: String,
    #[sqlx(try_from = "Lossy<String>")]
    pub channel: String,
    #[sqlx(try_from = "Lossy<String>")]
    pub target: String,
    #[sqlx(try_from = "Lossy<String>")]
    pub destination: String,
    pub dead_reason: Option<String>,
    pub attempts: i32,
    pub last_error: Option<String>,
    pub last_status_code: Option<i32>,
    pub fingerprint: String,
    #[serde(default)]
    #[sqlx(try_from = "Lossy<Option<String>>")]
    pub ordering_key: Option<String>,
    /// Whom the message is sent for, where its row says it.
    #[serde(default)]
    #[sqlx(try_from = "Lossy<Option<String>>")]
    pub tenant: Option<String>,
    /// The tags as JSON text, as the database returns it.
    #[serde(default)]
    #[sqlx(try_from = "Lossy<Option<String>>")]
    pub tags: Option<String>,
    pub created_at: String,
    pub dead_at: String,
    /// The first message that waits behind the letter, where the letter halts its ordering key.
    #[serde(default)]
    #[sqlx(skip)]
    pub first_waiting: Option<i64>,
    /// When the letter died, in microseconds since 1970: for a cursor.
    #[serde(skip)]
    pub(super) dead_at_us: i64,
}

impl DeadLetter {
    /// The end of a page whose last letter is this one.
    pub fn cursor(&self) -> Cursor {
        Cursor { dead_at_us: self.dead_at_us, id: MessageId(self.id) }
    }
}

/// One page of dead letters.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DeadLetterPage {
    /// The dead letters, the most recently dead first.
    pub letters: Vec<DeadLetter>,
    /// The `after` of the next page. None on the last page.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub next: Option<Cursor>,
}
