//! The loop's own connection. What the loop asks again and again is prepared on it once; the pool hands out the connection that was
//! idle longest, and each of them would have to.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sqlx::{Connection, PgConnection, PgPool};

use crate::database::CONNECTION_LIMIT;

/// A connection that is kept from one call to the next, for whoever makes one call at a time.
#[derive(Debug, Clone)]
pub(super) struct Kept {
    pool: PgPool,
    connection: Arc<Mutex<Option<PgConnection>>>,
}

impl Kept {
    /// None yet; the first is made as `pool` makes its own.
    pub(super) fn new(pool: PgPool) -> Self {
        Self { pool, connection: Arc::default() }
    }

    /// The connection, if it still holds, or a new one. Whoever is done with it hands it to [`Self::keep`]; after an error, or given
    /// up in the middle of a call, it is dropped instead, and so closed.
    pub(super) async fn take(&self) -> Result<PgConnection, sqlx::Error> {
        let kept = self.connection().take();
        if let Some(mut connection) = kept
            && let Ok(Ok(())) = tokio::time::timeout(CONNECTION_LIMIT, connection.ping()).await
        {
            return Ok(connection);
        }
        Ok(self.pool.acquire().await?.detach())
    }

    /// For the next call.
    pub(super) fn keep(&self, connection: PgConnection) {
        *self.connection() = Some(connection);
    }

    fn connection(&self) -> MutexGuard<'_, Option<PgConnection>> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
