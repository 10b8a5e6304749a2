//! The loop's own connection. The statements of the loop are prepared on it once. The pool would lend the connection
//! that was idle longest, and each of its connections would have to prepare them.

use std::sync::Arc;
use std::time::Instant;

use parking_lot::{Mutex, MutexGuard};
use sqlx::{Executor, PgConnection, PgPool};
use tokio::sync::watch;

use crate::silence::{HOLDS_STILL, acquire, answers, distrust};

/// A connection that is kept from one call to the next, for a caller that makes one call at a time.
#[derive(Debug, Clone)]
pub(super) struct LoopConnection {
    pool: PgPool,
    /// Raised where a call got no answer, or this connection was asked in vain: what was made before is not used any more.
    silences: watch::Sender<()>,
    kept: Arc<Mutex<Kept>>,
    /// What each connection is told once.
    session: Option<&'static str>,
}

/// The connection between two calls, when it was used last, and what was raised since it was made.
#[derive(Debug)]
struct Kept {
    connection: Option<(PgConnection, Instant)>,
    silences: watch::Receiver<()>,
}

impl LoopConnection {
    /// No connection yet. The first one is made as `pool` makes its own.
    pub(super) fn new(pool: PgPool, silences: watch::Sender<()>) -> Self {
        let kept = Kept { connection: None, silences: silences.subscribe() };
        Self { pool, silences, kept: Arc::new(Mutex::new(kept)), session: None }
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
        let kept = self.kept().connection.take();
        if let Some((mut connection, used)) = kept
            && !self.kept().silences.has_changed().unwrap_or(true)
        {
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
        self.kept().silences = self.silences.subscribe();
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

    /// Closes the connection, unless a call has it: then it is not used again.
    pub(super) fn distrust(&self) {
        self.kept().connection = None;
    }

    /// Keeps the connection for the next call.
    pub(super) fn keep(&self, connection: PgConnection) {
        let mut kept = self.kept();
        if !kept.silences.has_changed().unwrap_or(true) {
            kept.connection = Some((connection, Instant::now()));
        }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock()
    }
}
