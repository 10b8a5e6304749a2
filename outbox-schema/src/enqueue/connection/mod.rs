//! What enqueuing needs of a connection, for each of the databases.

mod connection;
#[cfg(feature = "mysql")]
mod mysql;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "sqlite")]
mod sqlite;

use connection::sealed;
pub use connection::{OutboxConnection, StoredRow};
