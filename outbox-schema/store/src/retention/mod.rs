//! How long messages are kept, and the removal of older ones.

mod database;
mod retention;
mod statements;

// Prunes and purges by hand remove in the same way.
pub use database::{overdue_in, remove_in};
pub use retention::{BEGINNING, Overdue, Pruned, Pruning, Retention, STRETCH, Stretch};
pub(crate) use statements::PRUNE_LOCK;
pub use statements::{PURGE, PURGE_ATTEMPTS};
