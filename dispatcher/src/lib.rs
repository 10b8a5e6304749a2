//! When a message goes out: terms, the loop, settings, the command line.

pub mod cached;
pub mod config;
pub mod metrics;
pub mod vitals;
