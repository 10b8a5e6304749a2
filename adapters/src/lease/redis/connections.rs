//! Connections to Redis, each used by one call at a time and none after a failure.

use std::sync::{Arc, Mutex, PoisonError};

use redis::RedisResult;
use redis::aio::MultiplexedConnection;

use super::primary::Primary;

/// Idle connections, dialled when there is none: at most one attempt per call, none between calls.
pub(super) struct Connections {
    primary: Arc<Primary>,
    idle: Mutex<Vec<MultiplexedConnection>>,
}

impl Connections {
    pub(super) fn new(primary: Arc<Primary>) -> Self {
        Self { primary, idle: Mutex::default() }
    }

    /// Lends a connection to `call`. It is kept only after an answer: an error, and a call that is dropped because
    /// its time is over, close it. So the answer to an abandoned call is never waited for, and the next call finds
    /// out afresh whether Redis is there, and which server of several is the primary. No call is repeated here, since it may have
    /// taken effect: a connection lost while idle costs one call.
    pub(super) async fn with<T>(
        &self,
        call: impl AsyncFnOnce(&mut MultiplexedConnection) -> RedisResult<T>,
    ) -> RedisResult<T> {
        let idle = self.idle().pop();
        let mut connection = match idle {
            Some(connection) => connection,
            None => self.primary.connect().await?,
        };
        let answer = call(&mut connection).await;
        match &answer {
            Ok(_) => self.idle().push(connection),
            // Its siblings lead to the same server.
            Err(_) => self.idle().clear(),
        }
        answer
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<MultiplexedConnection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
