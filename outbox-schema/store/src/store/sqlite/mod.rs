//! The store in an SQLite file that the processes of one machine share.

mod due;
pub(super) mod errors;
mod looks;
mod mark;
mod sqlite;
mod trial;

pub use sqlite::SqliteStore;
