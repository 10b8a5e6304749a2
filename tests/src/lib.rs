//! Real servers, conformance suites and end-to-end tests.
//!
//! The harness starts real PostgreSQL, MariaDB and Redis processes on free loopback ports: one shared set per test
//! process, each started when a test first asks for it, and private ones for tests that stop, freeze or kill
//! theirs. They end with the test process, however it ends. Run it all with `tests/run`.

#![allow(clippy::unwrap_used, clippy::missing_panics_doc, reason = "a test that cannot go on panics")]

pub mod conformance;
mod eventually;
mod outbox_bin;
pub mod servers;

pub use eventually::eventually;
pub use outbox_bin::outbox_binary;
