//! `outbox migrate`: the tables.

mod form;
mod migrate;

pub(crate) use migrate::{MigrateArgs, migrate};
