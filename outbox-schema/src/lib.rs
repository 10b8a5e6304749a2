//! What a message is, which transitions are legal, and the stores that keep them.
//!
//! An application writes a message in the transaction of its own data (with plain SQL three columns suffice).
//! A dispatcher reads and marks it through the [`Store`] port. The database is the authority: its clock says
//! what is due, and its rows say who may send.

pub mod claim;
pub mod database;
pub mod mark;
pub mod message;
pub mod mysql;
pub mod postgres;
mod rows;
pub mod sqlite;
mod steps;
pub mod store;
pub mod term;
pub mod trace;
mod wire;

pub use claim::{ChannelTerms, ClaimId, ClaimRequest, Claimed, Message, Pause};
pub use database::{ConnectError, ConnectOptions, Database};
pub use mark::{AttemptRecord, DeadReason, InDoubtPolicy, Mark, Outcome, Scope, Verdict};
pub use message::{MessageId, Revision, Status};
pub use store::{Store, StoreError};
pub use term::{Epoch, Holder, Shard, TermEnd, TermId};
pub use trace::TraceContext;
