//! The database of an outbox: its tables, the port of a poller, and what is kept beside the messages.
//!
//! A dispatcher reads and marks messages through the [`Store`] port. The database is the authority: its clock says what is due,
//! and its rows say who may send.

// `query!`, in every file.
#[macro_use(query)]
extern crate outbox_schema;

#[macro_use]
mod queries;

pub mod alerts;
pub mod claim;
mod claim_id;
pub mod database;
pub mod destination;
mod durability;
pub mod environment;
pub mod figures;
pub mod fingerprint;
pub mod jobs;
mod lineage;
mod literal;
pub mod look;
pub mod mark;
mod may_pass;
pub mod message;
pub mod migrate;
pub mod mistakes;
pub mod outcome_target;
pub mod passing;
pub mod payload;
mod ports;
mod query_error;
pub mod recurring;
mod replication;
pub mod retention;
mod rights;
pub mod session;
mod silence;
pub mod sql;
pub mod statement;
pub mod store;
pub mod term;
pub mod tls;
mod unsupported;
pub mod url_forms;

// What `statement!` is made of, for the packages that use it.
pub use outbox_schema::query;

pub use claim::{ChannelTerms, OnDeadOrdered, WalkStart};
pub use claim_id::ClaimId;
pub use database::{ConnectError, ConnectOptions, Connections, Database, Dialect, check_inserts};
pub use destination::{DestinationStore, Pause, PauseKind};
pub use durability::Durability;
pub use jobs::JobStore;
pub use lineage::{Lineage, Lineages, SameDatabase, Seen};
pub use mark::{
    AttemptRecord, DeadReason, DeliveryRecord, Identity, InDoubtPolicy, KNOWN_ALREADY, Mark, Outcome, Scope, Verdict,
};
pub use message::{LONGEST_DEADLINE, Message, Revision, Status};
pub use migrate::{
    DEFAULT_ENVIRONMENT, FUNCTIONS_VERSION, Meta, MigrateError, Migrated, SCHEMA_VERSION, SERVES_FROM, SchemaError,
    SchemaState, migration_statements, migrations_sql,
};
pub use outcome_target::{OutcomeTarget, TargetTemplate, TemplateError};
pub use query_error::QueryError;
pub use recurring::RecurringStore;
pub use replication::Replication;
pub use retention::{Pruning, Retention};
pub use rights::{APPLY_GRANTS, Role, lacks_rights};
pub use store::due::{ClaimTerms, DueRows, LaneLook, LookAndClaim, LookedAndClaimed, RingPlace, RingStep, RowsToClaim};
pub use store::trial::TrialError;
pub use store::{Header, Lane, Store, StoreError};
pub use term::{Epoch, Holder, Seat, Shard, TermEnd, TermId};
pub use unsupported::{Dropped, Product, UnsupportedServer};
