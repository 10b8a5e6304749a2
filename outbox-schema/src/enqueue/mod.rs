//! Enqueuing: a message becomes a row in the caller's own transaction, so that both are committed or neither.

mod connection;
mod enqueue;
pub mod fcm;
pub mod new_message;
mod row;
pub mod trace;

pub use connection::OutboxConnection;
pub use enqueue::{EnqueueError, Enqueued, enqueue, enqueue_all};
pub use row::millis;
