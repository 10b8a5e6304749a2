//! Connections to Redis. One call at a time uses a connection, and none uses it after a failure.

use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use redis::RedisResult;
use redis::aio::MultiplexedConnection;

use super::primary::Primary;

/// How often a cluster may send one call to another node. Its nodes disagree for a moment while a slot moves.
const SENT_ON: u32 = 3;

/// Idle connections. A call without an idle one dials: at most one attempt per call, none between calls.
pub(super) struct Connections {
    primary: Arc<Primary>,
    idle: Mutex<Vec<MultiplexedConnection>>,
}

impl Connections {
    pub(super) fn new(primary: Arc<Primary>) -> Self {
        Self { primary, idle: Mutex::default() }
    }

    /// Lends a connection to `call`, and keeps it only after an answer. An error closes it, and so does a call that is
    /// dropped because its time is over. So no later call waits for the answer to an abandoned one. The next call finds
    /// out anew whether Redis is there, and which server is the primary. No call is repeated here, since it may have
    /// taken effect: a connection lost while idle costs one call. Only a call that a cluster sends elsewhere is made again, there:
    /// it had no effect.
    pub(super) async fn with<T, A>(&self, call: impl Fn(MultiplexedConnection) -> A) -> RedisResult<T>
    where
        A: Future<Output = RedisResult<T>>,
    {
        let mut asked = Asked { connections: self, answered: false };
        let mut sent_on = 0;
        loop {
            let idle = self.idle().pop();
            let is_new = idle.is_none();
            let connection = match idle {
                Some(connection) => connection,
                None => self.primary.connect().await?,
            };
            let error = match call(connection.clone()).await {
                Ok(answer) => {
                    asked.answered = true;
                    self.idle().push(connection);
                    return Ok(answer);
                }
                Err(error) => error,
            };
            // The other idle connections lead to the same server.
            self.idle().clear();
            if sent_on < SENT_ON && self.primary.moved(&error) {
                sent_on += 1;
                continue;
            }
            asked.answered = !error.is_io_error();
            if asked.answered {
                self.primary.failed();
            }
            return if is_new { Err(self.primary.explained(error).await) } else { Err(error) };
        }
    }

    fn idle(&self) -> MutexGuard<'_, Vec<MultiplexedConnection>> {
        self.idle.lock()
    }
}

/// A call that is under way. Where it goes out of scope unanswered, also since its caller gave up, Redis may be gone without
/// a word. Then neither the other idle connections are trusted nor the subscription.
struct Asked<'a> {
    connections: &'a Connections,
    answered: bool,
}

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        if !self.answered {
            self.connections.idle().clear();
            self.connections.primary.distrust();
        }
    }
}
