//! The integration tests, one binary: they share one set of servers.

#![allow(clippy::unwrap_used, missing_docs, reason = "a test that cannot go on panics")]

mod alerts;
mod api;
mod bad_input;
mod by_hand;
mod cancel_by_key;
mod cloudevents;
mod command_line;
mod compose;
mod dead_letters;
mod demo;
mod desk;
mod destinations_desk;
mod destinations_page;
mod duplicates;
mod enqueue;
mod explain;
mod faults;
mod fleet;
mod grants;
mod guarantees;
mod idle;
mod incident;
mod lease;
mod lease_redis;
mod lease_sentinel;
mod memory;
mod messages;
mod migrate;
mod model;
mod no_proxy;
mod order;
mod outboxes;
mod poller;
mod program;
mod readiness;
mod receivers;
mod retention;
mod servers;
mod sink;
mod status;
mod store;
mod traces;
mod webhooks;
