//! The store on PostgreSQL 13 and later.

mod claim;
mod due;
pub(super) mod errors;
mod looks;
mod loop_connection;
mod mark;
mod postgres;
mod trial;
mod wakeup;

pub use postgres::PostgresStore;
use postgres::{begun, ended, names, settled};
