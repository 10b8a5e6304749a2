//! When a message goes out: terms, the loop, settings, the command line.

pub mod cached;
pub mod listener;
pub mod metrics;
pub mod readiness;
pub mod telemetry;
pub mod vitals;
