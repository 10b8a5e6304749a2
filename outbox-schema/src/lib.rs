//! What a message is, which transitions are legal, and the stores that keep messages.
//!
//! An application writes a message in the transaction of its own data with [`enqueue()`] (or with plain SQL:
//! three columns suffice). A dispatcher reads and marks it through the [`Store`] port. The database is the
//! authority: its clock says what is due, and its rows say who may send.
//!
//! # Features
//! An application names its database: `postgres`, `mysql` (MariaDB too) or `sqlite`, and gets the driver of that one.
//! `opentelemetry` has messages carry the trace context of the current span. `dispatcher` brings all else: the stores,
//! migrations, and what the desk is made of.

#![cfg_attr(
    not(feature = "dispatcher"),
    allow(dead_code, unused_macros, reason = "an application has one of the databases, and no dispatcher")
)]

#[macro_use]
pub mod queries;

#[cfg(feature = "dispatcher")]
pub mod alerts;
pub mod channel_name;
#[cfg(feature = "dispatcher")]
pub mod claim;
#[cfg(feature = "dispatcher")]
mod claim_id;
#[cfg(feature = "dispatcher")]
pub mod database;
#[cfg(feature = "dispatcher")]
pub mod destination;
pub mod enqueue;
#[cfg(feature = "dispatcher")]
pub mod environment;
#[cfg(feature = "dispatcher")]
pub mod figures;
#[cfg(feature = "dispatcher")]
pub mod fingerprint;
#[cfg(feature = "dispatcher")]
mod lineage;
#[cfg(feature = "dispatcher")]
mod literal;
#[cfg(feature = "dispatcher")]
pub mod look;
#[cfg(feature = "dispatcher")]
pub mod mark;
#[cfg(feature = "dispatcher")]
pub mod message;
mod message_id;
#[cfg(feature = "dispatcher")]
pub mod migrate;
#[cfg(feature = "dispatcher")]
pub mod mistakes;
pub mod origin;
#[cfg(feature = "dispatcher")]
pub mod outcome_target;
#[cfg(feature = "dispatcher")]
pub mod passing;
#[cfg(feature = "dispatcher")]
pub mod payload;
pub mod plain_name;
#[cfg(feature = "dispatcher")]
mod ports;
#[cfg(feature = "dispatcher")]
mod query_error;
#[cfg(feature = "dispatcher")]
pub mod retention;
#[cfg(feature = "dispatcher")]
mod rights;
#[cfg(feature = "dispatcher")]
pub mod session;
#[cfg(feature = "dispatcher")]
mod silence;
#[cfg(feature = "dispatcher")]
pub mod sql;
#[cfg(feature = "dispatcher")]
pub mod statement;
#[cfg(feature = "dispatcher")]
pub mod store;
pub mod tags;
#[cfg(feature = "dispatcher")]
pub mod term;
#[cfg(feature = "dispatcher")]
pub mod tls;
#[cfg(feature = "dispatcher")]
pub mod url_forms;
pub mod words;

#[cfg(feature = "dispatcher")]
pub use claim::{ChannelTerms, OnDeadOrdered, WalkStart};
#[cfg(feature = "dispatcher")]
pub use claim_id::ClaimId;
#[cfg(feature = "dispatcher")]
pub use database::{ConnectError, ConnectOptions, Connections, Database, Dialect, check_inserts};
#[cfg(feature = "dispatcher")]
pub use destination::{DestinationStore, Pause, PauseKind};
pub use enqueue::fcm::{FcmMessage, FcmTarget};
pub use enqueue::new_message::{Content, InvalidMessage, NewMessage};
pub use enqueue::trace::TraceContext;
pub use enqueue::{EnqueueError, Enqueued, OutboxConnection, enqueue, enqueue_all};
#[cfg(feature = "dispatcher")]
pub use lineage::{Lineage, Lineages, SameDatabase, Seen};
#[cfg(feature = "dispatcher")]
pub use mark::{
    AttemptRecord, DeadReason, DeliveryRecord, Identity, InDoubtPolicy, KNOWN_ALREADY, Mark, Outcome, Scope, Verdict,
};
#[cfg(feature = "dispatcher")]
pub use message::{LONGEST_DEADLINE, Message, Revision, Status};
pub use message_id::MessageId;
#[cfg(feature = "dispatcher")]
pub use migrate::{
    DEFAULT_ENVIRONMENT, FUNCTIONS_VERSION, Meta, MigrateError, Migrated, SCHEMA_VERSION, SERVES_FROM, SchemaError,
    SchemaState, migration_statements, migrations_sql,
};
#[cfg(feature = "dispatcher")]
pub use outcome_target::{OutcomeTarget, TargetTemplate, TemplateError};
#[cfg(feature = "dispatcher")]
pub use query_error::QueryError;
#[cfg(feature = "dispatcher")]
pub use retention::{Pruning, Retention};
#[cfg(feature = "dispatcher")]
pub use rights::{Role, lacks_rights};
#[cfg(feature = "dispatcher")]
pub use store::due::{ClaimTerms, DueRows, LaneLook, LookAndClaim, LookedAndClaimed, RingPlace, RingStep, RowsToClaim};
#[cfg(feature = "dispatcher")]
pub use store::trial::TrialError;
#[cfg(feature = "dispatcher")]
pub use store::{Header, Lane, Store, StoreError};
pub use tags::{Tag, Tags};
#[cfg(feature = "dispatcher")]
pub use term::{Epoch, Holder, Shard, TermEnd, TermId};
