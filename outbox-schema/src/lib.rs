//! What a message is, which transitions are legal, and the stores that keep them.
//!
//! An application writes a message in the transaction of its own data with [`enqueue()`] (or with plain SQL:
//! three columns suffice). A dispatcher reads and marks it through the [`Store`] port. The database is the
//! authority: its clock says what is due, and its rows say who may send.

#[macro_use]
mod queries;

pub mod channel_name;
pub mod claim;
pub mod database;
pub mod desk;
pub mod destination;
pub mod enqueue;
pub mod environment;
pub mod fingerprint;
pub mod mark;
pub mod message;
pub mod migrate;
pub mod mistakes;
pub mod payload;
pub mod plain_name;
pub mod retention;
mod session;
mod sql;
pub mod store;
pub mod term;

pub use claim::{ChannelTerms, ClaimId, ClaimRequest, Claimed, KeyStretch, OnDeadOrdered, OrderingKey, WalkStart};
pub use database::{ConnectError, ConnectOptions, Database, Dialect};
pub use desk::{ByHand, DeadLetterFilter, Desk, DeskError, Selection};
pub use destination::{DestinationStore, Pause, PauseKind};
pub use enqueue::fcm::{FcmMessage, FcmTarget};
pub use enqueue::new_message::{InvalidMessage, NewMessage};
pub use enqueue::trace::TraceContext;
pub use enqueue::{EnqueueError, Enqueued, OutboxConnection, enqueue, enqueue_all};
pub use mark::{AttemptRecord, DeadReason, InDoubtPolicy, Mark, Outcome, Scope, Verdict};
pub use message::{Message, MessageId, Revision, Status};
pub use migrate::{
    DEFAULT_ENVIRONMENT, FUNCTIONS_VERSION, Meta, MigrateError, Migrated, SCHEMA_VERSION, SERVES_FROM, SchemaError,
    SchemaState, migration_statements, migrations_sql,
};
pub use retention::{Pruning, Retention};
pub use store::trial::TrialError;
pub use store::{Store, StoreError};
pub use term::{Epoch, Holder, Shard, TermEnd, TermId};
