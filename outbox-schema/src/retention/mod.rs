//! How long messages are kept, and the removal of older ones.

mod database;
mod retention;
mod statements;

// A purge by hand deletes in the same way.
pub(crate) use database::{overdue_in, remove_in};
pub use retention::{BEGINNING, Overdue, Pruned, Pruning, Retention, STRETCH, Stretch};
pub(crate) use statements::{PRUNE_LOCK, PURGE, PURGE_ATTEMPTS};
