//! The store port: what a poller asks of the outbox database. One conformance suite holds for every implementation. All
//! follow one rule: *lock first, read in a later statement, READ COMMITTED*. Locks are taken in one order: term row,
//! claim rows by id, message rows by id.

pub(crate) mod claim;
pub mod due;
mod error;
pub mod failover;
mod header;
pub(crate) mod headers;
pub(crate) mod lossy;
pub mod mysql;
pub(crate) mod outcomes;
mod port;
pub mod postgres;
pub(crate) mod rows;
pub(crate) mod settle;
pub mod sqlite;
pub(crate) mod steps;
pub(crate) mod term;
pub mod trial;
pub(crate) mod unmarked;
pub(crate) mod unsettled;
pub(crate) mod wire;

pub use error::StoreError;
pub use header::{Header, Lane};
pub use lossy::Lossy;
pub(crate) use port::dead;
pub use port::{Decided, HintsLost, OpenedTerm, Settlement, Store, TermCounts, Wakeups};
pub use steps::CRASHED;
pub use wire::{ids_as_json, millis_i64, storable};
