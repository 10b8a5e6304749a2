//! What an application needs to write messages.
//!
//! It writes a message in the transaction of its own data with [`enqueue()`] (or with plain SQL: three columns suffice). A
//! dispatcher sends it.
//!
//! # Features
//! An application names its database: `postgres`, `mysql` (MariaDB too) or `sqlite`, and gets the driver of that one.
//! `opentelemetry` has messages carry the trace context of the current span.

#[macro_use]
pub mod queries;

pub mod channel_name;
pub mod enqueue;
mod message_id;
pub mod origin;
pub mod plain_name;
pub mod tags;
pub mod words;

pub use enqueue::fcm::{FcmMessage, FcmTarget};
pub use enqueue::new_message::{Content, InvalidMessage, NewMessage};
pub use enqueue::trace::TraceContext;
pub use enqueue::{EnqueueError, Enqueued, OutboxConnection, enqueue, enqueue_all};
pub use message_id::MessageId;
pub use tags::{Tag, Tags};
