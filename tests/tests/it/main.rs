//! The integration tests, one binary: they share one set of servers.

#![allow(clippy::unwrap_used, missing_docs, reason = "a test that cannot go on panics")]

mod compose;
mod crash;
mod demo;
mod desk;
mod enqueue;
mod fleet;
mod grants;
mod idle;
mod lease;
mod lease_redis;
mod migrate;
mod outboxes;
mod poller;
mod servers;
mod store;
