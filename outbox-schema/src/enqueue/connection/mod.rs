//! What enqueuing needs of a connection, for each of the databases.

mod connection;
#[cfg(feature = "mysql")]
mod mysql;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "sqlite")]
mod sqlite;

pub use connection::OutboxConnection;
pub(super) use connection::StoredRow;
use connection::sealed;
