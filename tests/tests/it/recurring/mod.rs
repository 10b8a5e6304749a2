//! Recurring messages.

mod commands;
mod faults;
pub(crate) mod store;

pub(crate) use commands::{TODO, known, written};
