//! When a message goes out: terms, the loop, settings, the command line.

pub mod config;
