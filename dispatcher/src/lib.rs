//! When a message goes out: terms, the loop, the schedule. It knows neither the console (`outbox-console`) nor the command line.
//!
//! The way of a message is in five files of [`poller`]: `poll`, `intake`, `claim`, `send` and `mark`.

mod backoff;
pub mod channels;
pub mod destinations;
pub mod fault_point;
#[cfg(test)]
mod fixtures;
pub mod in_flight;
pub mod metrics;
pub mod operations;
pub mod poller;
pub mod recurring;
pub mod reloadable;
mod retention;
pub mod schedule;
#[cfg(test)]
mod secrets;
pub mod signals;
pub mod telemetry;
pub mod term;
mod timeout;
pub mod wiring;
