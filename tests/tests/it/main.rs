//! The integration tests, one binary: they share one set of servers.

#![allow(clippy::unwrap_used, missing_docs, reason = "a test that cannot go on panics")]

mod changes;
mod commands;
mod database;
mod documents;
mod exclusive;
mod explain;
mod faults;
mod fcm;
mod jobs;
mod lease;
mod listener;
mod model;
mod outboxes;
mod page;
mod poller;
mod program;
mod questions;
mod recurring;
mod sending;
mod sink;
mod writers;
