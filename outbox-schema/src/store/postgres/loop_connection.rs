//! The loop's own connection. The statements of the loop are prepared on it once. The pool would lend the connection
//! that was idle longest, and each of its connections would have to prepare them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use sqlx::{Executor, PgConnection, PgPool};
use tokio::sync::watch;

use crate::silence::{HOLDS_STILL, acquire, answers, distrust};

/// A connection that is kept from one call to the next, for a caller that makes one call at a time.
#[derive(Debug, Clone)]
pub(super) struct LoopConnection {
    pool: PgPool,
    /// Raised where the connection was asked in vain.
    silences: watch::Sender<()>,
    connection: Arc<Mutex<Option<(PgConnection, Instant)>>>,
    /// What each connection is told once.
    session: Option<&'static str>,
}

impl LoopConnection {
    /// No connection yet. The first one is made as `pool` makes its own.
    pub(super) fn new(pool: PgPool, silences: watch::Sender<()>) -> Self {
        Self { pool, silences, connection: Arc::default(), session: None }
    }

    /// The same for connections of which each is told this once.
    pub(super) fn with_session(self, session: &'static str) -> Self {
        Self { session: Some(session), ..self }
    }

    /// The kept connection, if it still works, or a new one. The caller returns it with [`Self::keep`]. After an error,
    /// or in a call that is given up, the connection is dropped instead, and so closed.
    pub(super) async fn take(&self) -> sqlx::Result<PgConnection> {
        self.take_if(|_| false).await
    }

    /// The same for a call that can be repeated. A connection that was used just now is not asked first whether it
    /// still works.
    pub(super) async fn take_unasked(&self) -> sqlx::Result<PgConnection> {
        self.take_if(|used| used.elapsed() <= HOLDS_STILL).await
    }

    async fn take_if(&self, holds: impl FnOnce(Instant) -> bool) -> sqlx::Result<PgConnection> {
        let kept = self.connection().take();
        if let Some((mut connection, used)) = kept {
            if holds(used) || answers(&mut connection).await {
                return Ok(connection);
            }
            // Those of the pool were as idle as this one was.
            distrust(&self.pool);
            self.silences.send_replace(());
        }
        self.make().await
    }

    /// Another connection that works, after the one that was taken turned out to be lost. Some connections of the pool
    /// may have been lost with it.
    pub(super) async fn make(&self) -> sqlx::Result<PgConnection> {
        loop {
            let mut connection = acquire(&self.pool).await?.detach();
            if answers(&mut connection).await {
                if let Some(session) = self.session {
                    connection.execute(session).await?;
                }
                return Ok(connection);
            }
        }
    }

    /// Keeps the connection for the next call.
    pub(super) fn keep(&self, connection: PgConnection) {
        *self.connection() = Some((connection, Instant::now()));
    }

    fn connection(&self) -> MutexGuard<'_, Option<(PgConnection, Instant)>> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
