//! Connections whose server has vanished without a word: its host is gone, or something between drops all that passes.
//!
//! Nothing tells of it. The system goes on sending for a quarter of an hour, and a proxy between takes what is sent. sqlx 0.9
//! sets no option of a socket, and shows none to be set. So each call has a time limit. Where one ends without an answer, the
//! connections that were idle meanwhile are not trusted either.

use std::time::{Duration, Instant};

use parking_lot::Mutex;
use sqlx::pool::PoolConnection;
use sqlx::{Connection, Database, Pool};

/// How long a server has to say that a connection works. The answer takes a round trip, and no work.
pub(crate) const PING_LIMIT: Duration = Duration::from_secs(1);

/// How long a connection may take to be made before another one is begun beside it.
const PATIENCE: Duration = Duration::from_secs(1);

/// A connection of a pool. One that is begun to a server that is gone does not end, also where another server takes the
/// place of that one in the next moment. So after a while a second one is begun, and the first that works is taken.
pub(crate) async fn acquire<DB: Database>(pool: &Pool<DB>) -> sqlx::Result<PoolConnection<DB>> {
    // On the heap: the futures of their callers stay small.
    let mut first = Box::pin(pool.acquire());
    if let Ok(acquired) = tokio::time::timeout(PATIENCE, &mut first).await {
        return acquired;
    }
    tokio::select! {
        acquired = first => acquired,
        acquired = Box::pin(pool.acquire()) => acquired,
    }
}

/// When a connection of a pool was last asked in vain.
#[derive(Debug, Default)]
pub(crate) struct Silence(Mutex<Option<Instant>>);

impl Silence {
    /// Whether a connection that was idle so long can be used. It is asked, unless it was used just now, or one of its age
    /// was asked in vain.
    pub(crate) async fn holds<C: Connection>(&self, connection: &mut C, idle_for: Duration) -> sqlx::Result<bool> {
        if idle_for <= HOLDS_STILL {
            return Ok(true);
        }
        if self.last().is_some_and(|asked| asked.elapsed() < idle_for) {
            return Ok(false);
        }
        let asked = Instant::now();
        if let Ok(answer) = tokio::time::timeout(PING_LIMIT, connection.ping()).await {
            return answer.map(|()| true);
        }
        *self.0.lock() = Some(asked);
        Err(sqlx::Error::Io(std::io::ErrorKind::TimedOut.into()))
    }

    fn last(&self) -> Option<Instant> {
        *self.0.lock()
    }
}

/// Closes the idle connections of a pool.
pub(crate) fn distrust<DB: Database>(pool: &Pool<DB>) {
    for _ in 0..pool.num_idle() {
        let Some(mut idle) = pool.try_acquire() else { return };
        idle.close_on_drop();
    }
}

/// Whether a connection works, as its server says in time.
pub(crate) async fn answers<C: Connection>(connection: &mut C) -> bool {
    matches!(tokio::time::timeout(PING_LIMIT, connection.ping()).await, Ok(Ok(())))
}

/// A connection that was used within this time is taken to work. To ask the server first would cost one more round trip
/// for each claim and each group of marks. Where the connection does not work, the call fails and is repeated: a claim
/// on PostgreSQL at once, other calls as after any failure.
pub(crate) const HOLDS_STILL: Duration = Duration::from_millis(500);
