//! The loop's own connection. What the loop asks again and again is prepared on it once; the pool hands out the connection that was
//! idle longest, and each of them would have to.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use sqlx::{Connection, PgConnection, PgPool};

use crate::database::{CONNECTION_LIMIT, HOLDS_STILL};

/// A connection that is kept from one call to the next, for whoever makes one call at a time.
#[derive(Debug, Clone)]
pub(super) struct Kept {
    pool: PgPool,
    connection: Arc<Mutex<Option<(PgConnection, Instant)>>>,
}

impl Kept {
    /// None yet; the first is made as `pool` makes its own.
    pub(super) fn new(pool: PgPool) -> Self {
        Self { pool, connection: Arc::default() }
    }

    /// The connection, if it holds still, or a new one. Whoever is done with it hands it to [`Self::keep`]; after an error, or given
    /// up in the middle of a call, it is dropped instead, and so closed.
    pub(super) async fn take(&self) -> sqlx::Result<PgConnection> {
        self.take_if(|_| false).await
    }

    /// The same for a call that can be repeated: where the connection was used just now, it is not asked first.
    pub(super) async fn take_unasked(&self) -> sqlx::Result<PgConnection> {
        self.take_if(|used| used.elapsed() <= HOLDS_STILL).await
    }

    async fn take_if(&self, holds: impl FnOnce(Instant) -> bool) -> sqlx::Result<PgConnection> {
        let kept = self.connection().take();
        if let Some((mut connection, used)) = kept
            && (holds(used) || answers(&mut connection).await)
        {
            return Ok(connection);
        }
        self.make().await
    }

    /// Another one that holds, where that which was taken turned out to be lost. The pool may have some that were lost with it.
    pub(super) async fn make(&self) -> sqlx::Result<PgConnection> {
        loop {
            let mut connection = self.pool.acquire().await?.detach();
            if answers(&mut connection).await {
                return Ok(connection);
            }
        }
    }

    /// For the next call.
    pub(super) fn keep(&self, connection: PgConnection) {
        *self.connection() = Some((connection, Instant::now()));
    }

    fn connection(&self) -> MutexGuard<'_, Option<(PgConnection, Instant)>> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn answers(connection: &mut PgConnection) -> bool {
    matches!(tokio::time::timeout(CONNECTION_LIMIT, connection.ping()).await, Ok(Ok(())))
}
