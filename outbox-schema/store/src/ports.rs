//! The ports of an outbox: what its database is for a poller, and for the removal of old messages.

use std::sync::Arc;

use crate::store::mysql::MySqlStore;
use crate::store::postgres::PostgresStore;
use crate::store::sqlite::SqliteStore;
use crate::{Database, Pruning, Store};

impl Database {
    /// The outbox for a poller.
    pub fn store(&self) -> Arc<dyn Store> {
        match self {
            Self::Postgres(pool) => Arc::new(PostgresStore::new(pool.clone())),
            Self::MySql(pool) => Arc::new(MySqlStore::new(pool.clone())),
            Self::Sqlite(pool) => Arc::new(SqliteStore::new(pool.clone())),
        }
    }

    /// The outbox for the removal of old messages.
    pub fn pruning(&self) -> Arc<dyn Pruning> {
        Arc::new(self.clone())
    }
}
