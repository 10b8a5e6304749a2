//! Jobs that run once in a fleet.

mod commands;
pub(crate) mod store;
