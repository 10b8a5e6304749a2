//! When a message goes out: terms, the loop, settings, the command line.
//!
//! The way of a message is read in four files: [`poll`], [`claim`], [`send`] and [`mark`].

pub mod answering;
pub mod api;
pub mod assemble;
pub mod attention;
pub mod bench;
pub mod cached;
pub mod channels;
pub mod claim;
pub mod cli;
pub mod client;
pub mod clock;
pub mod config;
pub mod demo;
mod destination_name;
pub mod destinations;
pub mod doorbell;
pub mod explain;
pub mod fault_point;
#[cfg(test)]
mod fixtures;
pub mod gate;
pub mod in_flight;
pub mod in_force;
mod in_time;
pub mod leadership;
pub mod lease_health;
pub mod listener;
pub mod mark;
pub mod metrics;
pub mod ordering_keys;
mod pauses;

pub mod poll;
pub mod pulse;
pub mod readiness;
pub mod replica;
pub mod retention;
pub mod send;
pub mod settling;
pub mod start;
pub mod status;
pub mod store_health;
pub mod suspects;
pub mod telemetry;
pub mod term;
mod text;
pub mod verdict;
pub mod vitals;
pub mod watchdog;
pub mod wiring;
