//! The integration tests, one binary: they share one set of servers.

#![allow(clippy::unwrap_used, missing_docs, reason = "a test that cannot go on panics")]

mod servers;
mod store;
