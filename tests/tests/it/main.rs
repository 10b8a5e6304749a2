//! The integration tests, one binary: they share one set of servers.

#![allow(clippy::unwrap_used, missing_docs, reason = "a test that cannot go on panics")]

mod bad_input;
mod by_hand;
mod command_line;
mod compose;
mod dead_letters;
mod demo;
mod desk;
mod enqueue;
mod explain;
mod faults;
mod fleet;
mod grants;
mod guarantees;
mod idle;
mod lease;
mod lease_redis;
mod lease_sentinel;
mod memory;
mod messages;
mod migrate;
mod model;
mod outboxes;
mod poller;
mod program;
mod servers;
mod sink;
mod status;
mod store;
mod traces;
