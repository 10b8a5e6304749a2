//! One step of the protocol on one connection.

use std::ops::{Deref, DerefMut};

use sqlx::pool::PoolConnection;
use sqlx::{MySql, MySqlConnection, MySqlPool};

/// A connection for the time of one step. It goes back to the pool only when the step was finished. After an error or a
/// cancellation it is closed, and the server rolls back what was not committed.
///
/// A transaction of sqlx would not do. If one is cancelled while it prepares a statement, a MySQL connection of sqlx
/// 0.9 has an unread answer. It takes that for the answer to the ping with which it is returned, waits for the rest for
/// ever, and its place in the pool is lost.
#[derive(Debug)]
pub(super) struct Step {
    connection: PoolConnection<MySql>,
    finished: bool,
}

impl Step {
    /// Opens a step without a transaction: each statement commits by itself.
    pub(super) async fn open(pool: &MySqlPool) -> Result<Self, sqlx::Error> {
        Ok(Self { connection: pool.acquire().await?, finished: false })
    }

    /// Opens a step in a transaction.
    pub(super) async fn begin(pool: &MySqlPool) -> Result<Self, sqlx::Error> {
        let mut step = Self::open(pool).await?;
        sqlx::raw_sql("BEGIN").execute(&mut *step).await?;
        Ok(step)
    }

    /// Commits the transaction. Later statements commit by themselves.
    pub(super) async fn commit(&mut self) -> Result<(), sqlx::Error> {
        sqlx::raw_sql("COMMIT").execute(&mut **self).await.map(drop)
    }

    /// Rolls the transaction back.
    pub(super) async fn roll_back(&mut self) -> Result<(), sqlx::Error> {
        sqlx::raw_sql("ROLLBACK").execute(&mut **self).await.map(drop)
    }

    /// Returns the connection to the pool. A transaction must have ended before.
    pub(super) fn finish(mut self) {
        self.finished = true;
    }
}

impl Drop for Step {
    fn drop(&mut self) {
        if !self.finished {
            self.connection.close_on_drop();
        }
    }
}

impl Deref for Step {
    type Target = MySqlConnection;

    fn deref(&self) -> &MySqlConnection {
        &self.connection
    }
}

impl DerefMut for Step {
    fn deref_mut(&mut self) -> &mut MySqlConnection {
        &mut self.connection
    }
}
