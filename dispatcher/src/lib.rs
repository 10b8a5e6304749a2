//! When a message goes out: terms, the loop, settings. The command line is a crate of its own, `outbox-cli`.
//!
//! The way of a message is in four files of [`poller`]: `poll`, `claim`, `send` and `mark`.

pub mod admin;
pub mod alerts;
mod backoff;
pub mod channels;
pub mod check;
pub mod config;
pub mod configured;
pub mod destinations;
pub mod doorbell;
pub mod edit;
pub mod examine;
pub mod explain;
pub mod fault_point;
pub mod figures;
#[cfg(test)]
mod fixtures;
pub mod health;
pub mod in_flight;
pub mod in_force;
mod in_time;
pub mod metrics;
pub mod operations;
pub mod poller;
mod retention;
pub mod schedule;
pub mod signals;
pub mod telemetry;
pub mod term;
pub mod text;
pub mod wiring;
