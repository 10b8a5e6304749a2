//! Real servers, conformance suites and end-to-end tests.
//!
//! The harness starts real PostgreSQL, MariaDB and Redis processes on free loopback ports: one shared set per test
//! process, each started when a test first asks for it, and private ones for tests that stop, freeze or kill
//! theirs. They end with the test process, however it ends. Run it all with `tests/run`.
//!
//! An end-to-end test sets a [`stage`], starts a [`fleet`] of the real program on it, does what it is about, and ends
//! with the [`invariants`].

#![allow(clippy::unwrap_used, clippy::missing_panics_doc, reason = "a test that cannot go on panics")]

pub mod application;
pub mod changes;
pub mod conformance;
mod eventually;
pub mod faults;
pub mod fleet;
pub mod invariants;
mod outbox_bin;
pub mod proxy;
pub mod python;
pub mod queries;
pub mod receiver;
pub mod servers;
pub mod stage;
pub mod tables;
pub mod transcript;

pub use eventually::eventually;
pub use outbox_bin::{outbox_binary, outbox_binary_with_fault_points};
pub use outbox_demo::fcm;
