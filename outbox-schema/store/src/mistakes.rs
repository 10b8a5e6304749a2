//! Mistakes of applications that the newest messages show.

use sqlx::FromRow;

use crate::sql::{read, while_doing};
use crate::statement::Statement;
use crate::{Database, QueryError};

/// Mistakes among the newest messages, 1,000 at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromRow)]
pub struct Mistakes {
    /// How many messages were looked at.
    pub looked_at: i64,
    /// Payloads that are a JSON string that holds JSON.
    pub encoded_twice: i64,
    /// Messages without an attempt that are due before they were written, or a whole number of hours after it, to the
    /// minute.
    pub whole_hours: i64,
    /// Messages whose `created_at` is more than a minute in the future.
    pub in_future: i64,
}

const MISTAKES: Statement = statement!("checks/mistakes");

impl Database {
    /// Searches the newest messages for mistakes of their applications.
    pub async fn mistakes(&self) -> Result<Mistakes, QueryError> {
        let rows: Vec<Mistakes> =
            read(self, &MISTAKES, &[]).await.map_err(while_doing("looking for mistakes of applications"))?;
        let none = Mistakes { looked_at: 0, encoded_twice: 0, whole_hours: 0, in_future: 0 };
        Ok(rows.first().copied().unwrap_or(none))
    }
}
